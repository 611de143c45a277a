package release_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestFirstInstallationIsTriedInPlace: what Helm has created by the time it fails is never taken down. provider-helm upgrades a failed
// release when its values differ from those that failed: so each attempt has others, which mean the same.
func TestFirstInstallationIsTriedInPlace(t *testing.T) {
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.Starting(t)
			for range 4 {
				if !e.Has(name) {
					e.RunProviders()
					e.Reconcile()
				}
			}
			now := crossplanetest.Start
			e.Now = func() time.Time { return now }
			spec := func() *structpb.Struct { return crossplanetest.Field(e.Observed(name), "spec", "forProvider") }
			values := func() map[string]any { return crossplanetest.Field(spec(), "values").AsMap() }
			limited := func() bool {
				return crossplanetest.Field(e.Observed(name), "spec").GetFields()["rollbackLimit"] != nil
			}
			// seen is Helm's state of a revision, which provider-helm has seen after a while.
			seen := func(state string, revision int, after time.Duration) map[string]any {
				t.Helper()
				now = now.Add(after)
				e.SetAge(name, now.Sub(crossplanetest.Start))
				crossplanetest.SetCondition(e.Observed(name), "Synced", "True", "ReconcileSuccess", "")
				crossplanetest.SetAtProvider(e.Observed(name), fmt.Sprintf(`{"state":%q,"revision":%d,"releaseDescription":"context deadline exceeded"}`, state, revision))
				e.Reconcile()
				if limited() != (state == "pending-install") {
					t.Errorf("revision %d is %s, and may provider-helm take it back: %t", revision, state, limited())
				}
				if e.Status("phase") != "Provisioning" && state == "failed" {
					t.Errorf("a first installation goes on, and the phase is %s: %s", e.Status("phase"), e.Status("message"))
				}
				return values()
			}
			plain := values()
			if got := seen("failed", 1, time.Second); cmp.Diff(plain, got) != "" {
				t.Error("the next attempt begins at once")
			}
			second := seen("failed", 1, 10*time.Second)
			added := 0
			for key, v := range second {
				if _, was := plain[key]; !was {
					added++
					if m, ok := v.(map[string]any); !ok || len(m) > 0 {
						t.Errorf("an attempt sets %s to %v", key, v)
					}
					delete(second, key)
				}
			}
			if diff := cmp.Diff(plain, second); added != 1 || diff != "" {
				t.Fatalf("an attempt adds %d values and changes %s", added, diff)
			}
			second = values()
			for _, again := range []time.Duration{time.Second, time.Hour} {
				if diff := cmp.Diff(second, seen("failed", 1, again)); diff != "" {
					t.Errorf("provider-helm hasn't begun the attempt, and it changes: %s", diff)
				}
			}
			seen("failed", 2, 19*time.Second)
			now = now.Add(time.Second)
			if diff := cmp.Diff(plain, seen("failed", 2, time.Second)); diff != "" {
				t.Errorf("the third attempt: %s", diff)
			}
			if diff := cmp.Diff(second, seen("failed", 3, time.Hour)); diff != "" {
				t.Errorf("the fourth attempt: %s", diff)
			}
			// Helm was killed: it goes on with nothing that it has begun.
			seen("pending-install", 4, time.Second)
			e.Deploy(name)
			e.RunProviders()
			e.Install()
			if diff := cmp.Diff(second, values()); diff != "" {
				t.Errorf("the tenant is Ready, and the values change: %s", diff)
			}
			if spec().GetFields()["wait"].GetBoolValue() {
				t.Error("Helm waits, though nothing changes")
			}
			e.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}},"vcluster":{"values":{"controlPlane":{"coredns":{"deployment":{"replicas":2}}}}}}`)
			e.Reconcile()
			if got := values(); len(got) != len(plain) {
				t.Errorf("a change leaves what an attempt has added: %v", got)
			}
			if !spec().GetFields()["wait"].GetBoolValue() || !limited() {
				t.Error("a change of what was installed isn't waited for, or is never taken back")
			}
		})
	}
}
