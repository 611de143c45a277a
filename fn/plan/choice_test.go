package plan_test

import (
	gocmp "cmp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestWhichPlan: the one of the claim, the platform's default, the one named
// standard, or none.
func TestWhichPlan(t *testing.T) {
	const small, huge = `{"quota":{"limits.cpu":"20"}}`, `{"quota":{"limits.cpu":"99"}}`
	cases := map[string]struct {
		spec    string
		install func(e *crossplanetest.Engine)
		plan    string
		quota   string
		refused []string
	}{
		"None":          {spec: `{}`, plan: "standard", quota: "80"},
		"BuiltInByName": {spec: `{"plan":"standard"}`, plan: "standard", quota: "80"},
		"NoneIsDefault": {`{}`, func(e *crossplanetest.Engine) { e.AddPlan("small", small) }, "standard", "80", nil},
		"NamedStandard": {`{}`, func(e *crossplanetest.Engine) { e.AddPlan("standard", small) }, "standard", "20", nil},
		"Default": {`{}`, func(e *crossplanetest.Engine) {
			e.AddPlan("small", small, "default-plan=true")
			e.AddPlan("standard", huge)
		}, "small", "20", nil},
		"DefaultIsFalse": {`{}`, func(e *crossplanetest.Engine) { e.AddPlan("small", small, "default-plan=false") }, "standard", "80", nil},
		"Named": {`{"plan":"huge"}`, func(e *crossplanetest.Engine) {
			e.AddPlan("small", small, "default-plan=true")
			e.AddPlan("huge", huge)
		}, "huge", "99", nil},
		"NoData":        {`{"plan":"empty"}`, func(e *crossplanetest.Engine) { e.AddPlan("empty", `null`) }, "empty", "80", nil},
		"Unknown":       {`{"plan":"hug"}`, func(e *crossplanetest.Engine) { e.AddPlan("small", small); e.AddPlan("huge", huge) }, "", "", []string{`spec.plan: "hug" is unknown: write one of huge, small, standard`}},
		"UnknownOfNone": {spec: `{"plan":"hug"}`, refused: []string{"write one of standard"}},
		"TwoDefaults": {`{}`, func(e *crossplanetest.Engine) {
			e.AddPlan("small", small, "default-plan=true")
			e.AddPlan("huge", huge, "default-plan=true")
		}, "", "", []string{"huge and small", "virtualargocd.io/default-plan"}},
		"TwoDefaultsNamed": {`{"plan":"huge"}`, func(e *crossplanetest.Engine) {
			e.AddPlan("small", small, "default-plan=true")
			e.AddPlan("huge", huge, "default-plan=true")
		}, "huge", "99", nil},
		"NotAName": {spec: `{"plan":"a/b"}`, refused: []string{"spec.plan", "a/b"}},
		"NotText":  {spec: `{"plan":1}`, refused: []string{"spec.plan", "text"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			if tc.install != nil {
				tc.install(e)
			}
			if len(tc.refused) > 0 {
				msg := crossplanetest.Refusal(e.Reconcile())
				for _, want := range tc.refused {
					if !strings.Contains(msg, want) {
						t.Errorf("error should say %q: %q", want, msg)
					}
				}
				return
			}
			e.Install()
			if got := []any{e.Status("plan"), quotaOf(e, "limits.cpu")}; !cmp.Equal(got, []any{tc.plan, tc.quota}) {
				t.Errorf("plan and its quota: want %s, %s, got %v", tc.plan, tc.quota, got)
			}
		})
	}
}

// TestPlanIsGone: a tenant whose plan was deleted keeps what it has, also if there is a built-in plan of that name.
func TestPlanIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, plan string
		labels     []string
	}{
		"Standard": {`{}`, "standard", nil},
		"ByName":   {`{"plan":"standard"}`, "standard", nil},
		"Default":  {`{}`, "small", []string{"default-plan=true"}},
		"Named":    {`{"plan":"small"}`, "small", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			e.AddPlan(tc.plan, `{"quota":{"limits.cpu":"20"}}`, tc.labels...)
			e.Install()
			delete(e.Cluster, "XArgoCDPlan//"+tc.plan)
			e.Cycle(3)
			if is := wire.Of(e.XR()).Condition(v1alpha1.ConditionSpecAccepted); is.Reason != v1alpha1.ReasonInvalidPlan || !strings.HasPrefix(is.Message, "plan "+tc.plan+": this XArgoCDPlan doesn't exist any more: create it") {
				t.Errorf("got %s, %s", is.Reason, is.Message)
			}
			if got := []any{e.Status("plan"), quotaOf(e, "limits.cpu"), e.Status("phase")}; !cmp.Equal(got, []any{tc.plan, "20", "Ready"}) {
				t.Errorf("got %v", got)
			}
			// The claim may ask for another plan, and so for the built-in one.
			e.SetSpec(`{"plan":"standard","deletionProtection":true}`)
			if tc.spec == `{"plan":"standard"}` {
				e.SetSpec(`{}`)
			}
			e.Cycle(3)
			if got := []any{e.Status("plan"), quotaOf(e, "limits.cpu")}; !cmp.Equal(got, []any{"standard", "80"}) {
				t.Errorf("with another plan in the claim, got %v", got)
			}
		})
	}
}

// TestPlansAreGiven: a claim has the plans that are for its namespace, and learns of
// no other.
func TestPlansAreGiven(t *testing.T) {
	const large = `{"namespaces":["premium-*","team-x"],"quota":{"limits.cpu":"99"}}`
	cases := map[string]struct {
		spec, namespace string
		// data of the plan large, which is the default one where labels say so.
		data   string
		labels []string
		plan   string
		want   string
	}{
		"Name":           {spec: `{"plan":"large"}`, namespace: "team-x", plan: "large"},
		"Pattern":        {spec: `{"plan":"large"}`, namespace: "premium-a", plan: "large"},
		"PatternIsWhole": {spec: `{"plan":"large"}`, namespace: "my-premium-a", want: `spec.plan: "large" is not for claims of namespace my-premium-a: write one of small, standard`},
		"NameIsWhole":    {spec: `{"plan":"large"}`, namespace: "team-xy", want: `spec.plan: "large" is not for claims of namespace team-xy: write one of small, standard`},
		"Star":           {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["*"]}`, plan: "large"},
		"StarsWithin":    {spec: `{"plan":"large"}`, namespace: "a-team-b", data: `{"namespaces":["a*-*b"]}`, plan: "large"},
		"Empty":          {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":[]}`, plan: "large"},
		"NoClaim":        {spec: `{"plan":"large"}`, plan: "large"},
		// Who may have a plan is told of it, among others, and nobody else is.
		"UnknownToOthers": {spec: `{"plan":"larg"}`, namespace: "any", want: `spec.plan: "larg" is unknown: write one of small, standard`},
		"UnknownToIts":    {spec: `{"plan":"larg"}`, namespace: "team-x", want: `spec.plan: "larg" is unknown: write one of large, small, standard`},
		"UnknownNoClaim":  {spec: `{"plan":"larg"}`, want: `spec.plan: "larg" is unknown: write one of large, small, standard, zone`},
		// Nor of the mistakes in it.
		"MistakeOfAnothers": {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["team-x"],"quota":{"limits.cpu":"many"}}`, want: `spec.plan: "large" is not for claims of namespace any: write one of small, standard`},
		// The default plan.
		"DefaultOfIts":       {spec: `{}`, namespace: "team-x", labels: []string{"default-plan=true"}, plan: "large"},
		"DefaultOfOthers":    {spec: `{}`, namespace: "any", labels: []string{"default-plan=true"}, want: `spec.plan: is missing, and the platform's default plan is not for claims of namespace any: write one of small, standard`},
		"NotTheDefault":      {spec: `{}`, namespace: "any", plan: "standard"},
		"NamedInPlaceOfIt":   {spec: `{"plan":"small"}`, namespace: "any", labels: []string{"default-plan=true"}, plan: "small"},
		"PlatformsMistake":   {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["premium_*"]}`, want: `plan large: spec.namespaces[0]: "premium_*" is neither a namespace nor a pattern: write one such as team-a or premium-*`},
		"MistakeOfTheOthers": {spec: `{"plan":"larg"}`, namespace: "any", data: `{"namespaces":"*"}`, want: `spec.plan: "larg" is unknown: write one of small, standard`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, "")
			e.SetClaimNamespace(tc.namespace)
			e.AddPlan("large", gocmp.Or(tc.data, large), tc.labels...)
			e.AddPlan("small", `{}`)
			e.AddPlan("zone", `{"namespaces":["nobodys"]}`)
			if tc.want != "" {
				if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, tc.want) || strings.Contains(msg, "nobodys") {
					t.Errorf("want %q, got %q", tc.want, msg)
				}
				return
			}
			if e.Install(); e.Status("plan") != tc.plan {
				t.Errorf("want plan %s, got %s", tc.plan, e.Status("plan"))
			}
		})
	}
	// Where the platform has a plan standard of its own, and for others, there may be none.
	e := crossplanetest.New(t, `{}`, "")
	e.AddPlan("standard", large)
	for spec, want := range map[string]string{
		`{}`:                  "spec.plan: is missing, and the platform's default plan is not for claims of namespace team-a: there is no plan for claims of namespace team-a: ask whoever runs the platform for one",
		`{"plan":"standard"}`: `spec.plan: "standard" is not for claims of namespace team-a: there is no plan`,
		`{"plan":"other"}`:    `spec.plan: "other" is unknown: there is no plan`,
	} {
		e.SetSpec(spec)
		if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, want) {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestTenantKeepsItsPlan: one that has a plan keeps it, whoever the plan is for now;
// once it has left it, it can't go back.
func TestTenantKeepsItsPlan(t *testing.T) {
	for _, spec := range []string{`{"plan":"large"}`, `{}`} {
		e := crossplanetest.New(t, spec, "")
		e.AddPlan("large", `{"quota":{"limits.cpu":"90"}}`, "default-plan=true")
		e.AddPlan("small", `{}`)
		e.Install()
		e.AddPlan("large", `{"namespaces":["others"],"quota":{"limits.cpu":"99"}}`, "default-plan=true")
		e.Cycle(2)
		if got := quotaOf(e, "limits.cpu"); got != "99" || e.Status("plan") != "large" || e.Status("phase") != "Ready" {
			t.Errorf("%s: %s with plan %s and a quota of %v: %s", spec, e.Status("phase"), e.Status("plan"), got, crossplanetest.Refusal(e.Response))
		}
		e.SetSpec(`{"plan":"larg"}`)
		if msg := crossplanetest.Refusal(e.Reconcile()); msg != `spec.plan: "larg" is unknown: write one of large, small, standard` {
			t.Errorf("what it may write: %q", msg)
		}
		e.SetSpec(`{"plan":"small"}`)
		e.Cycle(2)
		e.SetSpec(spec)
		if msg := crossplanetest.Refusal(e.Reconcile()); !strings.Contains(msg, "is not for claims of namespace team-a: write one of small, standard") {
			t.Errorf("%s: it has left the plan, and goes back: %q", spec, msg)
		}
	}
}

// TestDefaultPlanMoves: a claim that names no plan gets the sizes of the new default,
// and keeps the store that it was made with.
func TestDefaultPlanMoves(t *testing.T) {
	for name, data := range map[string]string{
		"Etcd":    `{"vcluster":{"backingStore":"etcd"},"quota":{"limits.cpu":"99"}}`,
		"Etcd3":   `{"vcluster":{"backingStore":"etcd","replicas":3},"quota":{"limits.cpu":"99"}}`,
		"Volume":  `{"vcluster":{"storage":{"size":"5Gi"}},"quota":{"limits.cpu":"99"}}`,
		"Storage": `{"vcluster":{"storage":{"storageClass":"fast"}},"quota":{"limits.cpu":"99"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "")
			e.AddPlan("standard", `{}`, "default-plan=true")
			e.Install()
			store := func() map[string]any {
				return crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane").AsMap()
			}
			before := store()
			e.AddPlan("standard", `{}`)
			e.AddPlan("large", data, "default-plan=true")
			for range 2 {
				if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
					t.Fatal(msg)
				}
				e.RunProviders()
			}
			if diff := cmp.Diff(before, store()); diff != "" {
				t.Errorf("the control plane: -want, +got:\n%s", diff)
			}
			if got := quotaOf(e, "limits.cpu"); got != "99" || e.Status("plan") != "large" {
				t.Errorf("plan %s with a quota of %v", e.Status("plan"), got)
			}
			// A claim that names the one it was made with, and then another.
			e.SetSpec(`{"plan":"standard"}`)
			if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
				t.Error(msg)
			}
			e.SetSpec(`{"plan":"large"}`)
			if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, "spec.plan: large has ") {
				t.Errorf("the claim names it: %q", msg)
			}
		})
	}
}
