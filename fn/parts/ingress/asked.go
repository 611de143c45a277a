package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// askedHostnames returns the hostnames that the claim asks for, the one of the URL first. Where the
// claim names none, that is the one that the platform's domain gives it.
func askedHostnames(g tenant.Given, known tenant.Hostnames) ([]string, error) {
	if err := checkPatterns(g); err != nil {
		return nil, err
	}
	byDomain, err := hostnameOfDomain(g, known)
	if err != nil {
		return nil, err
	}
	spec := ptr.Deref(g.Spec.Ingress, v1alpha1.IngressSpec{})
	first := spec.Host
	switch {
	case first != "":
	case byDomain != "":
		// A claim may switch the Ingress off.
		if _, own := values.Lookup(g.Spec.ArgoCDValues, "server", "ingress"); own && g.Spec.Ingress == nil {
			return nil, nil
		}
		first = byDomain
	case g.Spec.Ingress != nil && !g.Unassigned:
		return nil, fmt.Errorf("%s.host: is missing, and the platform has no domain for it: write a hostname, such as argocd.example.org", ofIngress)
	default:
		return nil, nil
	}
	var found []error
	asked := append([]string{first}, spec.AdditionalHosts...)
	for n, hostname := range asked {
		at := fieldOf(n)
		if before := slices.Index(asked, hostname); before < n {
			found = append(found, fmt.Errorf("%s: %q is the hostname in %s, too: leave it out", at, hostname, fieldOf(before)))
		} else {
			found = append(found, checkHostname(g, known, at, hostname, byDomain))
		}
	}
	return asked, mistakes.Join(found...)
}

// fieldOf returns the field of the hostname in that place of those that are asked for.
func fieldOf(n int) string {
	if n == 0 {
		return ofIngress + ".host"
	}
	return fmt.Sprintf("%s.additionalHosts[%d]", ofIngress, n-1)
}

// checkHostname refuses what is no hostname, or none that the claim may have. byDomain is the one
// that the platform's domain gives it.
func checkHostname(g tenant.Given, known tenant.Hostnames, field, hostname, byDomain string) error {
	if !policy.IsHostname(hostname) {
		return fmt.Errorf("%s: %q is not a hostname: write one in lower case, such as argocd.acme.example.org", field, hostname)
	}
	if of, below := strings.CutPrefix(hostname, grpcPrefix); below {
		return fmt.Errorf("%s: %q is not possible: the name is kept for gRPC of the claim that has %s; write one that doesn't begin with %s", field, hostname, of, grpcPrefix)
	}
	// A plan may have others.
	if hostname == byDomain || g.Unassigned {
		return nil
	}
	if err := checkAllowed(g, field, hostname); err != nil {
		return err
	}
	return checkOfPlatform(g, known, field, hostname, byDomain)
}

// hostnameOfDomain returns the hostname that the platform's domain gives a claim; "" without a
// domain. A tenant that has one of the form that earlier versions gave keeps it.
func hostnameOfDomain(g tenant.Given, known tenant.Hostnames) (string, error) {
	domain := g.Platform.Ingress.Domain
	if domain == "" {
		return "", nil
	}
	// The plan's is checked before.
	if err := policy.CheckDomain("input.ingress.domain", domain); err != nil {
		return "", mistakes.By(mistakes.Input, err)
	}
	label, earlier := tenant.HostLabel("", g.XRName), g.XRName
	if g.Claim.Name != "" {
		label, earlier = tenant.HostLabel(g.Claim.Namespace, g.Claim.Name), g.Claim.Name+"-"+g.Claim.Namespace
	}
	// The record may have been deleted by hand: then the annotation still has the name.
	before := tenant.BoundedLabel(earlier, validation.DNS1123LabelMaxLength) + "." + domain
	if slices.Contains(known.Held, before) || slices.Contains(known.Allowed, before) {
		return before, nil
	}
	return label + "." + domain, nil
}

// checkPatterns refuses what no host can be, where the platform says which hostnames claims
// may name.
func checkPatterns(g tenant.Given) error {
	for i, pattern := range g.Platform.Ingress.Hosts {
		if !policy.IsHostname(strings.TrimPrefix(pattern, "*.")) {
			field := mistakes.Field{Owner: mistakes.Input, Path: fmt.Sprintf("input.ingress.hosts[%d]", i)}
			if len(g.Plan.Spec.Ingress.Hosts) > 0 {
				field = g.Plan.At(fmt.Sprintf("ingress.hosts[%d]", i))
			}
			return field.Errorf("%q is not a hostname: write one in lower case, such as argocd.acme.example.org, or *.example.org for those right below a domain", pattern)
		}
	}
	return nil
}

// checkAllowed refuses a hostname of the claim's that the platform lets none name.
func checkAllowed(g tenant.Given, field, host string) error {
	allowed := g.Platform.Ingress.Hosts
	if _, domain, _ := strings.Cut(host, "."); len(allowed) == 0 || slices.Contains(allowed, host) || slices.Contains(allowed, "*."+domain) {
		return nil
	}
	return fmt.Errorf("%s: %q is not one that this platform lets claims have: write one of %s", field, host, strings.Join(allowed, ", "))
}

// checkOfPlatform refuses a hostname of the claim's that is the platform's to give: another claim
// gets it, or could have had it from an earlier version. byDomain is the one that the claim gets.
func checkOfPlatform(g tenant.Given, known tenant.Hostnames, field, host, byDomain string) error {
	domain, allowed := g.Platform.Ingress.Domain, g.Platform.Ingress.Hosts
	if slices.Contains(allowed, host) || slices.Contains(known.Held, host) || accepted(g, host) {
		return nil
	}
	// The domains of other plans and channels aren't known here, but the form is.
	if label, _, _ := strings.Cut(host, "."); tenant.IsHostLabel(label) {
		return fmt.Errorf("%s: %q is not possible: names with -- in them are those that the platform gives claims, <claim>--<namespace>; write one without", field, host)
	}
	if domain == "" || len(allowed) > 0 || host != domain && !strings.HasSuffix(host, "."+domain) {
		return nil
	}
	return fmt.Errorf("%s: %q is in the platform's domain %s, whose names the platform gives: leave it out for %s, or write one outside of that domain; ingress.hosts of the function's input can allow claims to name others", field, host, domain, byDomain)
}

// accepted reports whether the claim named the hostname before, and was accepted.
func accepted(g tenant.Given, host string) bool {
	was := wasAccepted(g)
	return was.Host == host || slices.Contains(was.AdditionalHosts, host)
}

// wasAccepted returns the claim's spec.ingress that was accepted before; an empty one for none.
func wasAccepted(g tenant.Given) v1alpha1.IngressSpec {
	return ptr.Deref(g.WasAsked().Ingress, v1alpha1.IngressSpec{})
}

// checkIngress refuses an Ingress of the chart that a claim makes by its values, unless it was
// accepted before: no hostname in it is reserved for the claim.
func checkIngress(g tenant.Given) error {
	path := []string{"server", "ingress"}
	is, there := values.Lookup(g.Spec.ArgoCDValues, path...)
	if there && !g.KeepsValues(path...) && values.Enabled(g.Spec.ArgoCDValues, true, "server", "ingress", "enabled") && is != nil {
		return fmt.Errorf("spec.argocd.values.server.ingress is set by %s: leave it out and write %s; only enabled: false is possible here, for no Ingress", ofIngress, inPlaceOf(is))
	}
	return nil
}

// checkHostnames refuses hostnames in the chart's other Ingresses that aren't the claim's, unless they were accepted before.
func checkHostnames(g tenant.Given, asked, issuers []string) error {
	const field = "spec.argocd.values."
	var found []error
	for _, path := range [][]string{{"server", "ingressGrpc"}, {"applicationSet", "ingress"}} {
		v := values.At[values.Values](g.Spec.ArgoCDValues, path...)
		at := field + strings.Join(path, ".")
		if g.KeepsValues(path...) {
			continue
		}
		names := hostnamesIn(v)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			found = append(found, checkOfClaim(at+"."+name, names[name], asked))
		}
		found = append(found, checkOthers(g, at, v, issuers))
		if len(asked) == 0 && len(names) == 0 && values.Enabled(v, false, "enabled") {
			found = append(found, fmt.Errorf("%s.enabled: the claim has no hostname for an Ingress: write %s.host, too", at, ofIngress))
		}
	}
	return mistakes.Join(append(found, checkObjects(g, asked))...)
}

// checkURL refuses a URL of Argo CD's in values of a claim without a hostname, unless it was accepted before: nobody serves it. A Service of
// type LoadBalancer may be reached at any name. It has no Ingress.
func checkURL(of part.Candidate) error {
	g, d := of.Given, of.Decision
	if values.At[string](g.Spec.ArgoCDValues, "server", "service", "type") == string(corev1.ServiceTypeLoadBalancer) {
		return nil
	}
	var found []error
	for _, at := range []struct {
		path []string
		own  string
	}{
		{[]string{"global", "domain"}, d.Names.ArgoCDHostname},
		{[]string{"configs", "cm", "url"}, tenant.URL(d)},
		{[]string{"configs", "cm", "additionalUrls"}, ""},
	} {
		is, ok := of.ArgoCD.Claims(at.path...)
		text, _ := is.(string)
		if !ok || strings.TrimSpace(text) == "" || strings.TrimSuffix(text, "/") == at.own || g.KeepsValues(at.path...) && g.WasAsked().Ingress == nil {
			continue
		}
		host := "argocd.acme.example.org"
		if u, err := url.Parse(text); err == nil && policy.IsHostname(cmp.Or(u.Hostname(), text)) {
			host = cmp.Or(u.Hostname(), text)
		}
		found = append(found, fmt.Errorf("spec.argocd.values.%s: nobody serves Argo CD at %.80q, because the claim has no hostname: leave it out and write %s: {host: %s}", strings.Join(at.path, "."), strings.TrimSpace(text), ofIngress, host))
	}
	return mistakes.Join(found...)
}

// checkObjects refuses an Ingress among the claim's own objects with a hostname that isn't the claim's, unless it was accepted before: the host
// refuses it.
func checkObjects(g tenant.Given, asked []string) error {
	if g.KeepsValues(credentials.ExtraObjects) {
		return nil
	}
	var found []error
	for n, o := range values.At[[]any](g.Spec.ArgoCDValues, credentials.ExtraObjects) {
		object, _ := o.(values.Values)
		if values.At[string](object, "kind") != "Ingress" {
			continue
		}
		at := fmt.Sprintf("spec.argocd.values.%s[%d]", credentials.ExtraObjects, n)
		spec := values.At[values.Values](object, "spec")
		if namespace := values.At[string](object, "metadata", "namespace"); namespace != "" && namespace != tenant.ArgoCDNamespace {
			found = append(found, fmt.Errorf("%s.metadata.namespace: the host refuses Ingresses outside of namespace %s: leave it out", at, tenant.ArgoCDNamespace))
		}
		names := hostnamesIn(values.Values{"extraRules": spec["rules"], "extraTls": spec["tls"]})
		for _, name := range slices.Sorted(maps.Keys(names)) {
			found = append(found, checkOfClaim(at+".spec."+strings.NewReplacer("extraRules", "rules", "extraTls", "tls").Replace(name), names[name], asked))
		}
	}
	return mistakes.Join(found...)
}

// checkOfClaim refuses a hostname of an Ingress by values that isn't the claim's.
func checkOfClaim(field, host string, asked []string) error {
	switch {
	case len(asked) == 0:
		return fmt.Errorf("%s: %q is not a hostname of this claim, which has none: write %s.host", field, host, ofIngress)
	case !slices.Contains(asked, strings.TrimPrefix(host, grpcPrefix)):
		return fmt.Errorf("%s: %q is not a hostname of this claim: write %s", field, host, oneOf(asked))
	}
	return nil
}

// hostnamesIn returns the hostnames in the values of an Ingress of the chart, by their field.
func hostnamesIn(ingress values.Values) map[string]string {
	out := map[string]string{}
	add := func(field string, is any) {
		if host := fmt.Sprint(is); is != nil && host != "" {
			out[field] = host
		}
	}
	add("hostname", ingress["hostname"])
	for list, key := range map[string]string{"extraHosts": "name", "extraRules": "host"} {
		for n, entry := range values.At[[]any](ingress, list) {
			of, _ := entry.(values.Values)
			add(fmt.Sprintf("%s[%d].%s", list, n, key), of[key])
		}
	}
	for n, entry := range values.At[[]any](ingress, "extraTls") {
		of, _ := entry.(values.Values)
		for m, host := range values.At[[]any](of, "hosts") {
			add(fmt.Sprintf("extraTls[%d].hosts[%d]", n, m), host)
		}
	}
	return out
}

// oneOf lists the hostnames that an Ingress of the claim may have.
func oneOf(asked []string) string {
	var all []string
	for _, hostname := range asked {
		all = append(all, hostname, grpcPrefix+hostname)
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// inPlaceOf returns what to write in the claim instead of an Ingress of the chart.
func inPlaceOf(ingress any) string {
	v, _ := ingress.(values.Values)
	host := values.At[string](v, "hostname")
	if host == "" || !policy.IsHostname(host) {
		host = "argocd.acme.example.org"
	}
	out := fmt.Sprintf("%s: {host: %s", ofIngress, host)
	if extra := values.At[[]any](v, "extraHosts"); len(extra) > 0 {
		of, _ := extra[0].(values.Values)
		if name := values.At[string](of, "name"); policy.IsHostname(name) {
			out += fmt.Sprintf(", additionalHosts: [%s", name)
			if len(extra) > 1 {
				out += ", ..."
			}
			out += "]"
		}
	}
	if class := values.At[string](v, "ingressClassName"); class != "" && len(class) < validation.DNS1123LabelMaxLength {
		out += fmt.Sprintf(", className: %s", class)
	}
	if len(values.At[values.Values](v, "annotations")) > 0 {
		out += ", annotations: {...}"
	}
	return out + "}"
}
