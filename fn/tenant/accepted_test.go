package tenant

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestVersionOfAccepted: an older function reads what is accepted of a tenant that uses
// nothing of channels, and nothing of another.
func TestVersionOfAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Accepted)
		want   string
	}{
		"Nothing":         {func(*Accepted) {}, `{"version":1,`},
		"Channel":         {func(a *Accepted) { a.Spec.Channel = "stable" }, `{"version":3,`},
		"Maintenance":     {func(a *Accepted) { a.Spec.Maintenance = &v1alpha1.MaintenanceSpec{} }, `{"version":3,`},
		"PlanChannel":     {func(a *Accepted) { a.Plan.Spec.Channel = "stable" }, `{"version":3,`},
		"PlanMaintenance": {func(a *Accepted) { a.Plan.Spec.Maintenance = &v1alpha1.MaintenanceSpec{} }, `{"version":3,`},
		"OtherVersions":   {func(a *Accepted) { a.Offered.Defaults.ArgoCDChart = "1.0.0" }, `{"version":3,`},
		"Offer":           {func(a *Accepted) { a.Offered.Channel = "stable" }, `{"version":3,`},
	} {
		t.Run(name, func(t *testing.T) {
			a := Given{Offered: Offered{Defaults: DefaultsOf(inputv1alpha1.Input{})}}.AsAsked()
			tc.change(&a)
			if got, err := a.JSON(); err != nil || !strings.HasPrefix(string(got), tc.want) {
				t.Errorf("want %s, got %s, %v", tc.want, got, err)
			}
		})
	}
}

// TestTooLarge: what is too large is named, with whose it is.
func TestTooLarge(t *testing.T) {
	text := func(size int) *runtime.RawExtension {
		return &runtime.RawExtension{Raw: []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)}
	}
	some, long := values.Values{"a": strings.Repeat("x", 500_000)}, text(600_000)
	planned := plan.Plan{Name: "small", Spec: v1alpha1.PlanSpec{Values: v1alpha1.PlanValues{ArgoCD: long}}}
	given := inputv1alpha1.Input{Charts: inputv1alpha1.Charts{ArgoCD: inputv1alpha1.Chart{Values: long}}}
	offered := Offered{Channel: "stable", ChannelOffer: v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{Values: long}}}
	for name, tc := range map[string]struct {
		accepted Accepted
		want     string
	}{
		"Claim":   {Accepted{Spec: Ask{ArgoCDValues: values.Values{"a": strings.Repeat("x", 700_000)}}, Plan: planned}, "spec: takes 7"},
		"Plan":    {Accepted{Spec: Ask{ArgoCDValues: some}, Plan: planned}, "plan small: spec: takes 6"},
		"Input":   {Accepted{Spec: Ask{ArgoCDValues: some}, Input: given}, "input: takes 6"},
		"Channel": {Accepted{Spec: Ask{ArgoCDValues: some}, Offered: offered}, "channel stable: spec.offer: takes 6"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.accepted.JSON(); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}
