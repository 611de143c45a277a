// Package story tells the life of a tenant, on real virtual clusters and on simulated ones, so that one can be held
// against the other.
package story

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// within is the time for each chapter.
const within = 10 * time.Minute

// Hands do what the claim can't ask for.
type Hands struct {
	// Stop has no pod of Argo CD's repo-server run, and Start undoes that.
	Stop, Start func(ctx context.Context, t *testing.T, l *claim.Live)
	// Refuse has a virtual cluster refuse what no API server accepts, and Accept undoes that. They are nil for a real one.
	Refuse, Accept func(ctx context.Context, t *testing.T, l *claim.Live)
	// Silence keeps the virtual cluster from answering, and Answer undoes that.
	Silence, Answer func(ctx context.Context, t *testing.T, l *claim.Live)
	// Delete deletes the claim and returns when nothing of the tenant is left.
	Delete func(ctx context.Context, t *testing.T, l *claim.Live)
}

// Tell brings a tenant up, changes a value, changes one in a way that is refused and one in a way that breaks Argo CD, breaks a workload and
// heals it, silences the virtual cluster for a while, and deletes the tenant. It returns the states that the claim was seen in, without
// repetitions.
func Tell(ctx context.Context, t *testing.T, host *kube.Cluster, c *claim.Claim, hands Hands) []State {
	t.Helper()
	l := claim.Create(ctx, t, host, c)
	r := &recorder{}
	following := sync.WaitGroup{}
	following.Go(func() {
		// It ends with the claim.
		_ = l.Follow(ctx, 5*within, func(s claim.Step) bool {
			r.see(stateOf(s.State))
			return true
		})
	})
	l.AwaitReady(ctx, t, within)

	l.Patch(ctx, t, map[string]any{"configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "true"}}}, "spec", "argocd", "values")
	l.Await(ctx, t, within, "has the second revision of Argo CD and is Ready", func(s *claim.State) bool {
		return well(s) && revisionOf(ctx, l) > 1
	})

	refused(ctx, t, l, hands)
	breaking(ctx, t, l)

	hands.Stop(ctx, t, l)
	l.Await(ctx, t, within, "is Degraded", degraded)
	hands.Start(ctx, t, l)
	l.AwaitReady(ctx, t, within)

	hands.Silence(ctx, t, l)
	l.Await(ctx, t, within, "says that its workloads can't be observed", func(s *claim.State) bool {
		return degraded(s) && strings.Contains(s.Message, "cannot be observed")
	})
	hands.Answer(ctx, t, l)
	l.AwaitReady(ctx, t, within)

	hands.Delete(ctx, t, l)
	following.Wait()
	return r.seen
}

// refused changes a value of Argo CD to one that the virtual API server refuses. The provider tries that three times, and has Helm roll it
// back each time. Then the value is corrected.
func refused(ctx context.Context, t *testing.T, l *claim.Live, hands Hands) {
	t.Helper()
	if hands.Refuse != nil {
		hands.Refuse(ctx, t, l)
	}
	l.Patch(ctx, t, "NoSuchStrategy", "spec", "argocd", "values", "server", "deploymentStrategy", "type")
	before := int64(0)
	l.Await(ctx, t, within, "has the values from before, and says so", func(s *claim.State) bool {
		before = revisionOf(ctx, l)
		return before > 0 && well(s) && s.Condition(claim.SpecAccepted).Reason == v1alpha1.ReasonUpgradeFailed
	})
	if hands.Accept != nil {
		hands.Accept(ctx, t, l)
	}
	l.Patch(ctx, t, map[string]any{
		"server": nil, "configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "false"}},
	}, "spec", "argocd", "values")
	l.Await(ctx, t, within, "has the corrected values and is Ready", func(s *claim.State) bool {
		return well(s) && revisionOf(ctx, l) > before
	})
}

// breaking changes the image of Argo CD's API server to one that doesn't exist, and then corrects it. All pods of the API server may be
// unavailable during the change, so that Helm doesn't wait for the new one: otherwise provider-helm would make the correction only after five
// minutes. A setting changes too, so that Helm waits for the application controller. Meanwhile, provider-kubernetes observes that the API server
// is unavailable: otherwise the claim could be Ready for a moment.
func breaking(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	l.Patch(ctx, t, map[string]any{
		"server": map[string]any{
			"image":              map[string]any{"tag": "no-such-tag"},
			"deploymentStrategy": map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": "100%"}},
		},
		"configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "true"}},
	}, "spec", "argocd", "values")
	l.Await(ctx, t, within, "is Degraded, and says which workload has no image", func(s *claim.State) bool {
		return degraded(s) && strings.Contains(s.Message, "Deployment argocd-server") && strings.Contains(s.Message, "ImagePull")
	})
	l.Patch(ctx, t, map[string]any{
		"server": nil, "configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "false"}},
	}, "spec", "argocd", "values")
	l.Await(ctx, t, within, "is Ready with the corrected image", well)
}

// well and degraded report whether a claim says so in its phase and in its conditions, which Crossplane writes later.
func well(s *claim.State) bool {
	return s.IsReady() && s.True(claim.ArgoCDReady)
}

func degraded(s *claim.State) bool {
	return s.Phase == "Degraded" && !s.True(claim.Ready) && !s.True(claim.ArgoCDReady)
}

// revisionOf returns the revision of the Helm release of Argo CD that is deployed, 0 if there is none or it can't be read now.
func revisionOf(ctx context.Context, l *claim.Live) int64 {
	composed, err := l.Composed(ctx)
	if err != nil {
		return 0
	}
	for _, o := range composed {
		if o.GetAnnotations()["crossplane.io/composition-resource-name"] == "argocd" {
			is, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
			if revision, ok := is["revision"].(int64); ok && is["state"] == "deployed" {
				return revision
			}
		}
	}
	return 0
}

// A State is what a claim says in words that programs rely on.
type State struct {
	Phase string
	// Synced and Ready are the status of the conditions that Crossplane sets, with their reasons; VirtualCluster,
	// ArgoCD and Spec those of the product's.
	Synced, Ready, VirtualCluster, ArgoCD, Spec string
}

func stateOf(s *claim.State) State {
	of := func(kind string) string {
		c := s.Condition(kind)
		return strings.TrimSpace(string(c.Status) + " " + c.Reason)
	}
	return State{
		Phase: s.Phase, Synced: of(claim.Synced), Ready: of(claim.Ready),
		VirtualCluster: of(claim.VirtualClusterReady), ArgoCD: of(claim.ArgoCDReady), Spec: of(claim.SpecAccepted),
	}
}

// String is the state on one line.
func (s State) String() string {
	return fmt.Sprintf("%-12s SYNCED %-22s READY %-15s VirtualClusterReady %-26s ArgoCDReady %-32s SpecAccepted %s",
		s.Phase, s.Synced, s.Ready, s.VirtualCluster, s.ArgoCD, s.Spec)
}

// recorder notes states.
type recorder struct{ seen []State }

func (r *recorder) see(s State) {
	if n := len(r.seen); n == 0 || r.seen[n-1] != s {
		r.seen = append(r.seen, s)
	}
}
