package policy

import (
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// channelOfClaim refuses a channel other than the plan's.
func channelOfClaim(g tenant.Given) error {
	if own, plans := g.Spec.Channel, g.Plan.Spec.Channel; own != "" && plans != "" && own != plans {
		return fmt.Errorf("spec.channel: %.80q is not possible, because plan %s sets channel %s: leave it out, or choose another plan", own, g.Plan.Name, plans)
	}
	return nil
}

func maintenanceOfClaim(g tenant.Given) error {
	_, err := maintenance.Parse("spec.maintenance", g.Spec.Maintenance)
	return err
}

func planMaintenance(g tenant.Given) error {
	_, err := maintenance.Parse(g.Plan.At("maintenance").Path, g.Plan.Spec.Maintenance)
	return err
}
