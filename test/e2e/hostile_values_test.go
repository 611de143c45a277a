//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// heaviest are those of memtest.Claims that take the most with the test chart. Helm installs all of them.
var heaviest = []string{"FlowMaps/setting", "GlobalVariables", "Image", "PodAnnotations", "PodLabels"}

// claims has provider-helm install the worst values of a claim, one after the other, in a tenant whose Argo CD never comes up: so Helm
// doesn't wait for it. With the test chart, whose templates aren't upstream's, only the heaviest are tried.
func (m *memory) claims(ctx context.Context, t *testing.T) {
	never := map[string]any{"redis": map[string]any{"image": map[string]any{"tag": "no-such-tag"}}}
	n := &tenant{live: claim.Create(ctx, t, host, newClaim("weighty").Set(never, "spec", "argocd", "values"))}
	t.Cleanup(func() { cleanUp(ctx, t, n.live) })
	s := n.live.Await(ctx, t, readyWithin, "has an Argo CD that can't start", func(s *claim.State) bool { return cannotStart(s, "no-such-tag") })
	n.namespace, n.cluster = s.Namespace, fromStatus(ctx, t, s)
	all, tried := memtest.Claims(), heaviest
	if os.Getenv("ARGOCD_CHART") != "" {
		tried = slices.Sorted(maps.Keys(all))
	} else {
		t.Logf("NOT TRIED HERE: %d MORE KINDS OF VALUES, WHICH TAKE THE MOST WITH UPSTREAM'S CHART. ARGOCD_CHART IS TO NAME IT", len(all)-len(tried))
	}
	for _, name := range tried {
		t.Run(name, func(t *testing.T) {
			// What an Argo CD shows on its pages tells which values Helm has.
			mark := values.Values{"configs": values.Values{"cm": values.Values{"ui.bannercontent": name}}}
			worst := values.Merge(never, all[name], mark)
			m.during(ctx, t, func() {
				// A patch would keep what the claim before had.
				n.live.Patch(ctx, t, nil, "spec", "argocd", "values")
				n.live.Patch(ctx, t, worst, "spec", "argocd", "values")
				installed, how := n.awaitTried(ctx, t, name)
				t.Logf("%s: %.300s", name, how)
				if !installed && slices.Contains(heaviest, name) {
					t.Errorf("Helm hasn't installed these values: %.1000s", how)
				}
			})
		})
	}
}

// awaitTried waits until provider-helm has installed the values with a mark, or says why it can't, and returns which and how.
func (n *tenant) awaitTried(ctx context.Context, t *testing.T, mark string) (installed bool, how string) {
	t.Helper()
	eventually.True(ctx, t, 3*time.Minute, "Helm has tried the values "+mark, func(ctx context.Context) (bool, string) {
		records, err := driver.NewSecrets(n.cluster.Typed.CoreV1().Secrets(given.ArgoCDNamespace)).List(func(r *release.Release) bool {
			return bannerOf(r.Config) == mark && !r.Info.Status.IsPending()
		})
		if err != nil {
			return false, err.Error()
		}
		for _, r := range records {
			installed, how = true, fmt.Sprintf("%s: %s", r.Info.Status, r.Info.Description)
		}
		if installed {
			return true, ""
		}
		o, err := releases(t).Get(ctx, n.id()+"-"+argocdRelease, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		config, _, _ := unstructured.NestedMap(o.Object, "spec", "forProvider", "values")
		set := bannerOf(config)
		synced := condition(o, "Synced")
		how = synced.Message
		return set == mark && synced.ObservedGeneration == o.GetGeneration() && synced.Status == metav1.ConditionFalse,
			fmt.Sprintf("Release with values %q, generation %d: %.300s", set, o.GetGeneration(), fmt.Sprint(synced))
	})
	return installed, how
}

// bannerOf is the text that an Argo CD with these values shows on its pages.
func bannerOf(config values.Values) string {
	out, _, _ := unstructured.NestedString(config, "configs", "cm", "ui.bannercontent")
	return out
}
