package status_test

import (
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestReadyAt: the status says when the tenant was Ready for the first time, whatever comes after.
func TestReadyAt(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	e.Reconcile()
	if e.Reconcile(); e.Status("readyAt") != "" {
		t.Errorf("nothing is there yet, and it was ready at %s", e.Status("readyAt"))
	}
	const want = "2026-01-02T03:04:05Z"
	e.Install()
	steps := []struct {
		reason string
		change func()
	}{
		{"It is Ready.", func() {}},
		{"A workload breaks.", func() { e.SetReplicas("argocd-server", 0) }},
		{"It recovers.", e.RunProviders},
		{"The claim can't be used.", func() { e.SetSpec(`{"kubernetes":{"version":"v1.34.0"}}`) }},
		{"The claim can be used.", func() { e.SetSpec(`{}`) }},
	}
	for i, s := range steps {
		e.Now = func() time.Time { return crossplanetest.Start.Add(time.Duration(i) * time.Hour) }
		s.change()
		e.Reconcile()
		e.Reconcile()
		if got := e.Status("readyAt"); got != want {
			t.Errorf("%s It was ready at %q, want %q", s.reason, got, want)
		}
	}
	if at := wire.Of(e.XR()).Condition("Ready").LastTransitionTime; at == want {
		t.Error("the condition Ready hasn't changed since, so that this test has shown nothing")
	}
}
