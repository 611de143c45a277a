package policy

import (
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// channelOfClaim refuses another channel than that of the plan.
func channelOfClaim(g tenant.Given) error {
	if own, plans := g.Spec.Channel, g.Plan.Data.Channel; own != "" && plans != "" && own != plans {
		return fmt.Errorf("spec.channel: channel %s is set by plan %s: leave it out, or choose another plan", plans, g.Plan.Name)
	}
	return nil
}

func maintenanceOfClaim(g tenant.Given) error {
	_, err := maintenance.Parse("spec.maintenance", g.Spec.Maintenance)
	return err
}

func planMaintenance(g tenant.Given) error {
	_, err := maintenance.Parse(g.Plan.At("maintenance"), g.Plan.Data.Maintenance)
	return err
}
