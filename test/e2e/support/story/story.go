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

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// within is the time for each chapter.
const within = 10 * time.Minute

// Hands do what the claim can't ask for.
type Hands struct {
	// Stop scales Argo CD's repo-server to no replicas, and Start undoes that.
	Stop, Start func(ctx context.Context, t *testing.T, l *claim.Live)
	// Delete deletes the claim and returns when nothing of the tenant is left.
	Delete func(ctx context.Context, t *testing.T, l *claim.Live)
}

// Tell brings a tenant up, changes a value, breaks a workload, heals it and deletes the tenant. It returns the states
// that the claim was seen in, without repetitions.
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
		return revisionOf(ctx, t, l) > 1 && s.Phase == "Ready"
	})

	hands.Stop(ctx, t, l)
	l.Await(ctx, t, within, "is Degraded", func(s *claim.State) bool { return s.Phase == "Degraded" })
	hands.Start(ctx, t, l)
	l.AwaitReady(ctx, t, within)

	hands.Delete(ctx, t, l)
	following.Wait()
	return r.seen
}

// revisionOf returns the revision of the Helm release of Argo CD that is deployed, 0 for none.
func revisionOf(ctx context.Context, t *testing.T, l *claim.Live) int64 {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
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
