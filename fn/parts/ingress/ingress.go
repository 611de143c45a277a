package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const ofIngress = "spec.ingress"

// grpcPrefix begins the hostname of an Ingress for gRPC alone, as the argo-cd chart makes
// it with server.ingressGrpc: who has a hostname has that one, too.
const grpcPrefix = "grpc."

// resolve decides on the hostname, and sets the values of the argo-cd chart.
func resolve(of part.Candidate) error {
	p, in := of.Decision, of.Platform
	asked, err := askedHostname(of.Given)
	if err != nil {
		return err
	}
	known := tenant.Hostnames{}
	if of.Hostnames != nil {
		known = of.Hostnames(p.SecretsIn, asked)
	}
	p.Ingress = decide(asked, known)
	spec := v1alpha1.IngressSpec{}
	if of.Spec.Ingress != nil {
		spec = *of.Spec.Ingress
	}
	if p.Ingress.Asked == "" {
		return nil
	}
	annotations, tls, err := ingressParts(spec, in.Ingress)
	if err != nil {
		return err
	}
	if err := setCertificate(of, spec); err != nil {
		return err
	}
	hostname := p.Ingress.Hostname
	if err := checkIngressValues(of.ArgoCD, cmp.Or(hostname, asked)); err != nil || hostname == "" {
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

// checkIngressValues refuses values of the claim that contradict its Ingress.
func checkIngressValues(argocd *values.Stack, hostname string) error {
	return argocd.Reserve(values.Claim, ofIngress,
		values.Be(hostname, "global", "domain"), values.Be("https://"+hostname, "configs", "cm", "url"), values.Be(true, "configs", "cm", "create"),
		values.Be(true, "configs", "params", "create"), values.Be(true, "configs", "params", "server.insecure"), values.Not("server", "ingress"))
}
