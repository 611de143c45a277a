package components_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A drifting tenant is one in whose virtual cluster somebody deletes the API server of Argo Workflows.
type drifting struct {
	*crossplanetest.Engine
	now time.Time
}

const server = "argo-workflows-server"

func drifts(t *testing.T, input string) *drifting {
	t.Helper()
	d := &drifting{crossplanetest.New(t, two, input), crossplanetest.Start.Add(time.Hour)}
	d.Install()
	d.Now = func() time.Time { return d.now }
	d.Cycle(1)
	if got := message(d.Engine, "workflows"); d.component().String("state") != "Ready" {
		t.Fatalf("at first: %s", got)
	}
	return d
}

func (d *drifting) component() wire.Struct {
	for _, c := range wire.Of(d.XR()).List("status", "components") {
		if c.String("name") == "workflows" {
			return c
		}
	}
	return wire.Struct{}
}

func deleted(w *proxy.Workload) {
	*w = proxy.Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Missing: true}
}

// repairs reports whether Helm gets other values in the next call, and lets it have deployed them.
func (d *drifting) repairs() bool {
	d.T.Helper()
	values := func() string {
		raw, err := wire.Of(crossplanetest.Field(d.Observed(workflows), "spec", "forProvider", "values")).JSON()
		if err != nil {
			d.T.Fatal(err)
		}
		return string(raw)
	}
	before := values()
	d.Reconcile()
	return values() != before
}

// TestComponentDrifts: a workload of a component that somebody deletes or scales to nothing is brought back, by values that mean the same.
func TestComponentDrifts(t *testing.T) {
	withGlobal := strings.Replace(crossplanetest.Catalogue, `"crds":{"full":false}`, `"global":{"imageRegistry":"registry.example.org"}`, 1)
	for name, tc := range map[string]struct {
		input   string
		change  func(*proxy.Workload)
		repairs bool
		says    string
	}{
		"Deleted":     {crossplanetest.Catalogue, deleted, true, "Deployment argo-workflows-server does not exist"},
		"Stopped":     {crossplanetest.Catalogue, func(w *proxy.Workload) { w.Replicas = 0 }, true, "Deployment argo-workflows-server is scaled to no replicas"},
		"GlobalIsSet": {withGlobal, deleted, true, "Deployment argo-workflows-server does not exist"},
		"Unavailable": {crossplanetest.Catalogue, func(w *proxy.Workload) { w.Available = false }, false, "Deployment argo-workflows-server is not fully available, replicas wanted: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := drifts(t, tc.input)
			d.SetComponentWorkload(server, tc.change)
			if got := d.repairs(); got != tc.repairs {
				t.Errorf("repairs: %t", got)
			}
			if got := message(d.Engine, "workflows"); got != tc.says || d.component().String("state") != "Unavailable" {
				t.Errorf("the claim says %s: %s", d.component().String("state"), got)
			}
			is := wire.Of(d.Observed(workflows))
			if !tc.repairs {
				return
			}
			if got := is.Value("spec", "forProvider", "values", "global", "virtualargocd"); !wire.Equal(got, map[string]any{}) {
				t.Errorf("the values differ in %v", got)
			}
			if tc.input == withGlobal && is.String("spec", "forProvider", "values", "global", "imageRegistry") == "" {
				t.Error("the catalogue's values are gone")
			}
			crossplanetest.Field(d.Observed(workflows), "metadata").Fields["generation"] = structpb.NewNumberValue(2)
			for _, c := range crossplanetest.Field(d.Observed(workflows), "status").GetFields()["conditions"].GetListValue().GetValues() {
				c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(1)
			}
			if d.repairs() {
				t.Error("another repair begins before the first one has been tried")
			}
			if got := message(d.Engine, "workflows"); !strings.HasPrefix(got, "Bringing back what was deleted or scaled down") {
				t.Errorf("meanwhile, the claim says %s", got)
			}
			d.Cycle(2)
			if d.component().String("state") != "Ready" || d.Status("phase") != "Ready" {
				t.Errorf("it is back, and the claim says %s: %s", d.component().String("state"), message(d.Engine, "workflows"))
			}
		})
	}
}

// TestComponentDriftIsBounded: what is deleted again and again is brought back three times an hour; the claim says so, and a change of the values is a
// new beginning.
func TestComponentDriftIsBounded(t *testing.T) {
	d := drifts(t, crossplanetest.Catalogue)
	begun := 0
	for end := d.now.Add(50 * time.Minute); d.now.Before(end); d.now = d.now.Add(time.Minute) {
		d.SetComponentWorkload(server, deleted)
		if d.repairs() {
			begun++
			d.Reconcile()
		}
	}
	c := d.Condition(v1alpha1.ConditionComponentsReady)
	if begun != 3 || c.GetReason() != v1alpha1.ReasonRepairGaveUp || !strings.Contains(c.GetMessage(), "workflows: Deployment argo-workflows-server does not exist: brought back three times within an hour") || d.Status("phase") != "Ready" {
		t.Errorf("it is brought back %d times, and the claim says %v", begun, c)
	}
	d.now = d.now.Add(15 * time.Minute)
	d.SetComponentWorkload(server, deleted)
	if !d.repairs() {
		t.Error("it isn't brought back after an hour")
	}
}

// TestComponentDeletedAgain: one that is deleted right after it was brought back comes back within minutes, too, though the tenant is at rest.
func TestComponentDeletedAgain(t *testing.T) {
	d := drifts(t, crossplanetest.Catalogue)
	d.SetComponentWorkload(server, deleted)
	if !d.repairs() {
		t.Fatal("it isn't brought back")
	}
	d.Cycle(1)
	d.now = d.now.Add(10 * time.Second)
	d.SetComponentWorkload(server, deleted)
	if d.repairs() {
		t.Fatal("another repair begins seconds after the first one")
	}
	if ttl := d.Response.GetMeta().GetTtl().AsDuration(); ttl > time.Minute {
		t.Errorf("the tenant is looked at again in %s", ttl)
	}
	for at := 2; at <= 3; at++ {
		d.now = d.now.Add(time.Minute)
		if !d.repairs() {
			t.Errorf("repair %d doesn't begin", at)
		}
		d.now = d.now.Add(10 * time.Second)
		d.SetComponentWorkload(server, deleted)
		d.Reconcile()
	}
}

// TestComponentStoppedByValues: one whose values ask for no replicas is never ready, and isn't brought back for that.
func TestComponentStoppedByValues(t *testing.T) {
	d := drifts(t, crossplanetest.Catalogue)
	d.SetSpec(strings.Replace(two, `"values":{`, `"values":{"server":{"replicas":0},`, 1))
	stop := func(w *proxy.Workload) { w.Replicas = 0 }
	d.Reconcile()
	for range 5 {
		d.RunProviders()
		d.SetComponentWorkload(server, stop)
		d.now = d.now.Add(2 * time.Minute)
		if d.repairs() {
			t.Fatal("it is scaled up by an upgrade that changes nothing")
		}
	}
	if got := message(d.Engine, "workflows"); got != "Waiting: Deployment argo-workflows-server is scaled to no replicas" {
		t.Errorf("the claim says %s", got)
	}
}
