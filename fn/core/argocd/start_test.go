package argocd_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestArgoCDThatDoesNotStart: the same of Argo CD's pods, of which the proxy tells.
func TestArgoCDThatDoesNotStart(t *testing.T) {
	const server = "argocd-server"
	e := crossplanetest.Starting(t)
	for range 4 {
		if !e.Has(tenant.ArgoCDRelease) {
			e.RunProviders()
			e.Reconcile()
		}
	}
	wait := func() bool {
		return crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["wait"].GetBoolValue()
	}
	if wait() || e.Has(tenant.Workloads) {
		t.Errorf("of a new Argo CD: Helm waits: %t, workloads are looked at: %t", wait(), e.Has(tenant.Workloads))
	}
	e.SetAge(tenant.ArgoCDRelease, 25*time.Second)
	e.Reconcile()
	crossplanetest.SetCondition(e.Observed(tenant.Workloads), "Synced", "True", "ReconcileSuccess", "")
	e.SetReplicas(server, 0)
	e.SetWorkload(server, func(w *proxy.Workload) { w.Why = "pod argocd-server-1: 0/3 nodes are available: 3 Insufficient cpu." })
	told := func() {
		t.Helper()
		e.SetAge(tenant.ArgoCDRelease, 30*time.Second)
		e.Reconcile()
		const words = "Installing chart argo-cd 10.1.1: Deployment argocd-server is not fully available, replicas wanted: 1: pod argocd-server-1: 0/3 nodes are available: 3 Insufficient cpu."
		if c := e.Condition("ArgoCDReady"); c.GetReason() != "PodsCannotStart" || c.GetMessage() != words || e.Status("phase") != "Failing" {
			t.Errorf("want phase Failing and %q, got phase %s and %v", words, e.Status("phase"), c)
		}
	}
	told()
	// The API server refuses something of the chart, and provider-helm takes it back.
	crossplanetest.SetCondition(e.Observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
	crossplanetest.SetAtProvider(e.Observed(tenant.ArgoCDRelease), `{"state":"failed","releaseDescription":"admission webhook refuses it"}`)
	e.Observed(tenant.ArgoCDRelease).Fields["status"].GetStructValue().Fields["failed"] = structpb.NewNumberValue(1)
	told()
	if wait() {
		t.Error("Helm waits for an Argo CD that hasn't been up")
	}
	// It comes up. The API server of the first installation is still to be seen, and the Secret with its password is there: nobody reads it
	// before the second API server is available. By then provider-helm has forgotten that it had failed.
	waiting := func(when string) {
		t.Helper()
		e.Reconcile()
		if c := e.Condition("ArgoCDReady"); c.GetReason() != v1alpha1.ReasonWaitingForPassword {
			t.Errorf("%s: the first password is taken for that of the second API server: %v", when, c)
		}
	}
	e.Deploy(tenant.ArgoCDRelease)
	delete(e.Observed(tenant.ArgoCDRelease).Fields["status"].GetStructValue().Fields, "failed")
	e.Reconcile()
	if is := readSince(e); is != "" || wait() {
		t.Errorf("no API server is available: provider-helm is to read its password: %q; Helm waits again: %t", is, wait())
	}
	e.SetWorkload(server, func(w *proxy.Workload) { w.Why = "" })
	for _, does := range []string{"", ", and provider-helm is to read a limit of retries"} {
		if does != "" {
			e.SetRollingOut(tenant.ArgoCDRelease)
		}
		e.Reconcile()
		if c := e.Condition("ArgoCDReady"); c.GetMessage() != "Waiting: Deployment argocd-server is not fully available, replicas wanted: 1" {
			t.Errorf("the API server that makes the password isn't available%s, and the condition says %q", does, c.GetMessage())
		}
	}
	e.Deploy(tenant.ArgoCDRelease)
	e.SetReplicas(server, 1)
	waiting("the first API server is seen")
	first := readSince(e)
	e.SetWorkload(server, func(w *proxy.Workload) { w.UID = "another" })
	waiting("the second API server is seen")
	if second := readSince(e); first == "" || second == first {
		t.Errorf("nothing has provider-helm read the password of the second API server: %q, then %q", first, second)
	}
	e.SetRollingOut(tenant.ArgoCDRelease)
	waiting("provider-helm hasn't read it yet")
	e.RunProviders()
	e.Reconcile()
	e.RunProviders()
	if e.Reconcile(); e.Status("phase") != "Ready" {
		t.Errorf("everything runs, and the claim says %s: %s", e.Status("phase"), e.Status("message"))
	}
	if wait() {
		t.Error("the Release changes though there is nothing else to install")
	}
	e.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}}}`)
	e.Reconcile()
	if !wait() || crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["waitTimeout"].GetStringValue() != "5m0s" {
		t.Error("Helm doesn't wait for changes of an Argo CD that was up")
	}
}

// TestSettles: a workload that is seen as it was during a change doesn't make the tenant Degraded, but for how long that is so.
func TestSettles(t *testing.T) {
	now := crossplanetest.Start
	e := crossplanetest.New(t, `{}`, "")
	e.Now = func() time.Time { return now }
	e.Install()
	e.SetReplicas("argocd-server", 0)
	if e.Reconcile(); e.Status("phase") != "Degraded" {
		t.Errorf("a workload breaks, and the phase is %s", e.Status("phase"))
	}
	for _, recovers := range []bool{true, false} {
		e.RunProviders()
		e.Cycle(2)
		e.SetRollingOut(tenant.ArgoCDRelease)
		e.SetReplicas("argocd-server", 0)
		if e.Reconcile(); e.Status("phase") != "Updating" {
			t.Errorf("a change is rolled out, and the phase is %s", e.Status("phase"))
		}
		now = now.Add(time.Minute)
		crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
		for range 3 {
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionArgoCDReady); e.Status("phase") != "Updating" || c.GetReason() != v1alpha1.ReasonWaitingForWorkloads {
				t.Errorf("a change was rolled out just now, and the phase is %s: %v", e.Status("phase"), c)
			}
			if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
				t.Errorf("a change was rolled out just now, and the tenant is looked at again in %s", ttl)
			}
			now = now.Add(4 * time.Second)
		}
		want := "Degraded"
		if recovers {
			e.RunProviders()
			want = "Ready"
		}
		if e.Reconcile(); e.Status("phase") != want {
			t.Errorf("a change was rolled out 12 seconds ago, and the phase is %s, want %s", e.Status("phase"), want)
		}
	}
}

// TestChangeThatDoesNotStart: while a change is rolled out, a tenant says why pods don't start, and says it once.
func TestChangeThatDoesNotStart(t *testing.T) {
	const rolling = "Rolling out a change of chart argo-cd 10.1.1"
	e := crossplanetest.New(t, `{}`, "").Install()
	e.SetSpec(`{"argocd":{"values":{"redis":{"image":{"tag":"none"}}}}}`)
	e.Reconcile()
	says := func(reason, want string) {
		t.Helper()
		e.SetRollingOut(tenant.ArgoCDRelease)
		e.Reconcile()
		c := e.Condition(v1alpha1.ConditionArgoCDReady)
		if c.GetMessage() != want || e.Status("message") != want || c.GetReason() != v1alpha1.ReasonInstalling || e.Status("phase") != "Updating" {
			t.Errorf("%s\nwant Updating and %q, got %s: %v", reason, want, e.Status("phase"), c)
		}
	}
	stuck := func(name, why string) {
		e.SetWorkload(name, func(w *proxy.Workload) { w.Available, w.Why = why == "", strings.TrimSpace(why) })
	}
	says("Nothing is wrong yet.", rolling)
	stuck("argocd-redis", " ")
	says("Pods are replaced.", rolling)
	stuck("argocd-redis", "pod argocd-redis-1: container redis: ErrImagePull: with token=abc123def")
	const redis = rolling + ": Deployment argocd-redis: pod argocd-redis-1: container redis: ErrImagePull: with token=[redacted]"
	says("An image can't be pulled.", redis)
	stuck("argocd-redis", "pod argocd-redis-1: container redis: ImagePullBackOff: Back-off")
	says("It says that in other words.", redis)
	stuck("argocd-redis", " ")
	stuck("argocd-server", "pod argocd-server-1: 0/3 nodes are available")
	says("It says nothing for a moment, and another lacks something.", redis)
	stuck("argocd-redis", "")
	says("It starts, the other doesn't.", rolling+": Deployment argocd-server: pod argocd-server-1: 0/3 nodes are available")
	stuck("argocd-server", "")
	says("Both start.", rolling)
	e.SetWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "pod argocd-server-2: container server: ErrImagePull" })
	const server = rolling + ": Deployment argocd-server: pod argocd-server-2: container server: ErrImagePull"
	says("The former replicas run.", server)
	e.SetWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "pod argocd-server-2: container server: ImagePullBackOff" })
	says("It says that in other words.", server)
	e.SetWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "" })
	says("They are replaced.", rolling)
	for _, event := range e.Events {
		if strings.Contains(event, "argocd-redis") {
			t.Errorf("want no event of what changes while nothing else does, got %s", event)
		}
	}
}
