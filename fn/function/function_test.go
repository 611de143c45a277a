package function_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestInstallation(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	first := []string{"namespace", "accepted", "installer-account"}
	second := append(slices.Clone(first), "kubeconfig", "installer-credentials", "host-helm-provider-config", "host-kubernetes-provider-config", "installer-binding", "control-plane-binding", "limits", "priority-level", "flow-schema",
		"network-policy-virtual-argocd-acme", "network-policy-virtual-argocd-applications", "network-policy-virtual-argocd-control-plane", "network-policy-virtual-argocd-dns", "network-policy-virtual-argocd-tenant", "network-policy-virtual-argocd-url")
	bounded := append(slices.Clone(second), "quota", "values-secret")
	fourth := append(slices.Clone(bounded), "vcluster")
	published := append(slices.Clone(fourth), "helm-provider-config", "kubernetes-provider-config")
	fifth := append(slices.Clone(published), "argocd")
	all := append(slices.Clone(fifth), "argocd-workloads")

	steps := []struct {
		reason     string
		resources  []string
		phase      v1alpha1.Phase
		vc, argocd string
		progress   float64
	}{
		{"Nothing is there yet.", first, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The namespace is there.", second, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The account has a token.", second, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The account has a kubeconfig, so the quota may come.", bounded, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"The quota is there, so vcluster may come.", fourth, v1alpha1.PhasePending, v1alpha1.ReasonWaitingForNamespace, v1alpha1.ReasonWaitingForVirtualCluster, 0},
		{"vcluster has published its kubeconfig.", published, v1alpha1.PhaseProvisioning, v1alpha1.ReasonInstalling, v1alpha1.ReasonWaitingForVirtualCluster, 10},
		{"The kubeconfig is written anew, so Argo CD may come.", fifth, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonInstalling, 50},
		{"The chart is installed, so its workloads can be observed.", all, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonWaitingForWorkloads, 70},
		{"Every workload is available, so the password may be read.", all, v1alpha1.PhaseProvisioning, v1alpha1.ReasonAvailable, v1alpha1.ReasonWaitingForPassword, 99},
		{"The password is read.", all, v1alpha1.PhaseReady, v1alpha1.ReasonAvailable, v1alpha1.ReasonAvailable, 100},
		{"Argo CD has run, so there is something to protect, and to delete at once.", append(slices.Clone(all), "usage", "control-plane-service", "control-plane-workload"), v1alpha1.PhaseReady, v1alpha1.ReasonAvailable, v1alpha1.ReasonAvailable, 100},
	}
	for _, s := range steps {
		rsp := e.Reconcile()
		if msg := crossplanetest.Refusal(rsp); msg != "" {
			t.Fatal(msg)
		}
		slices.Sort(s.resources)
		if diff := cmp.Diff(s.resources, slices.Sorted(maps.Keys(rsp.GetDesired().GetResources()))); diff != "" {
			t.Errorf("\n%s\ndesired resources: -want, +got:\n%s", s.reason, diff)
		}
		got := []string{e.Status("phase"), e.Condition(v1alpha1.ConditionVirtualClusterReady).GetReason(), e.Condition(v1alpha1.ConditionArgoCDReady).GetReason()}
		if diff := cmp.Diff([]string{string(s.phase), s.vc, s.argocd}, got); diff != "" {
			t.Errorf("\n%s\nphase, reasons: -want, +got:\n%s", s.reason, diff)
		}
		if got := e.Status("vcluster", "version"); (got != "") != (s.progress >= 50) {
			t.Errorf("\n%s\nstatus.vcluster.version: %q, with progress %v", s.reason, got, s.progress)
		}
		if got := crossplanetest.Field(e.XR(), "status").GetFields()["progress"].GetNumberValue(); got != s.progress {
			t.Errorf("\n%s\nprogress: want %v, got %v", s.reason, s.progress, got)
		}
		if ready := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE; ready != (s.phase == v1alpha1.PhaseReady) {
			t.Errorf("\n%s\nXR ready: %v in phase %s", s.reason, ready, s.phase)
		}
		e.RunProviders()
	}

	want := map[string][]byte{
		"kubeconfig": e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey), "password": []byte(crossplanetest.Password), "username": []byte("admin"),
		"url": []byte("https://argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc"),
	}
	if diff := cmp.Diff(want, e.Response.GetDesired().GetComposite().GetConnectionDetails()); diff != "" {
		t.Errorf("connection details: -want, +got:\n%s", diff)
	}
	for path, want := range map[string]string{
		"namespace": "vargo-customer1-7rw8j", "argocd.version": "v3.4.4", "argocd.chartVersion": "10.1.1", "vcluster.version": "0.36.1",
		"vcluster.kubernetesVersion": "v1.36.0", "vcluster.kubeconfigSecretName": "customer1-7rw8j-kubeconfig", "vcluster.kubeconfigSecretKey": "kubeconfig",
		"vcluster.helmProviderName": "vargo-customer1-7rw8j", "vcluster.kubernetesProviderName": "vargo-customer1-7rw8j",
	} {
		if got := e.Status(strings.Split(path, ".")...); got != want {
			t.Errorf("status.%s: want %q, got %q", path, want, got)
		}
	}
	events := len(e.Events)
	e.Reconcile()
	if len(e.Events) != events {
		t.Errorf("a reconcile that changes nothing made events: %v", e.Events[events:])
	}
}

// TestTeardown: nothing of a tenant's waits for another when it is deleted, other than for its namespace.
func TestTeardown(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	e.Reconcile()
	e.CheckDeletable()
}
