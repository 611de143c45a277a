package function

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// versions are those of the status: running and wanted.
func versions(e *engine) []string {
	return []string{e.status("vcluster", "kubernetesVersion"), e.status("vcluster", "desiredKubernetesVersion"),
		e.status("vcluster", "version"), e.status("vcluster", "desiredVersion"),
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

// TestSettles: a workload that is seen as it was during a change doesn't make the tenant Degraded, but for how long that is so.
func TestSettles(t *testing.T) {
	now := testNow
	e := newEngine(t, tenantXR(`{}`), "")
	e.f.now = func() time.Time { return now }
	e.install()
	e.setReplicas("argocd-server", 0)
	if e.reconcile(); e.status("phase") != "Degraded" {
		t.Errorf("a workload breaks, and the phase is %s", e.status("phase"))
	}
	for _, recovers := range []bool{true, false} {
		e.heal()
		e.cycle(2)
		e.rolling(tenant.ArgoCDRelease)
		e.setReplicas("argocd-server", 0)
		if e.reconcile(); e.status("phase") != "Updating" {
			t.Errorf("a change is rolled out, and the phase is %s", e.status("phase"))
		}
		now = now.Add(time.Minute)
		field(e.observed(tenant.ArgoCDRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
		for range 3 {
			e.reconcile()
			if c := e.condition(v1alpha1.ConditionArgoCDReady); e.status("phase") != "Updating" || c.GetReason() != v1alpha1.ReasonWaitingForWorkloads {
				t.Errorf("a change was rolled out just now, and the phase is %s: %v", e.status("phase"), c)
			}
			if ttl := e.rsp.GetMeta().GetTtl().AsDuration(); ttl != 10*time.Second {
				t.Errorf("a change was rolled out just now, and the tenant is looked at again in %s", ttl)
			}
			now = now.Add(4 * time.Second)
		}
		want := "Degraded"
		if recovers {
			e.heal()
			want = "Ready"
		}
		if e.reconcile(); e.status("phase") != want {
			t.Errorf("a change was rolled out 12 seconds ago, and the phase is %s, want %s", e.status("phase"), want)
		}
	}
}

// TestUpgrade follows an upgrade that works, one that fails and is taken back, and
// one that can't be.
func TestUpgrade(t *testing.T) {
	e := newEngine(t, tenantXR(`{"kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.36.0"},"argocd":{"chartVersion":"10.1.1"}}`), "")
	e.plan("standard", `{"versions":{"kubernetes":["~1.35","~1.36"],"vclusterCharts":["~0.36"]}}`)
	e.install()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.35.4", "0.36.0", "0.36.0", "10.1.1", "10.1.1"}, versions(e)); diff != "" {
		t.Errorf("versions: -want, +got:\n%s", diff)
	}
	e.spec(`{"kubernetes":{"version":"v1.36.0"},"vcluster":{"chartVersion":"0.36.1"},"argocd":{"chartVersion":"10.2.0"}}`)
	e.reconcile()
	e.rolling(tenant.VClusterRelease)
	e.rolling(tenant.ArgoCDRelease)
	e.reconcile()
	if diff := cmp.Diff([]string{"v1.35.4", "v1.36.0", "0.36.0", "0.36.1", "10.1.1", "10.2.0"}, versions(e)); diff != "" {
		t.Errorf("versions while a change is rolled out: -want, +got:\n%s", diff)
	}
	if e.status("phase") != "Updating" {
		t.Errorf("want phase Updating while a change is rolled out, got %s: %s", e.status("phase"), e.status("message"))
	}
	// Meanwhile nobody can look into the virtual cluster, which is no failure.
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "False", "ReconcileError", "observe failed: connection refused")
	e.reconcile()
	if c := e.condition(v1alpha1.ConditionArgoCDReady); c.GetReason() != v1alpha1.ReasonWaitingForVirtualCluster || e.status("phase") != "Updating" {
		t.Errorf("want WaitingForVirtualCluster while the virtual cluster starts anew, got %v in phase %s", c, e.status("phase"))
	}
	setCondition(e.observed(tenant.ArgoCDRelease), "Synced", "True", "ReconcileSuccess", "")
	// It can't be rolled out, and is taken back.
	setCondition(e.observed(tenant.VClusterRelease), "Synced", "False", "ReconcileError", "image not found")
	e.spec(`{"kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.36.0"},"argocd":{"chartVersion":"10.1.1"}}`)
	if msg := refusal(e.reconcile()); msg != "" {
		t.Errorf("a change that failed can't be taken back: %s", msg)
	}
	if e.status("phase") != "Degraded" {
		t.Errorf("want phase Degraded after a change that failed, got %s: %s", e.status("phase"), e.status("message"))
	}
	// It works.
	e.spec(`{"kubernetes":{"version":"v1.36.0"},"vcluster":{"chartVersion":"0.36.1"},"argocd":{"chartVersion":"10.1.1"}}`)
	e.reconcile()
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		field(e.observed(name), "metadata").Fields["generation"] = structpb.NewNumberValue(1)
	}
	e.cycle(2)
	if diff := cmp.Diff([]string{"v1.36.0", "v1.36.0", "0.36.1", "0.36.1", "10.1.1", "10.1.1"}, versions(e)); diff != "" || e.status("phase") != "Ready" {
		t.Errorf("versions after the upgrade, in phase %s: -want, +got:\n%s", e.status("phase"), diff)
	}
	// Now there is no way back, whether the status remembers it or not.
	for _, forget := range []bool{false, true} {
		if forget {
			delete(field(e.xr(), "status", "vcluster").GetFields(), "kubernetesVersion")
		}
		e.spec(`{"kubernetes":{"version":"v1.35.4"}}`)
		before := len(e.events)
		msg := refusal(e.reconcile())
		if !strings.Contains(msg, "spec.kubernetes.version: Kubernetes v1.36.0 runs, and can't go back to v1.35.4: write a version of 1.36") {
			t.Errorf("a downgrade is refused: %q", msg)
		}
		if got := field(e.observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane", "distro", "k8s").GetFields()["version"].GetStringValue(); got != "v1.36.0" {
			t.Errorf("the virtual cluster is changed to %s", got)
		}
		if !forget && !strings.HasPrefix(strings.Join(e.events[before:], "\n"), "InvalidSpec: spec.kubernetes.version") {
			t.Errorf("the claim has no event: %v", e.events[before:])
		}
	}
}

// TestChangeThatDoesNotStart: while a change is rolled out, a tenant says why pods don't start, and says it once.
func TestChangeThatDoesNotStart(t *testing.T) {
	const rolling = "Rolling out a change of chart argo-cd 10.1.1"
	e := newEngine(t, tenantXR(`{}`), "").install()
	e.spec(`{"argocd":{"values":{"redis":{"image":{"tag":"none"}}}}}`)
	e.reconcile()
	says := func(reason, want string) {
		t.Helper()
		e.rolling(tenant.ArgoCDRelease)
		e.reconcile()
		c := e.condition(v1alpha1.ConditionArgoCDReady)
		if c.GetMessage() != want || e.status("message") != want || c.GetReason() != v1alpha1.ReasonInstalling || e.status("phase") != "Updating" {
			t.Errorf("%s\nwant Updating and %q, got %s: %v", reason, want, e.status("phase"), c)
		}
	}
	stuck := func(name, why string) {
		e.setWorkload(name, func(w *proxy.Workload) { w.Available, w.Why = why == "", strings.TrimSpace(why) })
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
	e.setWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "pod argocd-server-2: container server: ErrImagePull" })
	const server = rolling + ": Deployment argocd-server: pod argocd-server-2: container server: ErrImagePull"
	says("The former replicas run.", server)
	e.setWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "pod argocd-server-2: container server: ImagePullBackOff" })
	says("It says that in other words.", server)
	e.setWorkload("argocd-server", func(w *proxy.Workload) { w.Why = "" })
	says("They are replaced.", rolling)
	for _, event := range e.events {
		if strings.Contains(event, "argocd-redis") {
			t.Errorf("want no event of what changes while nothing else does, got %s", event)
		}
	}
}

// TestControlPlaneChangeThatDoesNotStart: so it does of the control plane, which it looks at once a change takes long.
func TestControlPlaneChangeThatDoesNotStart(t *testing.T) {
	const rolling = "Rolling out a change of chart vcluster 0.36.1"
	now := testNow
	e := newEngine(t, tenantXR(`{}`), platform("0.36.1", "10.1.1", "v1.35.4"))
	e.f.now = func() time.Time { return now }
	e.install()
	e.req.Input = resource.MustStructJSON(platform("0.36.1", "10.1.1", "v1.36.0"))
	e.reconcile()
	says := func(reason, want string) {
		t.Helper()
		e.rolling(tenant.VClusterRelease)
		e.reconcile()
		if c := e.condition(v1alpha1.ConditionVirtualClusterReady); c.GetMessage() != want || e.status("phase") != "Updating" {
			t.Errorf("%s\nwant Updating and %q, got %s: %v", reason, want, e.status("phase"), c)
		}
	}
	says("It is replaced.", rolling)
	now = now.Add(50 * time.Second)
	says("It still is.", rolling)
	if e.has(tenant.ControlPlanePod) {
		t.Error("the pod of a control plane that is replaced in time is looked at")
	}
	now = now.Add(10 * time.Second)
	says("It takes long.", rolling)
	setCondition(e.observed(tenant.ControlPlanePod), "Synced", "True", "ReconcileSuccess", "")
	setCondition(e.observed(tenant.ControlPlanePod), "Ready", "False", "Unavailable", "")
	e.setManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","state":{"waiting":{"reason":"ErrImagePull","message":"not found"}}}]}`)
	const image = rolling + ": pod vcluster-0: container syncer: ErrImagePull: not found"
	says("Its image can't be pulled.", image)
	e.setManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}`)
	says("It says that in other words.", image)
	setCondition(e.observed(tenant.ControlPlanePod), "Ready", "True", "Available", "")
	e.setManifest(tenant.ControlPlanePod, `{"containerStatuses":[{"name":"syncer","ready":true,"state":{"running":{}}}]}`)
	says("It starts.", rolling)

	// The provider looks at what is ready every ten minutes, or when it changes.
	looked := func() string {
		return field(e.observed(tenant.ControlPlanePod), "metadata", "annotations").GetFields()["virtualargocd.io/late-change"].GetStringValue()
	}
	e.heal()
	e.reconcile()
	before := looked()
	field(e.observed(tenant.VClusterRelease), "metadata").Fields["generation"] = structpb.NewNumberValue(3)
	for _, c := range field(e.observed(tenant.VClusterRelease), "status").GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
	}
	for i, want := range []string{before, "3", "3"} {
		if e.reconcile(); looked() != want {
			t.Errorf("%d minutes into the next change the provider is to look for change %q, want %q", i, looked(), want)
		}
		now = now.Add(time.Minute)
	}
	e.heal()
	after := looked()
	if e.reconcile(); looked() != after || e.status("phase") != "Ready" {
		t.Errorf("once the change is rolled out the provider is to look again, or the tenant is %s", e.status("phase"))
	}
}

// platform is an input with these versions.
func platform(vcluster, argocd, kubernetes string) string {
	return `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","kubernetes":{"version":"` + kubernetes + `"},
		"charts":{"vcluster":{"version":"` + vcluster + `"},"argocd":{"version":"` + argocd + `"}}}`
}

// TestDefaultsMove follows a tenant whose claim names no versions, while those of the
// platform are raised by several minor versions of Kubernetes and then taken back.
func TestDefaultsMove(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), platform("0.36.1", "10.1.0", "v1.33.4")).install()
	// roll reconciles, and leaves what changes as it is before the provider has seen it.
	roll := func() []string {
		vcluster, argocd := field(e.observed(tenant.VClusterRelease), "spec"), field(e.observed(tenant.ArgoCDRelease), "spec")
		e.reconcile()
		for name, was := range map[string]*structpb.Struct{tenant.VClusterRelease: vcluster, tenant.ArgoCDRelease: argocd} {
			if !proto.Equal(was, field(e.observed(name), "spec")) {
				e.rolling(name)
			}
		}
		var out []string
		for _, event := range news(e.rsp) {
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
		{"The platform's Kubernetes is raised by three minor versions.", platform("0.36.1", "10.1.1", "v1.36.0"), func() {}, "v1.34.0", []string{"Kubernetes goes to v1.34.0" + first}},
		{"Nothing goes on before that one runs.", "", func() {}, "v1.34.0", nil},
		{"It runs.", "", e.heal, "v1.35.0", []string{"Kubernetes goes to v1.35.0" + first}},
		{"So does the next.", "", e.heal, "v1.36.0", nil},
		{"The platform is rolled back.", platform("0.36.1", "10.1.0", "v1.33.4"), e.heal, "v1.36.0", []string{
			"Chart argo-cd stays at 10.1.1, which runs: the platform's version, 10.1.0, is lower",
			"Kubernetes stays at v1.36.0, which runs: the platform's version, v1.33.4, is lower",
		}},
		{"A record of Helm's is forged, in the tenant's namespace or in its virtual cluster.", "", func() {
			e.setRecord(tenant.VClusterRelease, "0.35.9")
			e.setRecord(tenant.ArgoCDRelease, "99.0.0")
		}, "v1.36.0", nil},
		{"The platform goes on.", platform("0.36.1", "10.1.1", "v1.36.0"), e.heal, "v1.36.0", nil},
	}
	for _, s := range steps {
		if s.input != "" {
			e.req.Input = jsonValue(s.input).GetStructValue()
		}
		s.change()
		if diff := cmp.Diff(s.events, roll()); diff != "" {
			t.Errorf("\n%s\nevents: -want, +got:\n%s", s.reason, diff)
		}
		if again := roll(); len(again) > 0 {
			t.Errorf("\n%s\nnothing has changed since, and there are events: %v", s.reason, again)
		}
		want := []string{s.kubernetes, "0.36.1", "10.1.1"}
		if diff := cmp.Diff(want, []string{e.status("vcluster", "desiredKubernetesVersion"), e.status("vcluster", "desiredVersion"), e.status("argocd", "desiredChartVersion")}); diff != "" {
			t.Errorf("\n%s\nKubernetes, vcluster, argo-cd: -want, +got:\n%s", s.reason, diff)
		}
	}
	if left := e.statusList("versionsHeld"); len(left) > 0 || e.status("phase") != "Ready" {
		t.Errorf("want a tenant that is Ready with the platform's versions, got %s with %v held", e.status("phase"), left)
	}
}

// TestHelmWaitsForChanges: the first time a virtual cluster's kubeconfig tells that it is up, and Helm holds nobody up that
// wants it gone. A change that never becomes ready has to fail, so that it is taken back.
func TestHelmWaitsForChanges(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), platform("0.36.0", "10.1.1", "v1.35.4"))
	waits := func() bool {
		return field(e.observed(tenant.VClusterRelease), "spec", "forProvider").GetFields()["wait"].GetBoolValue()
	}
	e.reconcile()
	e.begin()
	rsp := e.reconcile()
	if waits() {
		t.Error("Helm waits for the first virtual cluster")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != 10*time.Second {
		t.Errorf("while the virtual cluster starts, Crossplane asks again after %s, want 10s", got)
	}
	// A mistake in what never came up is corrected without waiting, too.
	e.req.Input = resource.MustStructJSON(platform("0.36.1", "10.1.1", "v1.35.4"))
	if e.reconcile(); waits() {
		t.Error("Helm waits for a virtual cluster that never was up")
	}
	e.install()
	if rsp = e.reconcile(); waits() {
		t.Error("the Release of a virtual cluster that has come up changes")
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != ttlAtRest {
		t.Errorf("Crossplane asks again after %s, want %s", got, ttlAtRest)
	}
	e.req.Input = resource.MustStructJSON(platform("0.36.1", "10.1.1", "v1.36.0"))
	for range 3 {
		if e.reconcile(); !waits() {
			t.Error("Helm doesn't wait for a change")
		}
		e.heal()
	}
}
