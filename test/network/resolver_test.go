package network

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
)

// TestPoliciesOfResolver asks of connections whether examples/install/dns.yaml and the tenant's
// own policies let them through.
func TestPoliciesOfResolver(t *testing.T) {
	const own = "virtual-argocd-dns"
	var (
		resolver = networktest.Pod(own, "app.kubernetes.io/name", "virtual-argocd-dns").At("10.244.0.50")
		dns      = inTenant("vcluster.loft.sh/managed-by", "vcluster", "k8s-app", "vcluster-kube-dns")
		other    = inTenant("vcluster.loft.sh/managed-by", "vcluster", "app", "shop")
		control  = inTenant("app", "vcluster", "release", "vcluster")
		kubeDNS  = networktest.Pod("kube-system", "k8s-app", "kube-dns").At("10.244.0.40")
		// Somebody's own virtual cluster, which is none of ours.
		foreign = networktest.Pod("team-a", "vcluster.loft.sh/managed-by", "vcluster", "k8s-app", "vcluster-kube-dns").At("10.244.0.30")
		api     = networktest.Address(hostAPI)
	)
	cases := map[string]struct {
		from, to networktest.Party
		port     int
		want     bool
	}{
		"TenantsDNS":         {from: dns, to: resolver, port: 1053, want: true},
		"TenantsDNSMetrics":  {from: dns, to: resolver, port: 9153},
		"TenantsDNSToHosts":  {from: dns, to: kubeDNS, port: 53},
		"TenantsPod":         {from: other, to: resolver, port: 1053},
		"TenantsControl":     {from: control, to: resolver, port: 1053},
		"ForeignDNS":         {from: foreign, to: resolver, port: 1053},
		"ResolverToUpstream": {from: resolver, to: networktest.Address("169.254.169.253"), port: 53, want: true},
		"ResolverToHostAPI":  {from: resolver, to: api, port: 6443},
		"ResolverToInternet": {from: resolver, to: networktest.Address("140.82.121.4"), port: 443},
		"ResolverToTenant":   {from: resolver, to: other, port: 8080},
	}
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "dns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs := slices.DeleteFunc(strings.Split(string(data), "\n---\n"), func(doc string) bool { return !strings.Contains(doc, "\nkind: NetworkPolicy\n") })
	policies := append(parse(t, strings.Join(docs, "\n---\n"), own), policiesOfTenant(t)...)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := networktest.Allows(policies, tc.from, tc.to, tc.port); got != tc.want {
				t.Errorf("from %v to %v, port %d: want %v, got %v", tc.from, tc.to, tc.port, tc.want, got)
			}
		})
	}
}
