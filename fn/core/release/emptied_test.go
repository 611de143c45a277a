package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestEmptiedValues: an object that loses its last value is left out first, and then empty. If it were empty at once, server-side apply would
// make null of it, with which Helm takes the chart's own values away.
func TestEmptiedValues(t *testing.T) {
	e := crossplanetest.New(t, `{"argocd":{"values":{"server":{"resources":{"limits":{"cpu":"1"}},"replicas":2},"dex":{"resources":{}}}}}`, "").Install()
	values := func() map[string]any {
		e.Reconcile()
		return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	}
	is := func(what string, want bool, path ...string) {
		t.Helper()
		var at any = values()
		for _, key := range path {
			at = at.(map[string]any)[key]
		}
		if _, got := at.(map[string]any); got != want {
			t.Errorf("%s: %v is %v", what, path, at)
		}
	}
	is("one that was always empty", true, "dex", "resources")
	e.SetSpec(`{"argocd":{"values":{"server":{"resources":{},"replicas":2},"dex":{"resources":{}}}}}`)
	is("one that has lost its values", false, "server", "resources")
	is("the next time", true, "server", "resources")
	is("one that stays empty", true, "dex", "resources")
	if diff := cmp.Diff(2.0, crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values", "server").AsMap()["replicas"]); diff != "" {
		t.Errorf("the other value: -want, +got:\n%s", diff)
	}
}
