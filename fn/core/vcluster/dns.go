package vcluster

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// PathOfCorefile is where the chart has the configuration of the virtual cluster's DNS.
var PathOfCorefile = []string{"controlPlane", "coredns", "overwriteConfig"}

// corefile is vcluster's own (pkg/coredns/template.go), with another resolver for all names that
// aren't the virtual cluster's. The original forwards to the node's resolvers, which
// NetworkPolicies refuse, or which are the host's own DNS.
//
//go:embed Corefile
var corefile string

var pathOfDomain = []string{"networking", "advanced", "clusterDomain"}

// SetDNS decides whom the virtual cluster's DNS asks for names outside the virtual cluster. A
// tenant keeps a resolver that it has been given, even if that can't be found any more: to go
// back to the host's DNS would restart the virtual API, and show the tenant names of others.
func SetDNS(d *tenant.Decision, g tenant.Given, platforms *values.Stack) {
	d.KeepsHostDNS = g.Running.Installed && g.Running.Corefile == ""
	if own, ok := platforms.Last(PathOfCorefile...).Value.(string); ok && own != "" {
		d.Corefile = own
		return
	}
	address := cmp.Or(g.Platform.Network.Resolver().Address, g.HostResolver.Address)
	if address == "" {
		d.Corefile = g.Running.Corefile
		return
	}
	const usual = "cluster.local"
	domains := usual
	if own, ok := platforms.Last(pathOfDomain...).Value.(string); ok && own != "" && own != usual {
		domains = own + " " + usual
	}
	d.Corefile = strings.NewReplacer("DOMAINS", domains, "RESOLVER", address).Replace(corefile)
}
