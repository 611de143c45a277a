//go:build e2e

package chaos

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
)

// simulated is the world of simulated virtual clusters, and of providers that run in this process.
type simulated struct {
	faults           *provider.Faults
	simulation       *provider.Simulation
	helm, kubernetes parts.Provider
}

func newSimulated(ctx context.Context, config *rest.Config, root string) (*simulated, error) {
	o, err := provider.Defaults(root)
	if err != nil {
		return nil, err
	}
	// Shorter than in reality, so that more happens in a run.
	o.Durations = provider.Durations{ControlPlane: 8 * time.Second, Restart: 5 * time.Second, ArgoCD: 6 * time.Second, Job: 3 * time.Second}
	s, err := provider.New(config, o)
	if err != nil {
		return nil, err
	}
	out := &simulated{
		faults: o.Faults, simulation: s,
		helm: parts.NewProvider("provider-helm", s.Helm), kubernetes: parts.NewProvider("provider-kubernetes", s.Kubernetes),
	}
	go out.helm.Keep(ctx)
	go out.kubernetes.Keep(ctx)
	go s.KeepJobs(ctx)
	return out, nil
}

func (*simulated) options() schedule.Options {
	return schedule.Options{
		Tenants: 6, Length: 75 * time.Second, Plans: plans,
		ArgoCD: []string{"10.1.0", "10.1.1"}, Kubernetes: []string{"v1.35.4", "v1.36.0"}, Sleeps: true, Backups: true,
	}
}

func (*simulated) seeds() []uint64 { return []uint64{79861, 35703, 767366, 635485} }

func (*simulated) readyWithin() time.Duration { return 5 * time.Minute }
func (*simulated) goneWithin() time.Duration  { return 3 * time.Minute }

func (s *simulated) provider(p schedule.Part) parts.Part {
	if p == schedule.HelmProvider {
		return s.helm
	}
	return s.kubernetes
}

// of returns the same for both parts of a tenant: a virtual cluster without its volume doesn't answer.
func (s *simulated) of(_ schedule.Part, _ string, id func() string) parts.Part {
	return parts.ControlPlane{Simulation: s.simulation, Faults: s.faults, Tenant: id}
}

func (s *simulated) stop(_ context.Context, id string) error {
	s.faults.Break(id, proxy.Workload{Name: stoppable, Replicas: 1})
	return nil
}

func (s *simulated) start(_ context.Context, id string) error {
	s.faults.Mend(id, stoppable)
	return nil
}

// mark does nothing: there is no virtual cluster.
func (*simulated) mark(context.Context, string) error { return nil }

func (*simulated) read(ctx context.Context, id string, t *check.Tenant) (problems []string, err error) {
	namespace := tenant.NewNames(id, "").Namespace
	if t.VCluster, err = check.Installed(host.Typed, namespace, tenant.HelmVCluster); err != nil {
		return nil, err
	}
	if t.ArgoCD, err = check.Installed(host.Typed, namespace, tenant.HelmArgoCD); err != nil {
		return nil, err
	}
	jobs, err := host.Typed.BatchV1().Jobs(crossplane).List(ctx, metav1.ListOptions{LabelSelector: tenant.LabelTenant + "=" + id})
	if err != nil {
		return nil, err
	}
	for _, job := range jobs.Items {
		if job.Status.Succeeded+job.Status.Failed == 0 {
			problems = append(problems, fmt.Sprintf("Job %s isn't finished", job.Name))
		}
	}
	return problems, nil
}
