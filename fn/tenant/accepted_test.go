package tenant

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestVersionOfAccepted: an older function reads what is accepted of a tenant that uses
// nothing of channels, and nothing of another.
func TestVersionOfAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Accepted)
		want   string
	}{
		"Nothing":         {func(*Accepted) {}, `{"version":1,`},
		"Channel":         {func(a *Accepted) { a.Spec.Channel = "stable" }, `{"version":2,`},
		"Maintenance":     {func(a *Accepted) { a.Spec.Maintenance = &v1alpha1.MaintenanceSpec{} }, `{"version":2,`},
		"PlanChannel":     {func(a *Accepted) { a.Plan.Data.Channel = "stable" }, `{"version":2,`},
		"PlanMaintenance": {func(a *Accepted) { a.Plan.Data.Maintenance = &v1alpha1.MaintenanceSpec{} }, `{"version":2,`},
		"Offer":           {func(a *Accepted) { a.Offer.Channel = "stable" }, `{"version":2,`},
	} {
		t.Run(name, func(t *testing.T) {
			a := Given{}.Accepted()
			tc.change(&a)
			if got, err := a.JSON(); err != nil || !strings.HasPrefix(string(got), tc.want) {
				t.Errorf("want %s, got %s, %v", tc.want, got, err)
			}
		})
	}
}
