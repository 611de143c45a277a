//go:build e2e

package chaos

import (
	"context"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
)

// A world is what tenants consist of: simulated or real virtual clusters.
type world interface {
	options() schedule.Options
	// seeds are those whose runs have failed once. What they have found is mended.
	seeds() []uint64
	// readyWithin is how long tenants may take to be as wanted after a run, and goneWithin to be deleted.
	readyWithin() time.Duration
	goneWithin() time.Duration
	// provider returns one of the two, and of returns a part of one tenant, by the id that the tenant has when that is disturbed.
	provider(p schedule.Part) parts.Part
	of(p schedule.Part, claim string, id func() string) parts.Part
	// stop stops a workload of a tenant's Argo CD, and start undoes that.
	stop(ctx context.Context, id string) error
	start(ctx context.Context, id string) error
	// mark leaves something in a virtual cluster that must stay there.
	mark(ctx context.Context, id string) error
	// read reads what is installed, and what is wrong inside the virtual cluster.
	read(ctx context.Context, id string, t *check.Tenant) ([]string, error)
}

// partOf returns the part of the platform that a step disturbs.
func partOf(s schedule.Step, id func() string) parts.Part {
	switch s.Part {
	case schedule.Function:
		return labelled("pkg.crossplane.io/function", "function-virtual-argocd")
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

// labelled are the pods of the platform with a label whose value ends so.
func labelled(label, value string) parts.Part { return pods.Labelled(crossplane, label, value) }
