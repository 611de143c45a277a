package vcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestControlPlaneThatDoesNotStart: what keeps it from starting is told after the time that it takes where nothing does.
func TestControlPlaneThatDoesNotStart(t *testing.T) {
	e := crossplanetest.Starting(t)
	e.SetAge(tenant.VClusterRelease, 15*time.Second)
	rsp := e.Reconcile()
	if e.Has(tenant.ControlPlanePod) {
		t.Error("the pod of a virtual cluster that starts in time is looked at")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != 6*time.Second {
		t.Errorf("5 s before a virtual cluster is late Crossplane asks again after %s, want 6s", got)
	}
	e.SetAge(tenant.VClusterRelease, 3*time.Minute)
	if got := e.Call().GetMeta().GetTtl().AsDuration(); got != 30*time.Second {
		t.Errorf("of a virtual cluster that lacks something Crossplane asks again after %s, want 30s", got)
	}
	e.SetAge(tenant.VClusterRelease, 20*time.Second)
	e.Reconcile()
	is := func(reason, phase, words string, age time.Duration) {
		t.Helper()
		e.SetAge(tenant.VClusterRelease, age)
		e.Reconcile()
		if c := e.Condition("VirtualClusterReady"); c.GetReason() != reason || !strings.Contains(c.GetMessage(), words) || e.Status("phase") != phase {
			t.Errorf("want phase %s, reason %s, and %q in the message, got phase %s and %v", phase, reason, words, e.Status("phase"), c)
		}
		for _, event := range crossplanetest.ClaimEvents(e.Response) {
			if strings.Contains(event, " PodsCannotStart: ") && !strings.HasPrefix(event, "Warning ") {
				t.Errorf("want a warning, got event %q", event)
			}
		}
	}
	crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
	for name, tc := range map[string]struct{ status, reason, phase, words string }{
		"NoRoom":       {`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient cpu."}]}`, "PodsCannotStart", "Failing", "pod vcluster-0: 0/3 nodes are available: 3 Insufficient cpu."},
		"NoImage":      {`{"containerStatuses":[{"name":"syncer","ready":false,"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"a/b\""}}}]}`, "PodsCannotStart", "Failing", `container syncer: ImagePullBackOff: Back-off pulling image "a/b"`},
		"IsStarted":    {`{"containerStatuses":[{"name":"syncer","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"Runs":         {`{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"IsNoPod":      {`{"conditions":"none"}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"FreeRoomNext": {`{"conditions":[{"type":"PodScheduled","status":"True"}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
	} {
		t.Run(name, func(*testing.T) {
			e.SetManifest(tenant.ControlPlanePod, tc.status)
			is(tc.reason, tc.phase, tc.words, 30*time.Second)
		})
	}
	t.Run("QuotaIsUsedUp", func(*testing.T) {
		e.Observed(tenant.ControlPlanePod).Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(`{}`))
		crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Synced", "False", "ReconcileError", `observe failed: pods "vcluster-0" not found`)
		e.SetManifest(tenant.Quota, `{"hard":{"requests.cpu":"8","count/pods":"60"},"used":{"requests.cpu":"7900m","count/pods":"3"}}`)
		is("PodsCannotStart", "Failing", "the host has no pod vcluster-0: quota virtual-argocd is used up: requests.cpu: 7900m of 8", 30*time.Second)
	})
	t.Run("WritesNoKubeconfig", func(*testing.T) {
		crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
		crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Ready", "True", "Available", "")
		e.SetManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`)
		is("Installing", "Provisioning", "Installing chart vcluster", 4*time.Minute)
		is("PodsCannotStart", "Failing", "pod vcluster-0 is ready, but the virtual cluster hasn't written its kubeconfig", 6*time.Minute)
		// The chart took long to come, or the image.
		e.SetManifest(tenant.ControlPlanePod, fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`,
			e.Now().Add(-time.Minute).UTC().Format(time.RFC3339)))
		is("Installing", "Provisioning", "Installing chart vcluster", 6*time.Minute)
	})
	e.RunProviders()
	e.Reconcile()
	e.RunProviders()
	e.Reconcile()
	if c := e.Condition("VirtualClusterReady"); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("the virtual cluster runs, and its condition says %v", c)
	}
	if !e.Has(tenant.ControlPlanePod) {
		t.Error("what is observed is not desired any more")
	}
}

// TestControlPlaneChangeThatDoesNotStart: so it does of the control plane, which it looks at once a change takes long.
func TestControlPlaneChangeThatDoesNotStart(t *testing.T) {
	const rolling = "Rolling out a change of chart vcluster 0.36.1"
	now := crossplanetest.Start
	e := crossplanetest.New(t, `{}`, crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.35.4"))
	e.Now = func() time.Time { return now }
	e.Install()
	e.Request.Input = resource.MustStructJSON(crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.36.0"))
	e.Reconcile()
	says := func(reason, want string) {
		t.Helper()
		e.SetRollingOut(tenant.VClusterRelease)
		e.Reconcile()
		if c := e.Condition(v1alpha1.ConditionVirtualClusterReady); c.GetMessage() != want || e.Status("phase") != "Updating" {
			t.Errorf("%s\nwant Updating and %q, got %s: %v", reason, want, e.Status("phase"), c)
		}
	}
	says("It is replaced.", rolling)
	now = now.Add(50 * time.Second)
	says("It still is.", rolling)
	if e.Has(tenant.ControlPlanePod) {
		t.Error("the pod of a control plane that is replaced in time is looked at")
	}
	now = now.Add(10 * time.Second)
	says("It takes long.", rolling)
	crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
	crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Ready", "False", "Unavailable", "")
	e.SetManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","state":{"waiting":{"reason":"ErrImagePull","message":"not found"}}}]}`)
	const image = rolling + ": pod vcluster-0: container syncer: ErrImagePull: not found"
	says("Its image can't be pulled.", image)
	e.SetManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}`)
	says("It says that in other words.", image)
	crossplanetest.SetCondition(e.Observed(tenant.ControlPlanePod), "Ready", "True", "Available", "")
	e.SetManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`)
	says("It starts.", rolling)

	// The provider looks at what is ready every 20 minutes, or when it changes.
	looked := func() string {
		return crossplanetest.Field(e.Observed(tenant.ControlPlanePod), "metadata", "annotations").GetFields()["virtualargocd.io/late-change"].GetStringValue()
	}
	e.RunProviders()
	e.Reconcile()
	before := looked()
	crossplanetest.Field(e.Observed(tenant.VClusterRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(3)
	for _, c := range crossplanetest.Field(e.Observed(tenant.VClusterRelease), "status").GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
	}
	for i, want := range []string{before, "3", "3"} {
		if e.Reconcile(); looked() != want {
			t.Errorf("%d minutes into the next change the provider is to look for change %q, want %q", i, looked(), want)
		}
		now = now.Add(time.Minute)
	}
	e.RunProviders()
	after := looked()
	if e.Reconcile(); looked() != after || e.Status("phase") != "Ready" {
		t.Errorf("once the change is rolled out the provider is to look again, or the tenant is %s", e.Status("phase"))
	}
}
