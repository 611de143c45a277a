package provider

import "time"

// Options of the two providers.
type Options struct {
	Helm, Kubernetes Flags
	Durations        Durations
	// RecordSize is the size of a Helm record of vcluster in bytes. Those of argo-cd, which aren't really on the host,
	// are as small as possible.
	RecordSize int
	Faults     *Faults
}

// Durations are how long things take in a simulated virtual cluster.
type Durations struct {
	// ControlPlane is the time from the installation of vcluster to its kubeconfig.
	ControlPlane time.Duration
	// Restart is how long a virtual cluster doesn't answer after a change of its chart.
	Restart time.Duration
	// ArgoCD is the time until an installation or a change of argo-cd is ready.
	ArgoCD time.Duration
	// Job is how long a Job of a tenant takes: one that makes or restores a backup, and one that has the tenant fall asleep or wake up.
	Job time.Duration
}

// Usual returns durations as in make e2e on two cores.
func Usual() Durations {
	return Durations{ControlPlane: 20 * time.Second, Restart: 10 * time.Second, ArgoCD: 15 * time.Second, Job: 10 * time.Second}
}

// Defaults returns the flags that examples/install/runtime.yaml in the folder root sets, otherwise the providers' own defaults, and
// the usual durations.
func Defaults(root string) (Options, error) {
	helm, kubernetes, err := readFlags(root)
	if err != nil {
		return Options{}, err
	}
	return Options{Helm: helm, Kubernetes: kubernetes, Durations: Usual(), RecordSize: 100 << 10, Faults: NewFaults(1)}, nil
}
