package status_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

func TestHealth(t *testing.T) {
	cases := map[string]struct {
		reason  string
		breakIt func(e *crossplanetest.Engine)
		typ     string
		want    string
		message string
		phase   string
	}{
		"WorkloadUnavailable": {
			"A workload that loses its replicas is named.",
			func(e *crossplanetest.Engine) { e.SetReplicas("argocd-repo-server", 0) },
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Deployment argocd-repo-server is not fully available, replicas wanted: 1", "Degraded",
		},
		"WorkloadMissing": {
			"A workload that is gone is named.",
			func(e *crossplanetest.Engine) {
				e.SetWorkload("argocd-server", func(w *proxy.Workload) { *w = proxy.Workload{Kind: w.Kind, Name: w.Name, Missing: true} })
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Deployment argocd-server does not exist", "Degraded",
		},
		"VirtualClusterUnreachable": {
			"What can't be observed isn't known to be healthy.",
			func(e *crossplanetest.Engine) {
				crossplanetest.SetCondition(e.Observed(tenant.Workloads), "Synced", "False", "ReconcileError", "connection refused")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Argo CD's workloads cannot be observed: waiting for the API server of the virtual cluster, which doesn't answer", "Degraded",
		},
		"BadChartVersion": {
			"The provider's error names the chart version.",
			func(e *crossplanetest.Engine) {
				crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", `chart "argo-cd" version "99.0.0" not found`)
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonInstallFailed, `version "99.0.0" not found`, "Degraded",
		},
		"VirtualClusterSilent": {
			"A chart that is installed and can't be looked at has not failed to install.",
			func(e *crossplanetest.Engine) {
				crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: failed to get last helm release: connection refused")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWorkloadsUnavailable, "Cannot look into the virtual cluster: waiting for the API server of the virtual cluster, which doesn't answer", "Degraded",
		},
		"KubeconfigNotWritten": {
			"vcluster writes its kubeconfig when it is up: nothing has failed.",
			func(e *crossplanetest.Engine) {
				e.PublishKubeconfig("")
				delete(e.Observed(tenant.KubeconfigSecret).GetFields(), "data")
			},
			v1alpha1.ConditionVirtualClusterReady, v1alpha1.ReasonInstalling, "Installing chart vcluster", "Degraded",
		},
		"PasswordNotWritten": {
			"Argo CD makes its admin's password a moment after it is up: nothing has failed.",
			func(e *crossplanetest.Engine) {
				e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease].ConnectionDetails = nil
				delete(e.Request.GetObserved().GetComposite().GetConnectionDetails(), "password")
				crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: cannot get connection details")
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonWaitingForPassword, "Waiting for the initial password of user admin: observe failed", "Degraded",
		},
		"FailedRelease": {
			"Helm's description tells why a release failed.",
			func(e *crossplanetest.Engine) {
				crossplanetest.SetCondition(e.Observed(tenant.VClusterRelease), "Ready", "False", "Unavailable", "")
				crossplanetest.SetAtProvider(e.Observed(tenant.VClusterRelease), `{"state":"failed","releaseDescription":"context deadline exceeded"}`)
			},
			v1alpha1.ConditionVirtualClusterReady, v1alpha1.ReasonInstallFailed, "waiting for the API server of the host, which doesn't answer", "Degraded",
		},
		"RollingOut": {
			"A Release whose newest spec the provider hasn't seen isn't ready, whatever its conditions say.",
			func(e *crossplanetest.Engine) {
				o := e.Observed(tenant.ArgoCDRelease)
				crossplanetest.Field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(3)
				for _, c := range crossplanetest.Field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
					c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
				}
			},
			v1alpha1.ConditionArgoCDReady, v1alpha1.ReasonInstalling, "Rolling out a change of chart argo-cd 10.1.1", "Updating",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "").Install()
			events := len(e.Events)
			tc.breakIt(e)
			e.Reconcile()
			c := e.Condition(tc.typ)
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetReason() != tc.want || !strings.Contains(c.GetMessage(), tc.message) {
				t.Errorf("\n%s\nwant False, %s, %q, got: %v", tc.reason, tc.want, tc.message, c)
			}
			if e.Status("phase") != tc.phase || !strings.Contains(e.Status("message"), tc.message) {
				t.Errorf("\n%s\nwant %s, got %s: %s", tc.reason, tc.phase, e.Status("phase"), e.Status("message"))
			}
			e.Reconcile()
			if got := len(e.Events) - events; got != 1 {
				t.Errorf("\n%s\nwant one event, got %d: %v", tc.reason, got, e.Events[events:])
			}
			e.RunProviders()
			crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
			e.Reconcile()
			e.Reconcile()
			if e.Status("phase") != "Ready" {
				t.Errorf("\n%s\nwant Ready once healed, got %s: %s", tc.reason, e.Status("phase"), e.Status("message"))
			}
		})
	}
}
