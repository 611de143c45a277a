// Package plan decides everything about one tenant that its spec, the plan it
// chooses, the platform's input and the built-in defaults decide: names, versions,
// merged chart values and the workloads to expect. It is pure, and every error it
// returns names the field, the value seen and what to write instead.
package plan
