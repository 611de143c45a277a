package values

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

func stackOf(t *testing.T, layers []Layer, settings ...Setting) *Stack {
	t.Helper()
	s, err := NewStack(ArgoCD, nil, layers, settings)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReserve(t *testing.T) {
	claim := func(v Values) Layer {
		return Layer{Field: mistakes.Field{Owner: Claim, Path: "spec.argocd.values"}, Values: v}
	}
	input := Layer{Field: mistakes.Field{Owner: Input, Path: "input.charts.argocd.values"}, Values: Values{"a": Values{"b": 1.}}}
	cases := map[string]struct {
		reason string
		layers []Layer
		from   Owner
		rule   Rule
		want   string
	}{
		"Free":          {"Nobody sets the value.", []Layer{claim(Values{"a": Values{"c": 1.}})}, Input, Not("a", "b"), ""},
		"Set":           {"The claim sets it, too.", []Layer{claim(Values{"a": Values{"b": 1.}})}, Input, Not("a", "b"), "spec.argocd.values.a.b is set by x: leave it out"},
		"TakenAway":     {"The claim takes the map away that it stands in.", []Layer{claim(Values{"a": nil})}, Input, Not("a", "b"), "spec.argocd.values.a is set by x"},
		"Below":         {"The claim sets something below it.", []Layer{claim(Values{"a": Values{"b": Values{"c": 1.}}})}, Claim, Not("a", "b"), "spec.argocd.values.a.b is set by x"},
		"Same":          {"The claim sets it to what it has to be; true and \"true\" are the same to a chart.", []Layer{claim(Values{"a": "true"})}, Claim, Be(true, "a"), ""},
		"Other":         {"The claim sets it to something else.", []Layer{claim(Values{"a": "false"})}, Claim, Be(true, "a"), "spec.argocd.values.a is set by x"},
		"Map":           {"Something goes into the claim's map.", []Layer{claim(Values{"a": Values{}})}, Input, In("a"), ""},
		"NoMap":         {"Something would go into what is no map.", []Layer{claim(Values{"a": "b"})}, Input, In("a"), "spec.argocd.values.a is set by x"},
		"PlatformMay":   {"Only claims are held to it.", []Layer{input}, Claim, Not("a", "b"), ""},
		"PlatformsToo":  {"The platform is held to it, too.", []Layer{input}, Input, Not("a", "b"), "input.charts.argocd.values.a.b is set by x"},
		"ClaimIsNamed":  {"Of two mistakes the claim's is told.", []Layer{input, claim(Values{"a": Values{"b": 2.}})}, Input, Not("a", "b"), "spec.argocd.values.a.b"},
		"BuiltInsStand": {"What is built in gives way.", []Layer{{Field: mistakes.Field{Owner: BuiltIn, Path: ""}, Values: Values{"a": 1.}}}, Input, Not("a"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := stackOf(t, tc.layers).Reserve(tc.from, "x", tc.rule)
			if (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("\n%s\nReserve(...): want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestFieldNamesTheOwner(t *testing.T) {
	s := stackOf(t, []Layer{{Field: mistakes.Field{Owner: BuiltIn, Path: ""}, Values: Values{"a": 1., "b": 1., "c": 1.}}, {Field: mistakes.Field{Owner: Input, Path: "input"}, Values: Values{"b": 2.}}, {Field: mistakes.Field{Owner: Plan, Path: "plan"}, Values: Values{"c": 3.}}},
		Setting{Field: mistakes.Field{Owner: Plan, Path: "plan p: spec.d"}, By: "plan p (d)", Path: []string{"d"}, Value: 4.})
	for path, want := range map[string]mistakes.Field{"a": {Owner: BuiltIn, Path: "a, built in"}, "b": {Owner: Input, Path: "input.b"}, "c": {Owner: Plan, Path: "plan.c"}, "d": {Owner: Plan, Path: "plan p: spec.d"}} {
		if field := s.Field(path); field != want {
			t.Errorf("%s: want %v, got %v", path, want, field)
		}
	}
	if got := s.Merged(); got["a"] != 1. || got["b"] != 2. || got["c"] != 3. || got["d"] != 4. {
		t.Errorf("merged: %v", got)
	}
}
