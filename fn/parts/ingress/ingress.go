package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

const ofIngress = "spec.ingress"

// resolve decides on the hostname, and sets the values of the argo-cd chart.
func resolve(of part.Candidate) error {
	d, in := of.Decision, of.Platform
	spec := ptr.Deref(of.Spec.Ingress, v1alpha1.IngressSpec{})
	gateway, issuers := gatewayOf(of.Given), clusterIssuers(in.Ingress.TLS)
	if of.Unassigned {
		issuers = nil
	}
	served, noEffect, found := servedBy(of.Given, spec, gateway, issuers)
	asked, err := askedHostnames(of.Given, of.Hostnames)
	ofValues := mistakes.Join(checkIngress(of.Given), checkServices(of.Given))
	if served == nil {
		// A claim without a hostname has no Ingress either.
		found, ofValues = nil, mistakes.Join(ofValues, found)
	}
	rules := []values.Rule{values.Be(true, "configs", "cm", "create"), values.Be(true, "configs", "params", "create"), values.Be(true, "configs", "params", "server.insecure")}
	// What depends on hostnames is decided once they are right. Without any, a claim may have one of its plan's domain.
	if err == nil && (len(asked) > 0 || !of.Unassigned) {
		if served != nil {
			ofValues = mistakes.Join(ofValues, checkHostnames(of.Given, asked, issuers))
		}
		d.Ingress = decide(asked, of.Hostnames, gateway)
		d.Ingress.ClusterIssuers, d.Ingress.NoEffect = issuers, noEffect
		if len(asked) == 0 {
			return mistakes.Join(ofValues, checkURL(of), checkTunnels(of.Given))
		}
		domain := cmp.Or(d.Ingress.Hostname, asked[0])
		rules = append(rules, values.Be(domain, "global", "domain"), values.Be("https://"+domain+d.RootPath, "configs", "cm", "url"))
		if len(asked) > 1 {
			rules = append(rules, values.Be(argocd.AdditionalURLs(d, asked[1:]), "configs", "cm", "additionalUrls"))
		}
	}
	if len(asked) == 0 && of.Spec.Ingress == nil {
		return mistakes.Join(err, ofValues)
	}
	hostname := d.Ingress.Hostname
	if ofValues == nil {
		rules = append(rules, values.Not("server", "ingress"))
	}
	err = mistakes.Join(err, found, ofValues, checkInsecure(of.Given), of.ArgoCD.Reserve(values.Claim, ofIngress, rules...))
	if served != nil {
		err = mistakes.Join(err, setCertificate(of, spec))
	}
	if err != nil || hostname == "" {
		return err
	}
	if served != nil {
		d.Ingress.Refused = slices.DeleteFunc(slices.Sorted(maps.Keys(served.annotations)), func(key string) bool { return !of.HostPolicies.IngressAnnotations.Refuse(key) })
		d.ArgoCD.Values = values.Merge(d.ArgoCD.Values, values.Values{"server": values.Values{"ingress": served.values(d, spec)}})
	}
	d.ArgoCD.Values = values.Merge(d.ArgoCD.Values, values.Values{
		"global": values.Values{"domain": hostname},
		// TLS ends at the ingress controller or the Gateway, so Argo CD speaks plain HTTP behind it.
		"configs": values.Values{"params": values.Values{"server.insecure": "true"}},
	}, argocd.URLs(d, of.ArgoCD.Merged(), hostname, d.Ingress.Additional))
	return nil
}

// An own is what an Ingress has but for its hostnames. tls reports whether it names a Secret for its certificate.
type own struct {
	annotations map[string]string
	class       string
	tls         bool
}

// servedBy returns what the tenant's Ingress has; nil for no Ingress, because a Gateway serves the tenant, and the fields without effect then.
func servedBy(g tenant.Given, spec v1alpha1.IngressSpec, gateway *tenant.Gateway, issuers []string) (*own, []string, error) {
	if by := (tenant.Ingress{Gateway: gateway}); !by.HasIngress() {
		noEffect, err := checkNoIngress(g, spec)
		return nil, noEffect, err
	}
	annotations, class, err := ingressParts(g, spec)
	tls, ofTLS := certificate(g, spec, annotations)
	return &own{annotations: annotations, class: class, tls: tls}, nil, mistakes.Join(err, ofTLS, checkOrders(g, spec, issuers))
}

// values returns the values of the Ingress in the argo-cd chart.
func (o own) values(d *tenant.Decision, spec v1alpha1.IngressSpec) values.Values {
	ingress := values.Values{"enabled": true, "hostname": d.Ingress.Hostname}
	if len(o.annotations) > 0 {
		ingress["annotations"] = literals(o.annotations)
	}
	if o.class != "" {
		ingress["ingressClassName"] = o.class
	}
	if d.RootPath != "" {
		ingress["path"] = d.RootPath
	}
	if at := slices.IndexFunc(issuerAnnotations, func(key string) bool { return o.annotations[key] != "" }); o.tls && d.Ingress.Certificate == nil && at >= 0 {
		d.Ingress.Issuer = issuerAnnotations[at] + ": " + o.annotations[issuerAnnotations[at]]
	}
	if len(d.Tunnels.Agents) > 0 {
		setTunnels(d, ingress)
	}
	setTLS(d.Ingress, o.tls, spec.TLS != nil && spec.TLS.SecretName != "", ingress)
	if len(d.Ingress.Additional) > 0 {
		var extra []any
		for _, additional := range d.Ingress.Additional {
			extra = append(extra, values.Values{"name": additional})
		}
		ingress["extraHosts"] = extra
	}
	return ingress
}

// tunnelPath is the path at which agents of tunnels connect.
func tunnelPath(d *tenant.Decision) string { return strings.TrimSuffix(d.RootPath, "/") + tunnel.Path }

// setTunnels has the agents of tunnels served at each hostname, so that they are while the claim moves from one to another.
func setTunnels(d *tenant.Decision, ingress values.Values) {
	paths := []any{values.Values{
		"path": tunnelPath(d), "pathType": "Prefix",
		"backend": values.Values{"service": values.Values{"name": tunnel.Service, "port": values.Values{"number": float64(tunnel.AgentsPort)}}},
	}}
	ingress["extraPaths"] = paths
	var rules []any
	for _, additional := range d.Ingress.Additional {
		// The chart has the paths at the first hostname alone.
		rules = append(rules, values.Values{"host": additional, "http": values.Values{"paths": paths}})
	}
	if len(rules) > 0 {
		ingress["extraRules"] = rules
	}
}

// checkTunnels refuses tunnels of a claim without a hostname.
func checkTunnels(g tenant.Given) error {
	var found []error
	for i, c := range g.Spec.Clusters {
		if c.Tunnel != nil {
			found = append(found, fmt.Errorf("spec.clusters[%d].tunnel: its agent connects to the hostname of the claim, which has none: write spec.ingress.host", i))
		}
	}
	return mistakes.Join(found...)
}

// certificateSecret is the Secret of the certificate of Argo CD's API server, in the argo-cd chart.
const certificateSecret = "argocd-server-tls"

// setTLS has each hostname served with TLS. named reports whether the certificates are in Secrets, and shared whether they are in one,
// of the claim's. Otherwise an issuer fills one Secret for each hostname: a hostname for which it issues none holds up no other.
func setTLS(i tenant.Ingress, named, shared bool, ingress values.Values) {
	entry := func(secret string, hostnames ...string) values.Values {
		hosts := make([]any, 0, len(hostnames))
		for _, hostname := range hostnames {
			hosts = append(hosts, hostname)
		}
		if secret == "" {
			return values.Values{"hosts": hosts}
		}
		return values.Values{"hosts": hosts, "secretName": secret}
	}
	switch all := i.InUse(); {
	case !named:
		ingress["extraTls"] = []any{entry("", all...)}
	case len(all) == 1:
		// The chart names the Secret itself.
		ingress["tls"] = true
	case shared:
		ingress["extraTls"] = []any{entry(certificateSecret, all...)}
	default:
		// With tls, newer charts would put all hostnames into the first Secret's certificate.
		entries := []any{entry(certificateSecret, i.Hostname)}
		for _, hostname := range i.Additional {
			entries = append(entries, entry(certificateSecret+"-"+tenant.HostnameHash(hostname), hostname))
		}
		ingress["extraTls"] = entries
	}
}

// setCertificate hands over the certificate of the claim's Secret.
func setCertificate(of part.Candidate, spec v1alpha1.IngressSpec) error {
	if spec.TLS == nil || spec.TLS.SecretName == "" {
		return nil
	}
	path := []string{"server", "certificateSecret"}
	if err := of.ArgoCD.Reserve(values.Input, ofIngress+".tls.secretName", values.Not(path...), values.Not("server", "certificate")); err != nil {
		return err
	}
	secret := credentials.Read(of.Given, spec.TLS.SecretName)
	const form = "the Secret of a certificate has tls.crt and tls.key, in PEM"
	crt, key := secret.Need("tls.crt", form), secret.Need("tls.key", form)
	if secret.Problem == nil {
		credentials.CheckPair(secret, []byte(crt), []byte(key))
	}
	c := of.Sensitive.Add(tenant.Connection{Name: spec.TLS.SecretName}, secret.Problem, values.Values{"enabled": true, "crt": crt + "\n", "key": key + "\n"}, path...)
	i := &of.Decision.Ingress
	if i.Certificate = &c; secret.Problem == nil {
		var hostnames []string
		for _, asked := range i.Asked {
			hostnames = append(hostnames, asked.Name)
		}
		i.CertificateProblem, i.CertificateEnds = credentials.ServerProblem([]byte(crt), hostnames, of.Now)
	}
	return nil
}
