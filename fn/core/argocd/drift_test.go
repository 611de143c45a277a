package argocd_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A drifting tenant is one in whose virtual cluster somebody deletes things.
type drifting struct {
	*crossplanetest.Engine
	now time.Time
}

func drifts(t *testing.T, spec string) *drifting {
	t.Helper()
	d := &drifting{crossplanetest.New(t, spec, ""), crossplanetest.Start.Add(time.Hour)}
	d.Generations = true
	d.Install()
	d.Now = func() time.Time { return d.now }
	d.Reconcile()
	return d
}

// revised has Helm deploy a revision as the Release asks for, and the provider see it.
func (d *drifting) revised(revision int64) {
	d.T.Helper()
	d.Deploy(tenant.ArgoCDRelease)
	crossplanetest.Field(d.Observed(tenant.ArgoCDRelease), "status", "atProvider").Fields["revision"] = structpb.NewNumberValue(float64(revision))
}

// values are those of the chart in the Release.
func (d *drifting) values() *structpb.Struct {
	return crossplanetest.Field(d.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values")
}

// missing sets what the proxy has seen to be missing of a revision of the Helm release.
func (d *drifting) missing(revision int64, objects ...string) {
	d.T.Helper()
	d.SetSummary(&proxy.Missing{Revision: revision, Objects: objects}, nil)
}

// repairs reports whether a repair begins in the next call: the Release gets other values, though they mean the same.
func (d *drifting) repairs() bool {
	d.T.Helper()
	before, release := wire.Of(d.values()), d.Observed(tenant.ArgoCDRelease)
	was, err := before.JSON()
	if err != nil {
		d.T.Fatal(err)
	}
	changed := crossplanetest.Field(release, "spec", "forProvider").GetFields()["chart"].String()
	d.Reconcile()
	is, err := wire.Of(d.values()).JSON()
	if err != nil {
		d.T.Fatal(err)
	}
	if now := crossplanetest.Field(d.Observed(tenant.ArgoCDRelease), "spec", "forProvider").GetFields()["chart"].String(); now != changed {
		d.T.Errorf("the chart changes: %s", now)
	}
	return string(was) != string(is)
}

// upgraded has Helm do what the Release asks for. Everything is there then.
func (d *drifting) upgraded(revision int) {
	d.T.Helper()
	d.now = d.now.Add(20 * time.Second)
	d.RunProviders()
	d.revised(int64(revision))
	d.SetWorkload("", nil)
	d.Reconcile()
	d.now = d.now.Add(20 * time.Second)
	d.Reconcile()
}

// TestDrift: what somebody deletes or scales down in the virtual cluster is brought back by an upgrade that changes nothing else, and what isn't
// gone, or isn't known to be, has none.
func TestDrift(t *testing.T) {
	server := func(change func(*proxy.Workload)) func(*drifting) {
		return func(d *drifting) { d.SetWorkload("argocd-server", change) }
	}
	const spec = `{"argocd":{"values":{"server":{"replicas":2},"applicationSet":{"replicas":0}}}}`
	for name, tc := range map[string]struct {
		reason  string
		drift   func(*drifting)
		repairs bool
		message string
	}{
		"Deleted":     {"A workload is brought back.", server(func(w *proxy.Workload) { *w = proxy.Workload{Kind: w.Kind, Name: w.Name, Missing: true} }), true, "Deployment argocd-server does not exist"},
		"Stopped":     {"So is one without replicas.", server(func(w *proxy.Workload) { w.Replicas = 0 }), true, "Deployment argocd-server is scaled to no replicas"},
		"ScaledDown":  {"And one with fewer than the values say.", server(func(w *proxy.Workload) { w.Replicas = 1 }), true, "Deployment argocd-server is scaled down in the virtual cluster, replicas wanted: 2"},
		"ScaledUp":    {"More replicas than those are nobody's trouble.", server(func(w *proxy.Workload) { w.Replicas = 3 }), false, "Argo CD is ready"},
		"Unavailable": {"An upgrade doesn't mend a pod that doesn't start.", server(func(w *proxy.Workload) { w.Available = false }), false, "Deployment argocd-server is not fully available, replicas wanted: 2"},
		"OnPurpose": {"The values scale it to zero.", func(d *drifting) {
			d.SetWorkload("argocd-applicationset-controller", func(w *proxy.Workload) { w.Replicas = 0 })
		}, false, "Argo CD is ready"},
		"Object":        {"Objects that are no workloads are brought back, too.", func(d *drifting) { d.missing(1, "ConfigMap argocd-rbac-cm", "Role argocd-server") }, true, "Deleted in the virtual cluster: ConfigMap argocd-rbac-cm, Role argocd-server"},
		"OtherRevision": {"Another revision of the chart may not have it.", func(d *drifting) { d.missing(2, "ConfigMap argocd-rbac-cm") }, false, "Argo CD is ready"},
		"Forged":        {"What isn't the name of an object is no news.", func(d *drifting) { d.missing(1, "ConfigMap <b>call 555</b>") }, false, "Argo CD is ready"},
		"Unreachable": {"Nothing is known.", func(d *drifting) {
			d.missing(1, "ConfigMap argocd-rbac-cm")
			crossplanetest.SetCondition(d.Observed(tenant.Workloads), "Synced", "False", "ReconcileError", "connection refused")
		}, false, "Argo CD's workloads cannot be observed"},
		"Refused": {"A change is refused: somebody is at work.", func(d *drifting) {
			d.missing(1, "ConfigMap argocd-rbac-cm")
			d.SetSpec(`{"argocd":{"chartVersion":"none","values":{"server":{"replicas":2},"applicationSet":{"replicas":0}}}}`)
		}, false, "Deleted in the virtual cluster: ConfigMap argocd-rbac-cm"},
		"PlanRefused": {"A plan's mistake is nobody's who is at work here.", func(d *drifting) {
			d.missing(1, "ConfigMap argocd-rbac-cm")
			d.AddPlan("standard", `{"quota":{"limit.cpu":"30"}}`, "default-plan=true")
		}, true, "Deleted in the virtual cluster: ConfigMap argocd-rbac-cm"},
		"InputRefused": {"Nor is one in the function's input.", func(d *drifting) {
			d.missing(1, "ConfigMap argocd-rbac-cm")
			d.Request.Input = crossplanetest.JSON(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","quotas":{}}`).GetStructValue()
		}, true, "Deleted in the virtual cluster: ConfigMap argocd-rbac-cm"},
		"FallsAsleep": {"It is to be asleep.", func(d *drifting) {
			d.missing(1, "ConfigMap argocd-rbac-cm")
			d.SetSpec(`{"hibernation":{"enabled":true},"argocd":{"values":{"server":{"replicas":2},"applicationSet":{"replicas":0}}}}`)
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := drifts(t, spec)
			d.revised(1)
			d.Reconcile()
			if d.Status("phase") != "Ready" {
				t.Fatalf("%s: %s", d.Status("phase"), d.Status("message"))
			}
			tc.drift(d)
			if got := d.repairs(); got != tc.repairs {
				t.Errorf("%s\nrepairs: want %t, got %t", tc.reason, tc.repairs, got)
			}
			if !strings.HasPrefix(d.Status("message"), tc.message) {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.message, d.Status("message"))
			}
			if !tc.repairs {
				return
			}
			d.Reconcile()
			if c := d.Condition(v1alpha1.ConditionArgoCDReady); d.Status("phase") != "Updating" || !strings.HasPrefix(c.GetMessage(), "Bringing back what was deleted or scaled down") {
				t.Errorf("%s: %s", d.Status("phase"), c.GetMessage())
			}
		})
	}
}

// TestRepairIsBounded: somebody who deletes it again and again has it back three times an hour; the claim says so, and a change of the values is
// a new beginning.
func TestRepairIsBounded(t *testing.T) {
	d := drifts(t, `{}`)
	d.revised(1)
	d.Reconcile()
	begun, revision := 0, 1
	deleted := func() {
		d.SetWorkload("argocd-repo-server", func(w *proxy.Workload) { *w = proxy.Workload{Kind: w.Kind, Name: w.Name, Missing: true} })
	}
	// For an hour, it is deleted again as soon as it is back.
	for end := d.now.Add(50 * time.Minute); d.now.Before(end); d.now = d.now.Add(time.Minute) {
		deleted()
		if !d.repairs() {
			continue
		}
		begun, revision = begun+1, revision+1
		d.upgraded(revision)
	}
	if begun != 3 {
		t.Errorf("it is brought back %d times", begun)
	}
	c := d.Condition(v1alpha1.ConditionArgoCDReady)
	if c.GetReason() != v1alpha1.ReasonRepairGaveUp || !strings.Contains(c.GetMessage(), "Deployment argocd-repo-server does not exist: brought back three times within an hour") || d.Status("phase") != "Degraded" {
		t.Errorf("%s: %v", d.Status("phase"), c)
	}
	gaveUp := 0
	for _, e := range d.Events {
		if strings.HasPrefix(e, v1alpha1.ReasonRepairGaveUp+": ") {
			gaveUp++
		}
	}
	if gaveUp != 1 {
		t.Errorf("%d events say that it isn't brought back: %v", gaveUp, d.Events)
	}
	d.now = d.now.Add(15 * time.Minute)
	if !d.repairs() {
		t.Error("it isn't brought back after an hour")
	}
	d.upgraded(revision + 1)
	deleted()
	if d.now = d.now.Add(2 * time.Minute); d.repairs() {
		// The second of the hour before.
		d.upgraded(revision + 2)
	}
	d.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}}}`)
	d.Reconcile()
	d.upgraded(revision + 3)
	deleted()
	if !d.repairs() {
		t.Errorf("after a change of the values, it isn't brought back: %s", d.Status("message"))
	}
}

// TestRepairThatFails is tried as any change is, and another repair is another change.
func TestRepairThatFails(t *testing.T) {
	d := drifts(t, `{}`)
	d.revised(1)
	d.Reconcile()
	change := func() string {
		return wire.Of(d.Observed(tenant.ArgoCDRelease)).String("metadata", "annotations", "virtualargocd.io/change")
	}
	first := change()
	d.missing(1, "Role argocd-server")
	if !d.repairs() || change() == first {
		t.Errorf("a repair is no change: %s", change())
	}
	if release.StateOf(wire.Composed{Struct: wire.Of(d.Observed(tenant.ArgoCDRelease))}) == release.Deployed {
		t.Error("Helm has already done it: this shows nothing")
	}
}

// TestApplicationsSeen: the status has how many Applications there are, and keeps that while nobody knows.
func TestApplicationsSeen(t *testing.T) {
	d := drifts(t, `{}`)
	if got := crossplanetest.Field(d.XR(), "status").GetFields()["applications"]; got != nil {
		t.Errorf("nothing is known yet: %v", got)
	}
	want := func(total, notHealthy, notSynced int64) {
		t.Helper()
		d.Reconcile()
		is := wire.Of(d.XR()).Get("status", "applications")
		if is.Int(-1, "total") != total || is.Int(-1, "notHealthy") != notHealthy || is.Int(-1, "notSynced") != notSynced {
			t.Errorf("got %v", crossplanetest.Field(d.XR(), "status", "applications"))
		}
	}
	d.SetSummary(nil, &proxy.Applications{Total: 50, NotHealthy: 2, NotSynced: 1})
	want(50, 2, 1)
	d.SetSummary(nil, nil)
	want(50, 2, 1)
	d.SetSummary(nil, &proxy.Applications{})
	want(0, 0, 0)
	d.SetSummary(nil, &proxy.Applications{Total: 1, NotHealthy: 2})
	want(0, 0, 0)
}
