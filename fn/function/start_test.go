package function

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
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// has reports whether a resource is composed.
func (e *engine) has(name string) bool {
	_, ok := e.req.GetObserved().GetResources()[name]
	return ok
}

// created says that a composed resource has been there for so long.
func (e *engine) created(name string, ago time.Duration) {
	e.t.Helper()
	field(e.observed(name), "metadata").Fields["creationTimestamp"] = structpb.NewStringValue(e.f.now().Add(-ago).UTC().Format(time.RFC3339))
}

// starting is a tenant whose virtual cluster is installed, and hasn't written its kubeconfig.
func starting(t *testing.T) *engine {
	t.Helper()
	e := newEngine(t, tenantXR(`{}`), "")
	e.reconcile()
	e.begin()
	e.reconcile()
	return e
}

// TestLooksAgain: a tenant that comes up goes on by itself where Crossplane tells of no changes; one that is Ready is left alone.
func TestLooksAgain(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	after := func(want time.Duration) {
		t.Helper()
		if got := e.reconcile().GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("in phase %s Crossplane asks again after %s, want %s", e.status("phase"), got, want)
		}
	}
	after(4 * time.Second)
	e.begin()
	after(10 * time.Second)
	e.install()
	after(ttlAtRest)
}

// TestControlPlaneThatDoesNotStart: what keeps it from starting is told after the time that it takes where nothing does.
func TestControlPlaneThatDoesNotStart(t *testing.T) {
	e := starting(t)
	e.created(tenant.VClusterRelease, 15*time.Second)
	rsp := e.reconcile()
	if e.has(tenant.ControlPlanePod) {
		t.Error("the pod of a virtual cluster that starts in time is looked at")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != 6*time.Second {
		t.Errorf("5 s before a virtual cluster is late Crossplane asks again after %s, want 6s", got)
	}
	e.created(tenant.VClusterRelease, 3*time.Minute)
	if got := e.call().GetMeta().GetTtl().AsDuration(); got != 30*time.Second {
		t.Errorf("of a virtual cluster that lacks something Crossplane asks again after %s, want 30s", got)
	}
	e.created(tenant.VClusterRelease, 20*time.Second)
	e.reconcile()
	is := func(reason, phase, words string, age time.Duration) {
		t.Helper()
		e.created(tenant.VClusterRelease, age)
		e.reconcile()
		if c := e.condition("VirtualClusterReady"); c.GetReason() != reason || !strings.Contains(c.GetMessage(), words) || e.status("phase") != phase {
			t.Errorf("want phase %s, reason %s, and %q in the message, got phase %s and %v", phase, reason, words, e.status("phase"), c)
		}
		for _, event := range news(e.rsp) {
			if strings.Contains(event, " PodsCannotStart: ") && !strings.HasPrefix(event, "Warning ") {
				t.Errorf("want a warning, got event %q", event)
			}
		}
	}
	setCondition(e.observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
	for name, tc := range map[string]struct{ status, reason, phase, words string }{
		"NoRoom":       {`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient cpu."}]}`, "PodsCannotStart", "Failing", "pod vcluster-0: 0/3 nodes are available: 3 Insufficient cpu."},
		"NoImage":      {`{"containerStatuses":[{"name":"syncer","ready":false,"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"a/b\""}}}]}`, "PodsCannotStart", "Failing", `container syncer: ImagePullBackOff: Back-off pulling image "a/b"`},
		"IsStarted":    {`{"containerStatuses":[{"name":"syncer","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"Runs":         {`{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"IsNoPod":      {`{"conditions":"none"}`, "Installing", "Provisioning", "Installing chart vcluster"},
		"FreeRoomNext": {`{"conditions":[{"type":"PodScheduled","status":"True"}]}`, "Installing", "Provisioning", "Installing chart vcluster"},
	} {
		t.Run(name, func(*testing.T) {
			e.setManifest(tenant.ControlPlanePod, tc.status)
			is(tc.reason, tc.phase, tc.words, 30*time.Second)
		})
	}
	t.Run("QuotaIsUsedUp", func(*testing.T) {
		e.observed(tenant.ControlPlanePod).Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(`{}`))
		setCondition(e.observed(tenant.ControlPlanePod), "Synced", "False", "ReconcileError", `observe failed: pods "vcluster-0" not found`)
		e.setManifest(tenant.Quota, `{"hard":{"requests.cpu":"8","count/pods":"60"},"used":{"requests.cpu":"7900m","count/pods":"3"}}`)
		is("PodsCannotStart", "Failing", "the host has no pod vcluster-0: quota virtual-argocd is used up: requests.cpu: 7900m of 8", 30*time.Second)
	})
	t.Run("WritesNoKubeconfig", func(*testing.T) {
		setCondition(e.observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
		setCondition(e.observed(tenant.ControlPlanePod), "Ready", "True", "Available", "")
		e.setManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`)
		is("Installing", "Provisioning", "Installing chart vcluster", 4*time.Minute)
		is("PodsCannotStart", "Failing", "pod vcluster-0 is ready, but the virtual cluster hasn't written its kubeconfig", 6*time.Minute)
		// The chart took long to come, or the image.
		e.setManifest(tenant.ControlPlanePod, fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`,
			e.f.now().Add(-time.Minute).UTC().Format(time.RFC3339)))
		is("Installing", "Provisioning", "Installing chart vcluster", 6*time.Minute)
	})
	e.heal()
	e.reconcile()
	e.heal()
	e.reconcile()
	if c := e.condition("VirtualClusterReady"); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("the virtual cluster runs, and its condition says %v", c)
	}
	if !e.has(tenant.ControlPlanePod) {
		t.Error("what is observed is not desired any more")
	}
}

// TestArgoCDThatDoesNotStart: the same of Argo CD's pods, of which the proxy tells.
func TestArgoCDThatDoesNotStart(t *testing.T) {
	const server = "argocd-server"
	e := starting(t)
	for range 4 {
		if !e.has(tenant.ArgoCDRelease) {
			e.heal()
			e.reconcile()
		}
	}
	wait := func() bool {
		return field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["wait"].GetBoolValue()
	}
	if wait() || e.has(tenant.Workloads) {
		t.Errorf("of a new Argo CD: Helm waits: %t, workloads are looked at: %t", wait(), e.has(tenant.Workloads))
	}
	e.created(tenant.ArgoCDRelease, 25*time.Second)
	e.reconcile()
	setCondition(e.observed(tenant.Workloads), "Synced", "True", "ReconcileSuccess", "")
	e.setReplicas(server, 0)
	e.setWorkload(server, func(w *proxy.Workload) { w.Why = "pod argocd-server-1: 0/3 nodes are available: 3 Insufficient cpu." })
	told := func() {
		t.Helper()
		e.created(tenant.ArgoCDRelease, 30*time.Second)
		e.reconcile()
		const words = "Installing chart argo-cd 10.1.1: Deployment argocd-server is not fully available, replicas wanted: 1: pod argocd-server-1: 0/3 nodes are available: 3 Insufficient cpu."
		if c := e.condition("ArgoCDReady"); c.GetReason() != "PodsCannotStart" || c.GetMessage() != words || e.status("phase") != "Failing" {
			t.Errorf("want phase Failing and %q, got phase %s and %v", words, e.status("phase"), c)
		}
	}
	told()
	// The API server refuses something of the chart, and provider-helm takes it back.
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
	setStatus(e.observed(tenant.ArgoCDRelease), `{"state":"failed","releaseDescription":"admission webhook refuses it"}`)
	e.observed(tenant.ArgoCDRelease).Fields["status"].GetStructValue().Fields["failed"] = structpb.NewNumberValue(1)
	told()
	if wait() {
		t.Error("Helm waits for an Argo CD that hasn't been up")
	}
	// It comes up. The API server of the first installation is still to be seen, and the Secret with its password is there: nobody reads it
	// before the second API server is available. By then provider-helm has forgotten that it had failed.
	waiting := func(when string) {
		t.Helper()
		e.reconcile()
		if c := e.condition("ArgoCDReady"); c.GetReason() != v1alpha1.ReasonWaitingForPassword {
			t.Errorf("%s: the first password is taken for that of the second API server: %v", when, c)
		}
	}
	e.deploy(tenant.ArgoCDRelease)
	delete(e.observed(tenant.ArgoCDRelease).Fields["status"].GetStructValue().Fields, "failed")
	e.reconcile()
	if is := e.readSince(); is != "" || wait() {
		t.Errorf("no API server is available: provider-helm is to read its password: %q; Helm waits again: %t", is, wait())
	}
	e.setWorkload(server, func(w *proxy.Workload) { w.Why = "" })
	e.reconcile()
	if c := e.condition("ArgoCDReady"); c.GetMessage() != "Waiting: Deployment argocd-server is not fully available, replicas wanted: 1" {
		t.Errorf("the API server that makes the password isn't available, and the condition says %q", c.GetMessage())
	}
	e.setReplicas(server, 1)
	waiting("the first API server is seen")
	first := e.readSince()
	e.setWorkload(server, func(w *proxy.Workload) { w.UID = "another" })
	waiting("the second API server is seen")
	if second := e.readSince(); first == "" || second == first {
		t.Errorf("nothing has provider-helm read the password of the second API server: %q, then %q", first, second)
	}
	e.rolling(tenant.ArgoCDRelease)
	waiting("provider-helm hasn't read it yet")
	e.heal()
	e.reconcile()
	e.heal()
	if e.reconcile(); e.status("phase") != "Ready" {
		t.Errorf("everything runs, and the claim says %s: %s", e.status("phase"), e.status("message"))
	}
	if wait() {
		t.Error("the Release changes though there is nothing else to install")
	}
	e.spec(`{"argocd":{"values":{"server":{"replicas":2}}}}`)
	e.reconcile()
	if !wait() || field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["waitTimeout"].GetStringValue() != "5m0s" {
		t.Error("Helm doesn't wait for changes of an Argo CD that was up")
	}
}

// readSince is by what provider-helm sees that the admin's password is to be read again.
func (e *engine) readSince() string {
	details := field(e.observed(tenant.ArgoCDRelease), "spec").GetFields()["connectionDetails"].GetListValue().GetValues()
	if len(details) == 0 {
		return ""
	}
	return details[0].GetStructValue().GetFields()["uid"].GetStringValue()
}

// TestUpdatedBeforeThePassword: provider-helm reads no password when it upgrades a Release, and observes it again ten minutes later,
// unless it changes.
func TestUpdatedBeforeThePassword(t *testing.T) {
	for name, takenBack := range map[string]bool{"FirstInstallation": false, "TakenBack": true} {
		t.Run(name, func(t *testing.T) {
			e := starting(t)
			for range 4 {
				if !e.has(tenant.ArgoCDRelease) {
					e.heal()
					e.reconcile()
				}
			}
			e.created(tenant.ArgoCDRelease, 25*time.Second)
			e.reconcile()
			r := e.req.GetObserved().GetResources()[tenant.ArgoCDRelease]
			setCondition(r.GetResource(), "Synced", "True", "ReconcileSuccess", "")
			if takenBack {
				setStatus(r.GetResource(), `{"state":"failed"}`)
				r.GetResource().Fields["status"].GetStructValue().Fields["failed"] = structpb.NewNumberValue(1)
				e.reconcile()
				r = e.req.GetObserved().GetResources()[tenant.ArgoCDRelease]
				delete(r.GetResource().Fields["status"].GetStructValue().Fields, "failed")
			}
			setCondition(e.observed(tenant.Workloads), "Synced", "True", "ReconcileSuccess", "")
			e.setReplicas("argocd-server", 1)
			revision := func(n int) string {
				setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
				setStatus(e.observed(tenant.ArgoCDRelease), fmt.Sprintf(`{"state":"deployed","version":"10.1.1","revision":%d}`, n))
				e.reconcile()
				if c := e.condition("ArgoCDReady"); c.GetReason() != v1alpha1.ReasonWaitingForPassword {
					t.Errorf("revision %d: nobody has read the password, and the condition says %v", n, c)
				}
				return e.readSince()
			}
			first := revision(1)
			e.rolling(tenant.ArgoCDRelease)
			e.spec(`{"argocd":{"values":{"server":{"replicas":2}}}}`)
			e.reconcile()
			if second := revision(2); first == "" || second == first {
				t.Errorf("nothing has provider-helm read the password after an upgrade: %q, then %q", first, second)
			}
			e.heal()
			for range 2 {
				e.reconcile()
				e.heal()
			}
			if e.reconcile(); e.status("phase") != "Ready" {
				t.Errorf("everything runs, and the claim says %s: %s", e.status("phase"), e.status("message"))
			}
		})
	}
}
