package versions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// versions are those of the status: running and wanted.
func versions(e *crossplanetest.Engine) []string {
	return []string{e.Status("vcluster", "kubernetesVersion"), e.Status("vcluster", "desiredKubernetesVersion"),
		e.Status("vcluster", "version"), e.Status("vcluster", "desiredVersion"),
		e.Status("argocd", "chartVersion"), e.Status("argocd", "desiredChartVersion")}
}

// TestUpgrade follows an upgrade that works, one that fails and is taken back, and
// one that can't be.
func TestUpgrade(t *testing.T) {
	e := crossplanetest.New(t, `{"kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.36.0"},"argocd":{"chartVersion":"10.1.1"}}`, "")
	e.AddPlan("standard", `{"versions":{"kubernetes":["~1.35","~1.36"],"vclusterCharts":["~0.36"]}}`)
	e.Install()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.35.4", "0.36.0", "0.36.0", "10.1.1", "10.1.1"}, versions(e)); diff != "" {
		t.Errorf("versions: -want, +got:\n%s", diff)
	}
	e.SetSpec(`{"kubernetes":{"version":"v1.36.0"},"vcluster":{"chartVersion":"0.36.1"},"argocd":{"chartVersion":"10.2.0"}}`)
	e.Reconcile()
	e.SetRollingOut(tenant.VClusterRelease)
	e.SetRollingOut(tenant.ArgoCDRelease)
	e.Reconcile()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.36.0", "0.36.0", "0.36.1", "10.1.1", "10.2.0"}, versions(e)); diff != "" {
		t.Errorf("versions while a change is rolled out: -want, +got:\n%s", diff)
	}
	if e.Status("phase") != "Updating" {
		t.Errorf("want phase Updating while a change is rolled out, got %s: %s", e.Status("phase"), e.Status("message"))
	}
	// Meanwhile nobody can look into the virtual cluster, which is no failure.
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: connection refused")
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionArgoCDReady); c.GetReason() != v1alpha1.ReasonWaitingForVirtualCluster || e.Status("phase") != "Updating" {
		t.Errorf("want WaitingForVirtualCluster while the virtual cluster starts anew, got %v in phase %s", c, e.Status("phase"))
	}
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
	// It can't be rolled out, and is taken back.
	crossplanetest.SetCondition(e.Observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", "image not found")
	e.SetSpec(`{"kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.36.0"},"argocd":{"chartVersion":"10.1.1"}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
		t.Errorf("a change that failed can't be taken back: %s", msg)
	}
	if e.Status("phase") != "Degraded" {
		t.Errorf("want phase Degraded after a change that failed, got %s: %s", e.Status("phase"), e.Status("message"))
	}
	// It works.
	e.SetSpec(`{"kubernetes":{"version":"v1.36.0"},"vcluster":{"chartVersion":"0.36.1"},"argocd":{"chartVersion":"10.1.1"}}`)
	e.Reconcile()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		crossplanetest.Field(e.Observed(name), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
	}
	e.Cycle(2)
	if diff := cmp.Diff([]string{"v1.36.0", "v1.36.0", "0.36.1", "0.36.1", "10.1.1", "10.1.1"}, versions(e)); diff != "" || e.Status("phase") != "Ready" {
		t.Errorf("versions after the upgrade, in phase %s: -want, +got:\n%s", e.Status("phase"), diff)
	}
	// Now there is no way back, whether the status remembers it or not.
	for _, forget := range []bool{false, true} {
		if forget {
			delete(crossplanetest.Field(e.XR(), "status", "vcluster").GetFields(), "kubernetesVersion")
		}
		e.SetSpec(`{"kubernetes":{"version":"v1.35.4"}}`)
		before := len(e.Events)
		msg := crossplanetest.Refusal(e.Reconcile())
		if !strings.Contains(msg, "spec.kubernetes.version: Kubernetes v1.36.0 runs, and can't go back to v1.35.4: write a version of 1.36") {
			t.Errorf("a downgrade is refused: %q", msg)
		}
		if got := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane", "distro", "k8s").GetFields()["version"].GetStringValue(); got != "v1.36.0" {
			t.Errorf("the virtual cluster is changed to %s", got)
		}
		if !forget && !strings.HasPrefix(strings.Join(e.Events[before:], "\n"), "InvalidSpec: spec.kubernetes.version") {
			t.Errorf("the claim has no event: %v", e.Events[before:])
		}
	}
}

// TestDefaultsMove follows a tenant whose claim names no versions, while those of the
// platform are raised by several minor versions of Kubernetes and then taken back.
func TestDefaultsMove(t *testing.T) {
	e := crossplanetest.New(t, `{}`, crossplanetest.PlatformVersions("0.36.1", "10.1.0", "v1.33.4")).Install()
	// roll reconciles, and leaves what changes as it is before the provider has seen it.
	roll := func() []string {
		vcluster, argocd := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec"), crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec")
		e.Reconcile()
		for name, was := range map[string]*structpb.Struct{tenant.VClusterRelease: vcluster, tenant.ArgoCDRelease: argocd} {
			if !proto.Equal(was, crossplanetest.Field(e.Observed(name), "spec")) {
				e.SetRollingOut(name)
			}
		}
		var out []string
		for _, event := range crossplanetest.ClaimEvents(e.Response) {
			if held, ok := strings.CutPrefix(event, "Normal VersionHeld: "); ok {
				out = append(out, held)
			}
		}
		return out
	}
	const first = " first: the platform's version is v1.36.0, and no minor version can be left out"
	steps := []struct {
		reason     string
		input      string
		change     func()
		kubernetes string
		events     []string
	}{
		{"The platform's Kubernetes is raised by three minor versions.", crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.36.0"), func() {}, "v1.34.0", []string{"Kubernetes goes to v1.34.0" + first}},
		{"Nothing goes on before that one runs.", "", func() {}, "v1.34.0", nil},
		{"It runs.", "", e.RunProviders, "v1.35.0", []string{"Kubernetes goes to v1.35.0" + first}},
		{"So does the next.", "", e.RunProviders, "v1.36.0", nil},
		{"The platform is rolled back.", crossplanetest.PlatformVersions("0.36.1", "10.1.0", "v1.33.4"), e.RunProviders, "v1.36.0", []string{
			"Chart argo-cd stays at 10.1.1, which runs: the platform's version, 10.1.0, is lower",
			"Kubernetes stays at v1.36.0, which runs: the platform's version, v1.33.4, is lower",
		}},
		{"A record of Helm's is forged, in the tenant's namespace or in its virtual cluster.", "", func() {
			e.SetDeployed(tenant.VClusterRelease, "0.35.9")
			e.SetDeployed(tenant.ArgoCDRelease, "99.0.0")
		}, "v1.36.0", nil},
		{"The platform goes on.", crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.36.0"), e.RunProviders, "v1.36.0", nil},
	}
	for _, s := range steps {
		if s.input != "" {
			e.Request.Input = crossplanetest.JSON(s.input).GetStructValue()
		}
		s.change()
		if diff := cmp.Diff(s.events, roll()); diff != "" {
			t.Errorf("\n%s\nevents: -want, +got:\n%s", s.reason, diff)
		}
		if again := roll(); len(again) > 0 {
			t.Errorf("\n%s\nnothing has changed since, and there are events: %v", s.reason, again)
		}
		want := []string{s.kubernetes, "0.36.1", "10.1.1"}
		if diff := cmp.Diff(want, []string{e.Status("vcluster", "desiredKubernetesVersion"), e.Status("vcluster", "desiredVersion"), e.Status("argocd", "desiredChartVersion")}); diff != "" {
			t.Errorf("\n%s\nKubernetes, vcluster, argo-cd: -want, +got:\n%s", s.reason, diff)
		}
	}
	if left := e.StatusList("versionsHeld"); len(left) > 0 || e.Status("phase") != "Ready" {
		t.Errorf("want a tenant that is Ready with the platform's versions, got %s with %v held", e.Status("phase"), left)
	}
}
