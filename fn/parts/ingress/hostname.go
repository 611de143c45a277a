package ingress

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// askedHostname returns the hostname that the claim asks for, or that the platform's domain
// gives it; "" for none.
func askedHostname(r tenant.Given) (string, error) {
	if err := checkPatterns(r); err != nil {
		return "", err
	}
	asked, domain := "", r.Platform.Ingress.Domain
	if r.Spec.Ingress != nil {
		asked = r.Spec.Ingress.Host
	}
	switch {
	case asked != "":
	case domain != "":
		// A claim that makes an Ingress of its own by values gets no second one.
		if _, own := values.Lookup(r.Spec.ArgoCDValues, "server", "ingress"); own && r.Spec.Ingress == nil {
			return "", nil
		}
		if err := policy.CheckDomain("input.ingress.domain", domain); err != nil {
			return "", err
		}
		name := r.XRName
		if r.Claim.Name != "" {
			name = r.Claim.Name + "-" + r.Claim.Namespace
		}
		asked = tenant.BoundedLabel(name, validation.DNS1123LabelMaxLength) + "." + domain
	case r.Spec.Ingress != nil:
		return "", fmt.Errorf("%s.host: is missing, and the platform has no domain for it: write a host name, such as argocd.example.org", ofIngress)
	default:
		return "", nil
	}
	if !policy.IsHostname(asked) {
		return "", fmt.Errorf("%s.host: %q is not a host name: write one in lower case, such as argocd.acme.example.org", ofIngress, asked)
	}
	if of, below := strings.CutPrefix(asked, grpcPrefix); below {
		return "", fmt.Errorf("%s.host: %q is not possible: the name is kept for gRPC of the claim that has %s; write one that doesn't begin with %s", ofIngress, asked, of, grpcPrefix)
	}
	return asked, checkAllowed(r)
}

// checkPatterns refuses what no host can be, where the platform says which hostnames claims
// may name.
func checkPatterns(r tenant.Given) error {
	for i, pattern := range r.Platform.Ingress.Hosts {
		if !policy.IsHostname(strings.TrimPrefix(pattern, "*.")) {
			field := fmt.Sprintf("input.ingress.hosts[%d]", i)
			if len(r.Plan.Data.Ingress.Hosts) > 0 {
				field = r.Plan.At(fmt.Sprintf("ingress.hosts[%d]", i))
			}
			return fmt.Errorf("%s: %q is not a host name: write one in lower case, such as argocd.acme.example.org, or *.example.org for those right below a domain", field, pattern)
		}
	}
	return nil
}

// checkAllowed refuses a hostname of the claim's that the platform lets none name.
func checkAllowed(r tenant.Given) error {
	allowed := r.Platform.Ingress.Hosts
	if r.Spec.Ingress == nil || r.Spec.Ingress.Host == "" || len(allowed) == 0 {
		return nil
	}
	_, domain, _ := strings.Cut(r.Spec.Ingress.Host, ".")
	if slices.Contains(allowed, r.Spec.Ingress.Host) || slices.Contains(allowed, "*."+domain) {
		return nil
	}
	return fmt.Errorf("%s.host: %q is not one that this platform lets claims have: write one of %s", ofIngress, r.Spec.Ingress.Host, strings.Join(allowed, ", "))
}
