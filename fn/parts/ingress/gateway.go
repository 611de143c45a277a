package ingress

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const gatewayGroup = "gateway.networking.k8s.io"

// An Object of examples/install/gateway.yaml observes a Gateway, and has its namespace and name at the end of its own name. The function
// doesn't ask for the Gateway itself: where the host has no Gateway API, Crossplane would fail with everything of the tenant.
const (
	gatewayObject     = "virtual-argocd-gateway."
	gatewayAPIVersion = "kubernetes.crossplane.io/v1alpha2"
	gatewayKind       = "Object"

	requirementGateway = "gateway"
)

// RequireGateway asks Crossplane for what is observed of a tenant's Gateway; nil for none.
func RequireGateway(s wire.Selectors, g *tenant.Gateway) {
	if g != nil {
		s.Named(requirementGateway, gatewayAPIVersion, gatewayKind, "", gatewayObject+g.Namespace+"."+g.Name)
	}
}

// findGateway returns the Gateway that Crossplane has found; an empty one for none.
func findGateway(req *fnv1.RunFunctionRequest) tenant.HostGateway {
	found, _ := wire.Required(req, requirementGateway, gatewayAPIVersion, gatewayKind)
	for _, o := range found {
		is := o.Get("status", "atProvider", "manifest")
		g := tenant.HostGateway{Namespace: is.String("metadata", "namespace"), Name: is.String("metadata", "name")}
		if is.String("kind") != "Gateway" || o.String("metadata", "name") != gatewayObject+g.Namespace+"."+g.Name {
			continue
		}
		for _, at := range is.List("status", "addresses") {
			g.Addresses = append(g.Addresses, at.String("value"))
		}
		g.Addresses = slices.DeleteFunc(g.Addresses, func(address string) bool {
			_, err := netip.ParseAddr(address)
			return err != nil && len(validation.IsDNS1123Subdomain(address)) > 0
		})
		return g
	}
	return tenant.HostGateway{}
}

// gatewayOf returns the Gateway that serves the tenant; nil for none.
func gatewayOf(g tenant.Given) *tenant.Gateway {
	of := g.Platform.Ingress.Gateway
	if of == nil {
		return nil
	}
	is := &tenant.Gateway{Namespace: of.Namespace, Name: of.Name, SectionName: of.SectionName, KeepsIngress: of.KeepIngress}
	if seen := g.Hostnames.Gateway; seen.Namespace == of.Namespace && seen.Name == of.Name {
		is.Seen, is.Addresses = true, seen.Addresses
	}
	return is
}

// checkNoIngress refuses what a claim writes of an Ingress, which has no effect with a Gateway. What was accepted before is returned.
func checkNoIngress(g tenant.Given, spec v1alpha1.IngressSpec) ([]string, error) {
	if g.Unassigned {
		return nil, nil
	}
	var noEffect []string
	var found []error
	refuse := func(before bool, field, instead string) {
		if before {
			noEffect = append(noEffect, field)
			return
		}
		found = append(found, fmt.Errorf("%s: has no effect, because a Gateway of this platform serves claims, and not an Ingress: %s", field, instead))
	}
	const leave = "leave it out"
	was := wasAccepted(g)
	if spec.ClassName != "" {
		refuse(was.ClassName == spec.ClassName, ofIngress+".className", leave)
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Annotations)) {
		refuse(sameAnnotation(g, key, string(spec.Annotations[key])), fmt.Sprintf("%s.annotations[%s]", ofIngress, key), leave)
	}
	if tls := spec.TLS; tls != nil {
		const platforms = "leave it out; TLS ends at the Gateway, whose certificates are the platform's"
		if tls.SecretName != "" {
			refuse(was.TLS != nil && was.TLS.SecretName == tls.SecretName, ofIngress+".tls.secretName", platforms)
		}
		if tls.Issuer != nil {
			refuse(was.TLS != nil && was.TLS.Issuer != nil && *was.TLS.Issuer == *tls.Issuer, ofIngress+".tls.issuer", platforms)
		}
	}
	for _, path := range [][]string{{"server", "ingressGrpc"}, {"applicationSet", "ingress"}} {
		if values.Enabled(g.Spec.ArgoCDValues, false, append(path, "enabled")...) {
			refuse(g.KeepsValues(path...), "spec.argocd.values."+strings.Join(path, "."), leave)
		}
	}
	for n, o := range values.At[[]any](g.Spec.ArgoCDValues, credentials.ExtraObjects) {
		if object, _ := o.(values.Values); values.At[string](object, "kind") == "Ingress" {
			refuse(g.KeepsValues(credentials.ExtraObjects), fmt.Sprintf("spec.argocd.values.%s[%d]", credentials.ExtraObjects, n), leave)
		}
	}
	return noEffect, mistakes.Join(found...)
}
