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

// Flags of a provider.
type Flags struct {
	// Poll is how often a managed resource is observed.
	Poll time.Duration
	// MaxReconcileRate is the number of reconciles per second, and of workers.
	MaxReconcileRate int
}

// Durations are how long things take in a simulated virtual cluster.
type Durations struct {
	// ControlPlane is the time from the installation of vcluster to its kubeconfig.
	ControlPlane time.Duration
	// Restart is how long a virtual cluster doesn't answer after a change of its chart.
	Restart time.Duration
	// ArgoCD is the time until an installation or a change of argo-cd is ready.
	ArgoCD time.Duration
}

// Defaults returns the flags that examples/install/runtime.yaml sets, otherwise the providers' own defaults, and durations as in
// make e2e on two cores.
func Defaults() Options {
	return Options{
		Helm:       Flags{Poll: 10 * time.Minute, MaxReconcileRate: 100},
		Kubernetes: Flags{Poll: 10 * time.Minute, MaxReconcileRate: 100},
		Durations:  Durations{ControlPlane: 20 * time.Second, Restart: 10 * time.Second, ArgoCD: 15 * time.Second},
		RecordSize: 100 << 10,
		Faults:     NewFaults(1),
	}
}
