//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// quietFor is longer than the function lets pass between two looks at a tenant, and has several of them in it where
// Secrets are named.
const quietFor = 70 * time.Second

// quiet holds the events of a claim against its story: each transition is told, and none again at each reconcile.
func (c *connected) quiet(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := recorded(ctx, t, c.hub)
	for _, wanted := range []struct{ reason, word string }{
		{"Available", "The virtual cluster runs"},
		{"Available", "Every workload of Argo CD is available"},
		{"Available", "credentials of every cluster"},
		{"SecretMissing", "cluster-absent"},
		{"Available", "synced and healthy"},
		{"ApplicationFailed", "no-such-folder"},
	} {
		if !slices.ContainsFunc(before, func(e corev1.Event) bool {
			return e.Reason == wanted.reason && strings.Contains(e.Message, wanted.word)
		}) {
			t.Errorf("no event %s with %q", wanted.reason, wanted.word)
		}
	}
	for _, e := range before {
		t.Logf("%3d x %-8s %-22s %s", times(e), e.Type, e.Reason, e.Message)
	}

	xr, err := c.hub.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(quietFor)
	was := map[string]int32{}
	for _, e := range before {
		was[string(e.UID)] = times(e)
	}
	for _, e := range recorded(ctx, t, c.hub) {
		if n := times(e) - was[string(e.UID)]; n > 0 {
			t.Errorf("event recorded %d times in %s in which nothing happened: %s %s", n, quietFor, e.Reason, e.Message)
		}
	}
	after, err := c.hub.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if after.GetResourceVersion() != xr.GetResourceVersion() {
		t.Logf("the composite resource was written in the meantime: %s, %s", xr.GetResourceVersion(), after.GetResourceVersion())
	}
	return ctx
}

// recorded are the events of a claim, oldest first, without those of an earlier claim of its name.
func recorded(ctx context.Context, t *testing.T, l *claim.Live) []corev1.Event {
	t.Helper()
	events, err := l.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return e.InvolvedObject.UID != s.Object.GetUID() })
	slices.SortFunc(events, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return events
}

// times tells how often an event was recorded.
func times(e corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(e.Count, 1)
}

// namesIt tells whether a condition is False and its message has a word in it.
func namesIt(s *claim.State, kind, word string) bool {
	c := s.Condition(kind)
	return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, word)
}
