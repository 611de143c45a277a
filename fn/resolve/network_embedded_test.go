package resolve

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
)

// TestNoWayAroundIPv4Blocks: what the policies of a tenant exclude of the IPv4 addresses can't be reached by an IPv6 address that stands for
// it, either.
func TestNoWayAroundIPv4Blocks(t *testing.T) {
	var (
		control = networktest.Pod("vargo-a", "app", "vcluster", "release", "vcluster")
		// Metadata services of clouds.
		metadata = []string{"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"}
		private  = []string{"10.96.0.1", "10.244.0.1", "100.64.0.1", "127.0.0.1", "172.31.0.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"}
	)
	policies := policiesOf(t, tenant.Given{XRName: "a"})
	for name, tc := range map[string]struct {
		from      networktest.Party
		addresses []string
	}{
		"TenantToMetadata":  {tenantPod(), metadata},
		"TenantToPrivate":   {tenantPod(), private},
		"ControlToMetadata": {control, metadata},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range tc.addresses {
				if networktest.Allows(policies, tc.from, networktest.Address(address), 443) {
					t.Errorf("%s is allowed", address)
				}
				for how, embedded := range networktest.Embedded(address) {
					if networktest.Allows(policies, tc.from, networktest.Address(embedded), 443) {
						t.Errorf("%s is allowed as %s: %s", address, embedded, how)
					}
				}
			}
		})
	}
}
