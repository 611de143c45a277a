package helm

import (
	"maps"
	"slices"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/parts/notifications"
)

// TestFunctionsOfNotifications: the function knows which functions templates of notifications may call. Argo CD's engine gives them those of
// sprig, without two that read its own environment.
func TestFunctionsOfNotifications(t *testing.T) {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	for _, ofGo := range []string{"and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print", "printf", "println", "slice", "urlquery"} {
		all[ofGo] = nil
	}
	known := notifications.Functions()
	slices.Sort(known)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), known); diff != "" {
		t.Errorf("-sprig's, +known:\n%s", diff)
	}
}
