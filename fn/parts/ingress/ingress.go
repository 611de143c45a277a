package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
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
	asked, err := askedHostname(of.Given, known(""))
	if err != nil {
		return err
	}
	if err := checkValues(of.Given, asked); err != nil {
		return err
	}
	p.Ingress = decide(asked, known(asked))
	p.Ingress.ClusterIssuers = clusterIssuers(in.Ingress.TLS)
	if p.Ingress.Asked == "" {
		return nil
	}
	spec := ptr.Deref(of.Spec.Ingress, v1alpha1.IngressSpec{})
	annotations, tls, err := ingressParts(spec, in.Ingress)
	if err != nil {
		return err
	}
	if err := checkOrders(of.Given, spec, p.Ingress.ClusterIssuers); err != nil {
		return err
	}
	if err := setCertificate(of, spec); err != nil {
		return err
	}
	hostname := p.Ingress.Hostname
	domain := cmp.Or(hostname, asked)
	err = of.ArgoCD.Reserve(values.Claim, ofIngress,
		values.Be(domain, "global", "domain"), values.Be("https://"+domain, "configs", "cm", "url"), values.Be(true, "configs", "cm", "create"),
		values.Be(true, "configs", "params", "create"), values.Be(true, "configs", "params", "server.insecure"), values.Not("server", "ingress"))
	if err != nil || hostname == "" {
		return err
	}
	ingress := values.Values{"enabled": true, "hostname": hostname}
	if len(annotations) > 0 {
		ingress["annotations"] = annotations
	}
	if class := cmp.Or(spec.ClassName, in.Ingress.ClassName); class != "" {
		ingress["ingressClassName"] = class
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
	})
	return nil
}

// ingressParts are the annotations of the Ingress, and whether it names the
// chart's Secret for its certificate.
func ingressParts(spec v1alpha1.IngressSpec, in inputv1alpha1.Ingress) (values.Values, bool, error) {
	if spec.ClassName != "" && len(validation.IsDNS1123Subdomain(spec.ClassName)) > 0 {
		return nil, false, fmt.Errorf("%s.className: %q is not the name of an IngressClass: write one such as nginx", ofIngress, spec.ClassName)
	}
	annotations := values.Values{}
	for key, v := range in.Annotations {
		annotations[key] = literal(v)
	}
	for key, v := range spec.Annotations {
		annotations[key] = literal(string(v))
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			field := ofIngress
			if _, ofClaim := spec.Annotations[key]; !ofClaim {
				field = "input.ingress"
			}
			return nil, false, fmt.Errorf("%s.annotations: %q is not the key of an annotation: write one such as nginx.ingress.kubernetes.io/proxy-body-size", field, key)
		}
	}
	issuer, field := in.TLS.Issuer, "input.ingress.tls.issuer"
	if tls := spec.TLS; tls != nil {
		if tls.SecretName != "" && tls.Issuer != nil {
			return nil, false, fmt.Errorf("%s.tls: has both secretName and issuer: write one of them", ofIngress)
		}
		if tls.SecretName != "" {
			return annotations, true, credentials.CheckSecretRef(ofIngress+".tls", v1alpha1.SecretReference{Name: tls.SecretName})
		}
		if tls.Issuer != nil {
			issuer, field = inputv1alpha1.Issuer{Name: tls.Issuer.Name, Kind: tls.Issuer.Kind}, ofIngress+".tls.issuer"
		}
	}
	if issuer == (inputv1alpha1.Issuer{}) {
		return annotations, false, nil
	}
	key := map[string]string{"": "cluster-issuer", "ClusterIssuer": "cluster-issuer", "Issuer": "issuer"}[issuer.Kind]
	if key == "" {
		return nil, false, fmt.Errorf("%s.kind: %q is unknown: write ClusterIssuer or Issuer", field, issuer.Kind)
	}
	if len(validation.IsDNS1123Subdomain(issuer.Name)) > 0 {
		return nil, false, fmt.Errorf("%s.name: %q is not the name of an issuer: write one such as letsencrypt", field, issuer.Name)
	}
	annotations["cert-manager.io/"+key] = issuer.Name
	return annotations, true, nil
}

// literal keeps the chart from taking an annotation for a template.
func literal(s string) string { return strings.ReplaceAll(s, "{{", "{{`{{`}}") }

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
