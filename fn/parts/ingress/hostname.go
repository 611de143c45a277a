package ingress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// grpcPrefix begins the hostname of an Ingress for gRPC alone, as the argo-cd chart makes
// it with server.ingressGrpc: who has a hostname has that one, too.
const grpcPrefix = "grpc."

const (
	// RequiredHostname is the name of the requirement for the record of a hostname.
	RequiredHostname = "ingress-host"
	// HostnameKind is the kind of a record.
	HostnameKind = "ConfigMap"
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
		return "", fmt.Errorf("%s.host: is missing, and the platform has no domain for it: write a hostname, such as argocd.example.org", ofIngress)
	default:
		return "", nil
	}
	if !policy.IsHostname(asked) {
		return "", fmt.Errorf("%s.host: %q is not a hostname: write one in lower case, such as argocd.acme.example.org", ofIngress, asked)
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
			return fmt.Errorf("%s: %q is not a hostname: write one in lower case, such as argocd.acme.example.org, or *.example.org for those right below a domain", field, pattern)
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

// Observe reads whose the hostnames are: those of the tenant, and the one that it asks
// for, "" for none. namespace is the claim's.
func Observe(req *fnv1.RunFunctionRequest, o tenant.Observed, namespace, recordsIn, asked string) tenant.Hostnames {
	var h tenant.Hostnames
	for name, c := range o.Composed {
		if hostname := c.String("data", tenant.HostnameKey); strings.HasPrefix(name, tenant.HostnamePrefix) && hostname != "" {
			h.Held = append(h.Held, hostname)
		}
	}
	release := o.Composed[tenant.ArgoCDRelease]
	if in := release.Get("spec", "forProvider", "values", "server", "ingress"); in.Bool("enabled") {
		h.Serving = in.String("hostname")
	}
	if ns := o.Composed[tenant.Namespace]; ns.Current() && ns.Condition("Synced").True() {
		h.NamespaceSeen = true
		h.Allowed = strings.Split(ns.Get("spec", "forProvider", "manifest", "metadata", "annotations").String(tenant.AnnotationIngressHost), ",")
	}
	if count := o.Composed[tenant.IngressCount]; count.Condition("Synced").True() {
		n, err := strconv.ParseInt(count.Get("status", "atProvider", "manifest", "status", "used").String(tenant.QuotaOfIngresses), 10, 64)
		if err == nil {
			h.Ingresses = &n
		}
	}
	h.Settled = !release.Exists() || release.Current() && release.Deployed()

	// Without a hostname that is asked for there is no record.
	record, read := wire.RequiredObject(req, RequiredHostname, HostnameKind, recordsIn, tenant.HostnameRecord(asked))
	if h.Read = read; record.Exists() {
		// Crossplane labels what it composes for a claim.
		labels := record.Get("metadata", "labels")
		if h.Taken = !controls(o.XR, record); !h.Taken {
			h.Held = append(h.Held, asked)
		} else if labels.String("crossplane.io/claim-namespace") == namespace {
			h.Holder = labels.String("crossplane.io/claim-name")
		}
	}
	slices.Sort(h.Held)
	h.Held = slices.Compact(h.Held)
	return h
}

// controls reports whether the XR is the controller of an object.
func controls(xr, object wire.Struct) bool {
	uid := xr.String("metadata", "uid")
	return uid != "" && slices.ContainsFunc(object.List("metadata", "ownerReferences"), func(ref wire.Struct) bool {
		return ref.Bool("controller") && ref.String("uid") == uid
	})
}

// decide decides which hostname is in use. A hostname is in use once its record is seen
// to be the tenant's: an API server has only one object of a name, so that of two
// tenants that ask at once one gets it.
func decide(asked string, h tenant.Hostnames) tenant.Ingress {
	i := tenant.Ingress{Asked: asked, Taken: h.Taken && !slices.Contains(h.Held, asked), Holder: h.Holder}
	switch {
	case asked == "":
	case slices.Contains(h.Held, asked), h.Serving == asked && !i.Taken:
		i.Hostname = asked
	case h.Serving != asked:
		// What was in use stays until the one that is asked for is the tenant's.
		i.Hostname = h.Serving
	}
	if asked != "" && (i.Hostname == asked || h.Read && !h.Taken) {
		i.Records = append(i.Records, asked)
	}
	var own []string
	if i.Hostname != "" {
		own = append(own, i.Hostname)
	}
	for _, held := range h.Held {
		// Argo CD's own Ingress may still have it, unless all of Argo CD is as asked.
		if held == i.Hostname || !h.Settled || h.Serving != i.Hostname {
			own = append(own, held)
			i.Records = append(i.Records, held)
		} else {
			i.Leaving = append(i.Leaving, held)
		}
	}
	slices.Sort(own)
	for _, hostname := range slices.Compact(own) {
		i.Own = append(i.Own, hostname, grpcPrefix+hostname)
	}
	i.Counted = len(i.Leaving) > 0 && h.NamespaceSeen && !slices.ContainsFunc(i.Leaving, func(hostname string) bool { return slices.Contains(h.Allowed, hostname) })
	if i.Counted && h.Ingresses != nil && (*h.Ingresses <= 0 || *h.Ingresses == 1 && i.Hostname != "") {
		// The tenant has no Ingress but Argo CD's.
		i.Leaving = nil
	}
	i.Records = append(i.Records, i.Leaving...)
	slices.Sort(i.Records)
	i.Records = slices.Compact(i.Records)
	return i
}
