package ingress

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const ofIngress = "spec.ingress"

// resolve decides on the hostname, and sets the values of the argo-cd chart.
func resolve(of part.Candidate) error {
	p, in := of.Decision, of.Platform
	known := func(asked string) tenant.Hostnames {
		if of.Hostnames == nil {
			return tenant.Hostnames{}
		}
		return of.Hostnames(p.SecretsIn, asked)
	}
	spec := ptr.Deref(of.Spec.Ingress, v1alpha1.IngressSpec{})
	annotations, class, found := ingressParts(of.Given, spec)
	tls, ofTLS := certificate(of.Given, spec, annotations)
	issuers := clusterIssuers(in.Ingress.TLS)
	found = mistakes.Join(found, ofTLS, checkOrders(of.Given, spec, issuers))
	asked, err := askedHostname(of.Given, known(""))
	if err != nil {
		return mistakes.Join(err, found, checkServices(of.Given))
	}
	ofValues := mistakes.Join(checkValues(of.Given, asked), checkServices(of.Given))
	p.Ingress = decide(asked, known(asked))
	p.Ingress.ClusterIssuers = issuers
	if p.Ingress.Asked == "" {
		return ofValues
	}
	hostname := p.Ingress.Hostname
	domain := cmp.Or(hostname, asked)
	rules := []values.Rule{
		values.Be(domain, "global", "domain"), values.Be("https://"+domain+p.RootPath, "configs", "cm", "url"), values.Be(true, "configs", "cm", "create"),
		values.Be(true, "configs", "params", "create"), values.Be(true, "configs", "params", "server.insecure"),
	}
	if ofValues == nil {
		rules = append(rules, values.Not("server", "ingress"))
	}
	err = mistakes.Join(found, ofValues, setCertificate(of, spec), of.ArgoCD.Reserve(values.Claim, ofIngress, rules...))
	if err != nil || hostname == "" {
		return err
	}
	ingress := values.Values{"enabled": true, "hostname": hostname}
	p.Ingress.Refused = refusedByHost(of.HostPolicies, annotations)
	if len(annotations) > 0 {
		ingress["annotations"] = literals(annotations)
	}
	if class != "" {
		ingress["ingressClassName"] = class
	}
	if p.RootPath != "" {
		ingress["path"] = p.RootPath
	}
	if tls {
		// The chart's own Secret of the certificate, which it names itself.
		ingress["tls"] = true
	} else {
		ingress["extraTls"] = []any{values.Values{"hosts": []any{hostname}}}
	}
	p.ArgoCD.Values = values.Merge(p.ArgoCD.Values, values.Values{
		"global": values.Values{"domain": hostname},
		"server": values.Values{"ingress": ingress},
		// TLS ends at the ingress controller, so Argo CD speaks plain HTTP behind it.
		"configs": values.Values{"params": values.Values{"server.insecure": "true"}},
	}, argocd.URLWithPath(p, hostname))
	return nil
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
	of.Decision.Ingress.Certificate = &c
	return nil
}
