package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
)

// versions are those of the status: running and wanted.
func versions(e *engine) []string {
	return []string{e.status("vcluster", "kubernetesVersion"), e.status("vcluster", "desiredKubernetesVersion"),
		e.status("argocd", "chartVersion"), e.status("argocd", "desiredChartVersion")}
}

// rolling leaves a Release as it is between a change of its spec and the
// provider's having seen it.
func (e *engine) rolling(name string) {
	o := e.observed(name)
	field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
	for _, c := range field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(1)
	}
}

// TestUpgrade follows an upgrade that works, one that fails and is taken back, and
// one that can't be.
func TestUpgrade(t *testing.T) {
	e := newEngine(t, tenantXR(`{"kubernetes":{"version":"v1.35.4"},"argocd":{"chartVersion":"10.1.1"}}`), "").install()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.35.4", "10.1.1", "10.1.1"}, versions(e)); diff != "" {
		t.Errorf("versions: -want, +got:\n%s", diff)
	}
	e.spec(`{"kubernetes":{"version":"v1.36.0"},"argocd":{"chartVersion":"10.2.0"}}`)
	e.reconcile()
	e.rolling(compose.VCluster)
	e.rolling(compose.ArgoCD)
	e.reconcile()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.36.0", "10.1.1", "10.2.0"}, versions(e)); diff != "" {
		t.Errorf("versions while a change is rolled out: -want, +got:\n%s", diff)
	}
	if e.status("phase") != "Updating" {
		t.Errorf("want phase Updating while a change is rolled out, got %s: %s", e.status("phase"), e.status("message"))
	}
	// Meanwhile nobody can look into the virtual cluster, which is no failure.
	setCondition(e.observed(compose.ArgoCD), "Synced", "False", "ReconcileError", "observe failed: connection refused")
	e.reconcile()
	if c := e.condition(v1alpha1.ConditionArgoCDReady); c.GetReason() != v1alpha1.ReasonWaitingForVirtualCluster || e.status("phase") != "Updating" {
		t.Errorf("want WaitingForVirtualCluster while the virtual cluster starts anew, got %v in phase %s", c, e.status("phase"))
	}
	setCondition(e.observed(compose.ArgoCD), "Synced", "True", "ReconcileSuccess", "")
	// It can't be rolled out, and is taken back.
	setCondition(e.observed(compose.VCluster), "Synced", "False", "ReconcileError", "image not found")
	e.spec(`{"kubernetes":{"version":"v1.35.4"},"argocd":{"chartVersion":"10.1.1"}}`)
	if msg := fatal(e.reconcile()); msg != "" {
		t.Errorf("a change that failed can't be taken back: %s", msg)
	}
	if e.status("phase") != "Degraded" {
		t.Errorf("want phase Degraded after a change that failed, got %s: %s", e.status("phase"), e.status("message"))
	}
	// It works.
	e.spec(`{"kubernetes":{"version":"v1.36.0"},"argocd":{"chartVersion":"10.1.1"}}`)
	e.reconcile()
	for _, name := range []string{compose.VCluster, compose.ArgoCD} {
		field(e.observed(name), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
	}
	e.cycle(2)
	if diff := cmp.Diff([]string{"v1.36.0", "v1.36.0", "10.1.1", "10.1.1"}, versions(e)); diff != "" || e.status("phase") != "Ready" {
		t.Errorf("versions after the upgrade, in phase %s: -want, +got:\n%s", e.status("phase"), diff)
	}
	// Now there is no way back, whether the status remembers it or not.
	for _, forget := range []bool{false, true} {
		if forget {
			delete(field(e.xr(), "status", "vcluster").GetFields(), "kubernetesVersion")
		}
		e.spec(`{"kubernetes":{"version":"v1.35.4"}}`)
		before := len(e.events)
		msg := fatal(e.reconcile())
		if !strings.Contains(msg, "spec.kubernetes.version: Kubernetes v1.36.0 runs, and can't go back to v1.35.4: write a version of 1.36") {
			t.Errorf("a downgrade is refused: %q", msg)
		}
		if got := field(e.observed(compose.VCluster), "spec", "forProvider", "values", "controlPlane", "distro", "k8s").GetFields()["version"].GetStringValue(); got != "v1.36.0" {
			t.Errorf("the virtual cluster is changed to %s", got)
		}
		if !forget && !strings.HasPrefix(strings.Join(e.events[before:], "\n"), "InvalidSpec: spec.kubernetes.version") {
			t.Errorf("the claim has no event: %v", e.events[before:])
		}
	}
}
