package spare

import (
	"fmt"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// TestCreated: a tenant that was a spare is as old as who took it, and no claim makes itself younger.
func TestCreated(t *testing.T) {
	const old, young = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"
	for name, tc := range map[string]struct{ reason, apiVersion, claimed, want string }{
		"Spare":     {"It is taken.", "m.virtualargocd.io/v1alpha1", young, young},
		"Installed": {"It never was a spare.", "m.virtualargocd.io/v1alpha1", "", old},
		"Claim":     {"Its author wrote the annotation.", "virtualargocd.io/v1alpha1", young, old},
		"Nobody":    {"It is nobody's.", "", young, old},
		"Malformed": {"It isn't a time.", "m.virtualargocd.io/v1alpha1", "tomorrow", old},
	} {
		xr := wire.Of(resource.MustStructJSON(`{"metadata":{"creationTimestamp":"` + old + `","annotations":{"virtualargocd.io/claimed-at":"` + tc.claimed + `"}},"spec":{"claimRef":{"apiVersion":"` + tc.apiVersion + `"}}}`))
		if got := Created(xr).Format(time.RFC3339); got != tc.want {
			t.Errorf("%s: %s: want %s, got %s", name, tc.reason, tc.want, got)
		}
	}
}

// TestChoose: those that run come before those that sleep, and many who choose at once choose all of them about equally.
func TestChoose(t *testing.T) {
	p := plan.Plan{Name: "small"}
	spare := func(name, phase string) wire.Struct {
		return wire.Of(resource.MustStructJSON(`{"metadata":{"name":"` + name + `","labels":{"virtualargocd.io/spare":"true","virtualargocd.io/pool-plan":"small","virtualargocd.io/pool-plan-digest":"` + Digest(p) + `"}},
			"status":{"phase":"` + phase + `","conditions":[{"type":"Ready","status":"True"},{"type":"SpecAccepted","status":"True"}]}}`))
	}
	all := []wire.Struct{spare("a", "Hibernated"), spare("b", "Ready"), spare("c", "Ready"), spare("d", "Ready"), spare("e", "Updating")}
	got := map[string]int{}
	for i := range 3000 {
		got[Choose(fmt.Sprint("uid-", i), all, p)]++
	}
	for _, name := range []string{"b", "c", "d"} {
		if got[name] < 800 {
			t.Errorf("of 3000, %d choose %s: %v", got[name], name, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("they choose %v", got)
	}
	if got := Choose("uid", all[:1], p); got != "a" {
		t.Errorf("with only one that sleeps, it chooses %q", got)
	}
	if got := Choose("uid", all, plan.Plan{Name: "small", Spec: apiv1alpha1.PlanSpec{LoadBalancers: 1}}); got != "" {
		t.Errorf("with a plan that has changed, it chooses %q", got)
	}
}
