package release_test

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestUpgradedRelease: provider-helm says Ready=False of a Release that it has
// just upgraded, until its next poll.
func TestUpgradedRelease(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		crossplanetest.SetCondition(e.Observed(name), "Ready", "False", "Unavailable", "")
	}
	e.Reconcile()
	if e.Status("phase") != "Ready" {
		t.Errorf("want Ready, got %s: %s", e.Status("phase"), e.Status("message"))
	}
}

func TestFailedInstallationIsTriedAgainAtOnce(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		for failed, want := range []string{"", "1", "2"} {
			crossplanetest.Field(e.Observed(name), "status").Fields["failed"] = structpb.NewNumberValue(float64(failed))
			e.Reconcile()
			got := crossplanetest.Field(e.Observed(name), "metadata", "annotations").GetFields()["virtualargocd.io/failed"].GetStringValue()
			if got != want {
				t.Errorf("Release %s has failed %d times: want the annotation %q, got %q", name, failed, want, got)
			}
		}
	}
}

// A first installation is never given up, and Failing only where waiting doesn't mend what it lacks.
func TestFirstInstallationIsNotGivenUp(t *testing.T) {
	first := crossplanetest.New(t, `{}`, "")
	first.Reconcile()
	first.AwaitVCluster()
	for message, want := range map[string]string{
		"create failed: failed to install release: context deadline exceeded":               "Provisioning",
		"Internal error occurred: resource quota evaluation timed out":                      "Provisioning",
		`serviceaccounts is forbidden: User "x" cannot create resource`:                     "Failing",
		"failed to pull chart: Get \"https://c.example.org/index.yaml\": dial: i/o timeout": "Provisioning",
	} {
		crossplanetest.SetCondition(first.Observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", message)
		first.Reconcile()
		if c := first.Condition(v1alpha1.ConditionVirtualClusterReady); first.Status("phase") != want || (want == "Failing") != strings.Contains(c.GetMessage(), message) {
			t.Errorf("%s: want phase %s, got %s: %s", message, want, first.Status("phase"), c.GetMessage())
		}
	}
	first.SetAge(tenant.VClusterRelease, 6*time.Minute)
	crossplanetest.SetCondition(first.Observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", "failed to pull chart: i/o timeout")
	if first.Reconcile(); first.Status("phase") != "Failing" {
		t.Errorf("a chart repository doesn't answer for minutes, and the phase is %s", first.Status("phase"))
	}
	first.RunProviders()
	first.Reconcile()
	if first.Reconcile(); first.Status("phase") != "Provisioning" {
		t.Errorf("a first installation goes on, and the phase is %s", first.Status("phase"))
	}
}

// TestHelmWaitsForChanges: the first time a virtual cluster's kubeconfig tells that it is up, and Helm holds nobody up that
// wants it gone. A change that never becomes ready has to fail, so that it is taken back.
func TestHelmWaitsForChanges(t *testing.T) {
	e := crossplanetest.New(t, `{}`, crossplanetest.PlatformVersions("0.36.0", "10.1.1", "v1.35.4"))
	waits := func() bool {
		return crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider").GetFields()["wait"].GetBoolValue()
	}
	e.Reconcile()
	e.AwaitVCluster()
	rsp := e.Reconcile()
	if waits() {
		t.Error("Helm waits for the first virtual cluster")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != 10*time.Second {
		t.Errorf("while the virtual cluster starts, Crossplane asks again after %s, want 10s", got)
	}
	// A mistake in what never came up is corrected without waiting, too.
	e.Request.Input = resource.MustStructJSON(crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.35.4"))
	if e.Reconcile(); waits() {
		t.Error("Helm waits for a virtual cluster that never was up")
	}
	e.Install()
	if rsp = e.Reconcile(); waits() {
		t.Error("the Release of a virtual cluster that has come up changes")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != crossplanetest.TTLAtRest {
		t.Errorf("Crossplane asks again after %s, want %s", got, crossplanetest.TTLAtRest)
	}
	e.Request.Input = resource.MustStructJSON(crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.36.0"))
	for range 3 {
		if e.Reconcile(); !waits() {
			t.Error("Helm doesn't wait for a change")
		}
		e.RunProviders()
	}
}

// TestHelmWaitsForAnotherDigest: provider-helm installs a version again if another digest takes the place of its own, and not if it gets its first.
func TestHelmWaitsForAnotherDigest(t *testing.T) {
	digests := func(digest string) string {
		if digest != "" {
			digest = `,"digests":{"0.36.1":"sha256:` + strings.Repeat(digest, 64) + `"}`
		}
		return `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"vcluster":{"repository":"oci://registry.example.org/charts"` + digest + `}}}`
	}
	for name, tc := range map[string]struct {
		reason    string
		was, gets string
		waits     bool
	}{
		"First":   {"A digest for what runs changes nothing.", "", "a", false},
		"Another": {"It is another chart.", "a", "b", true},
		"None":    {"The version stays.", "a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, digests(tc.was)).Install()
			e.Request.Input = resource.MustStructJSON(digests(tc.gets))
			e.Reconcile()
			is := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider").GetFields()
			if got := is["wait"].GetBoolValue(); got != tc.waits {
				t.Errorf("\n%s\nHelm waits: want %t, got %t", tc.reason, tc.waits, got)
			}
			if got := is["chart"].GetStructValue().GetFields()["digest"].GetStringValue(); !strings.HasSuffix(got, tc.gets) || (got == "") != (tc.gets == "") {
				t.Errorf("\n%s\nwant a digest of %q, got %q", tc.reason, tc.gets, got)
			}
		})
	}
}
