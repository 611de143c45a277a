//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// badClaims tries them again: the customers who run meanwhile must not notice.
func (p *pair) badClaims(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := generations(ctx, t, p.red, p.blue)
	allRefused(ctx, t, badClaims)
	after := generations(ctx, t, p.red, p.blue)
	for name, generation := range before {
		if after[name] != generation {
			t.Errorf("%s of a running customer went from %s to %s", name, generation, after[name])
		}
	}
	for _, l := range []*claim.Live{p.red, p.blue} {
		if s, err := l.State(ctx); err != nil || !s.True(claim.Ready) {
			t.Errorf("running customer %s is not Ready: %v, %v", l.Name, s, err)
		}
	}
	return ctx
}

// allRefused tries claims that are wrong in one way each, side by side and beside the parallel tests, since they mostly
// wait. Each must be told what is wrong, by the API server at once or by a condition and an event.
func allRefused(ctx context.Context, t *testing.T, claims map[string]badClaim) {
	t.Helper()
	var own ownSecrets
	defer own.deleteAll(ctx, t)
	own.write(ctx, t, secretWithAnchor, map[string]string{"kubeconfig": "apiVersion: v1\nkind: Config\nclusters: &all []\nusers: *all\n"})
	var all sync.WaitGroup
	for name, bad := range claims {
		all.Go(func() {
			t.Run(name, func(t *testing.T) { refused(ctx, t, bad) })
		})
	}
	all.Wait()
}

func refused(ctx context.Context, t *testing.T, bad badClaim) {
	l, err := claim.Submit(ctx, host, bad.claim)
	if err != nil {
		t.Logf("the API server says: %v", err)
		if !strings.Contains(err.Error(), bad.field) {
			t.Errorf("the API server's error does not name %s: %v", bad.field, err)
		}
		return
	}
	defer cleanUp(ctx, t, l)
	s := l.Await(ctx, t, 2*time.Minute, "has a condition that names "+bad.field, func(s *claim.State) bool {
		for _, c := range s.Conditions {
			if c.Status == metav1.ConditionFalse && strings.Contains(c.Message, bad.field) {
				return true
			}
		}
		return false
	})
	// Crossplane sends the event again with its next try, a minute later at most.
	eventually.True(ctx, t, 2*time.Minute, "the claim has an event that names "+bad.field, func(ctx context.Context) (bool, string) {
		return warned(ctx, l, bad.field)
	})
	t.Logf("the claim says: %s", s)
	if s.True(claim.Ready) {
		t.Errorf("a claim that is refused is Ready: %s", s)
	}
}

// generations are the identities and generations of what customers are composed of: they tell whether anything asked
// for a change.
func generations(ctx context.Context, t *testing.T, lives ...*claim.Live) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range lives {
		all, err := l.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			out[o.GetKind()+" "+o.GetName()] = fmt.Sprintf("%s, generation %d", o.GetUID(), o.GetGeneration())
		}
	}
	return out
}

// unchangedSince compares what is composed for a claim with what its generations were before something that was refused.
func unchangedSince(ctx context.Context, t *testing.T, l *claim.Live, before map[string]string, by string) {
	t.Helper()
	for name, generation := range generations(ctx, t, l) {
		if before[name] != generation && !strings.HasPrefix(name, "XVirtualArgoCD ") {
			t.Errorf("%s went from %s to %s by %s", name, before[name], generation, by)
		}
	}
}
