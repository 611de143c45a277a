// Package platform installs everything a claim needs into a cluster: Crossplane
// by its chart, the rights and runtime settings in examples/install, and the
// project's Configuration, whose dependencies Crossplane resolves by itself.
//
// Ensure is the whole of it. Each step looks at what is there and changes only
// what differs, so that a second run is quick and does nothing.
package platform
