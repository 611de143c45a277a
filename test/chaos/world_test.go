//go:build e2e

package chaos

import (
	"context"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
)

// A world is what the runs work on: simulated or real providers and virtual clusters.
type world interface {
	options() schedule.Options
	// seeds returns those whose runs have failed once. What they have found is fixed.
	seeds() []uint64
	// readyWithin returns how long tenants may take to be as wanted after a run, and goneWithin how long their deletion may take.
	readyWithin() time.Duration
	goneWithin() time.Duration
	// provider returns one of the two providers. of returns a part of one tenant; id is called when the part is disturbed, and returns the
	// tenant's id at that time.
	provider(p schedule.Part) parts.Part
	of(p schedule.Part, claim string, id func() string) parts.Part
	// stop stops the workload stoppable of a tenant's Argo CD, and start undoes that.
	stop(ctx context.Context, id string) error
	start(ctx context.Context, id string) error
	// mark writes into a virtual cluster what must stay there.
	mark(ctx context.Context, id string) error
	// read reads what is installed into t, and returns what is wrong inside the virtual cluster.
	read(ctx context.Context, id string, t *check.Tenant) ([]string, error)
}

// partOf returns the part of the platform that a step disturbs.
func partOf(s schedule.Step, id func() string) parts.Part {
	switch s.Part {
	case schedule.Function:
		return labelled("virtualargocd.io/package", "function")
	case schedule.Crossplane:
		return labelled("app", "crossplane")
	case schedule.APIServer:
		return machine.Daemon("kube-apiserver")
	case schedule.Etcd:
		return machine.Daemon("etcd")
	case schedule.HelmProvider, schedule.KubernetesProvider:
		return tenants.provider(s.Part)
	case schedule.VirtualCluster, schedule.Volume:
		return tenants.of(s.Part, schedule.Name(s.Tenant), id)
	default:
		panic("no such part: " + s.Part)
	}
}

// crossplane is the namespace of Crossplane and what it runs.
const crossplane = "crossplane-system"

// labelled returns the pods of the platform that have a label whose value ends with value.
func labelled(label, value string) parts.Part { return pods.Labelled(crossplane, label, value) }
