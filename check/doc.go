// Package check looks at a host cluster, and says what it lacks for tenants. It is a command of the same program as the function, which a Job
// runs in the cluster: see examples/install/check.yaml. It writes nothing.
package check
