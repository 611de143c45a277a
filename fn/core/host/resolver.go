package host

import (
	"net/netip"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// The Object of examples/install/providerconfigs.yaml that observes the Service of the DNS
// resolver for tenants. The function doesn't ask for the Service itself, because Crossplane would
// then cache all Services of the host. It caches Objects anyway.
const (
	resolverObject     = "virtual-argocd-dns"
	resolverAPIVersion = "kubernetes.crossplane.io/v1alpha2"
	resolverKind       = "Object"

	requirementResolver = "host-resolver"
)

// RequireResolver asks Crossplane for the DNS resolver for tenants.
func RequireResolver(s wire.Selectors) {
	s.Named(requirementResolver, resolverAPIVersion, resolverKind, "", resolverObject)
}

// FindResolver returns the DNS resolver for tenants. Its address may be an old one while the
// provider can't observe the Service, which is no reason to do without.
func FindResolver(req *fnv1.RunFunctionRequest) tenant.HostResolver {
	found, read := wire.Required(req, requirementResolver, resolverAPIVersion, resolverKind)
	is := tenant.HostResolver{Read: read}
	for _, o := range found {
		if o.String("metadata", "name") != resolverObject {
			continue
		}
		// A headless Service has the address None.
		if address, err := netip.ParseAddr(o.String("status", "atProvider", "manifest", "spec", "clusterIP")); err == nil {
			is.Address = address.String()
		}
	}
	return is
}

// SetProblem decides whether the host has what keeps tenants apart: admission policies, and a DNS
// resolver for tenants.
func SetProblem(d *tenant.Decision, g tenant.Given) {
	if d.HostProblem = Problem(g.HostPolicies); d.HostProblem != "" {
		d.HostReason = v1alpha1.ReasonPoliciesMissing
		return
	}
	if d.HostProblem = resolverProblem(g.HostResolver, g.Platform.Network); d.HostProblem != "" {
		d.HostReason = v1alpha1.ReasonResolverMissing
	}
}

func resolverProblem(is tenant.HostResolver, network inputv1alpha1.Network) string {
	switch {
	case is.Address != "" || network.Resolver().Address != "" || network.Disabled:
		return ""
	case !is.Read:
		return "The DNS resolver for tenants has not been looked for yet"
	}
	return "The host has no DNS resolver for tenants: Object " + resolverObject + " doesn't exist, or has no address in status.atProvider.manifest.spec.clusterIP. " +
		"No new tenant comes up without it: apply dns.yaml and providerconfigs.yaml of this release, or set network.dns.address in the input: " +
		"see " + pages.Of(v1alpha1.ReasonResolverMissing)
}
