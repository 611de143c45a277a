//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// quietFor is longer than the function lets pass between two looks at a tenant, and has several of them in it where
// Secrets are named.
const quietFor = 70 * time.Second

// quiet holds the events of a claim against its story: each transition is told, and none again at each reconcile.
func (c *connected) quiet(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := c.quietly(ctx, t)
	// client-go's recorder lets 25 events of a type through for one object, then one each five minutes: a claim to which as
	// much happens in a short time as in this test may lack the last ones of type Normal.
	for _, wanted := range []struct{ reason, word string }{
		{"Available", "The virtual cluster runs"},
		{"Available", "Every workload of Argo CD is available"},
		{"Available", "connected to every cluster"},
		{"Available", "connected to every repository"},
		{"SecretMissing", "cluster-absent"},
		{"ApplicationFailed", "no-such-folder"},
	} {
		if !slices.ContainsFunc(before, func(e corev1.Event) bool {
			return e.Reason == wanted.reason && strings.Contains(e.Message, wanted.word)
		}) {
			t.Errorf("no event %s with %q", wanted.reason, wanted.word)
		}
	}
	// Crossplane calls the function with an old state now and then, and then the same news is recorded again. That is to
	// be seen in a count, and not in a further line.
	seen := map[string]bool{}
	for _, e := range before {
		t.Logf("%3d x %-8s %-22s %s", times(e), e.Type, e.Reason, e.Message)
		line := e.Source.Component + e.Reason + e.Message
		if seen[line] {
			t.Errorf("kubectl describe has two lines with event %s %q", e.Reason, e.Message)
		}
		seen[line] = true
	}
	return ctx
}

// quietly waits until nothing has happened to the tenant for a while: Crossplane looks at it and writes nothing. No event
// is recorded in that time. It returns those from before.
func (c *connected) quietly(ctx context.Context, t *testing.T) []corev1.Event {
	t.Helper()
	var before []corev1.Event
	written, since := "", time.Now()
	eventually.True(ctx, t, 5*time.Minute, "nothing happens to the tenant for "+quietFor.String(), func(ctx context.Context) (bool, string) {
		xr, err := c.hub.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		if v := xr.GetResourceVersion(); v != written {
			written, since, before = v, time.Now(), nil
		}
		// An event takes a moment to the API server.
		if before == nil && time.Since(since) > 5*time.Second {
			before = recorded(ctx, t, c.hub)
		}
		return time.Since(since) > quietFor, "the composite resource was written " + time.Since(since).String() + " ago"
	})
	if again := repeated(before, recorded(ctx, t, c.hub)); len(again) > 0 {
		t.Errorf("events recorded in %s in which nothing happened:\n%s", quietFor, lines(again))
	}
	return before
}

// repeated tells which events were recorded between two looks.
func repeated(before, after []corev1.Event) []string {
	was := map[string]int32{}
	for _, e := range before {
		was[string(e.UID)] = times(e)
	}
	var out []string
	for _, e := range after {
		if n := times(e) - was[string(e.UID)]; n > 0 {
			out = append(out, fmt.Sprintf("%d x %s %s", n, e.Reason, e.Message))
		}
	}
	return out
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

// warned reports whether the claim has a Warning event with a word in it, and all its events.
func warned(ctx context.Context, l *claim.Live, word string) (bool, string) {
	return told(ctx, l, corev1.EventTypeWarning, word)
}

// told reports whether the claim has an event of a type with a word in it, and all its events.
func told(ctx context.Context, l *claim.Live, eventType, word string) (bool, string) {
	events, err := l.Events(ctx)
	if err != nil {
		return false, err.Error()
	}
	all := []string{}
	for _, e := range events {
		if e.Type == eventType && strings.Contains(e.Message, word) {
			return true, e.Message
		}
		all = append(all, e.Type+" "+e.Reason+": "+e.Message)
	}
	return false, "events:\n" + lines(all)
}

// times tells how often an event was recorded.
func times(e corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(e.Count, 1)
}

// namesIt reports whether a condition is False and its message has a word in it.
func namesIt(s *claim.State, kind, word string) bool {
	c := s.Condition(kind)
	return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, word)
}
