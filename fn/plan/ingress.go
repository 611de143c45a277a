package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Hosts is what is known of hosts and whose they are.
type Hosts struct {
	// Held are those whose records the tenant has, sorted.
	Held []string
	// Read tells whether Crossplane has looked for the record of the wanted host.
	Read bool
	// Taken tells whether that record is somebody else's.
	Taken bool
	// Holder is whose it is, when that is a claim of the same namespace: its name.
	// Who uses a namespace need not know what others call theirs.
	Holder string
	// Serving is the host that the installed Argo CD has an Ingress for; "" for none.
	Serving string
	// Settled tells whether that is so as wanted, and not on its way to another.
	Settled bool
	// Synced tells whether the installed vcluster brings Ingresses to the host, or may.
	Synced bool
	// Allowed are the hosts that the namespace on the host is known to say are the
	// tenant's, and NamespaceSeen whether that is known.
	Allowed       []string
	NamespaceSeen bool
	// Ingresses is how many the tenant has on the host; nil while nobody has counted.
	Ingresses *int64
}

// Ingress is how Argo CD is reached from outside.
type Ingress struct {
	// Wanted host.
	Wanted string
	// Host in use: the wanted one once its record is the tenant's, until then the
	// one from before; "" for none.
	Host string
	// Taken tells whether the wanted host is somebody else's, and Holder whose, if
	// that is a claim of the same namespace.
	Taken  bool
	Holder string
	// Certificate is what became of the Secret with the certificate, if there is one.
	Certificate *Connection
	// Records are the hosts whose records the tenant has or wants.
	Records []string
	// Own are the hosts that are the tenant's, sorted, each with the one for gRPC
	// after it: its Ingresses on the host may have these, and no other.
	Own []string
	// Leaving are the hosts that aren't in use any more and not given up yet: the
	// tenant may have Ingresses of its own for them, which would serve whoever has
	// the host next.
	Leaving []string
	// Counted tells whether it is time to count the tenant's Ingresses on the host:
	// no new one can have a host that is leaving.
	Counted bool
	// Synced tells whether the virtual cluster brings Ingresses to the host: while
	// the tenant has a host and, once it has had one, for good. What isn't synced any
	// more would stay on the host.
	Synced bool
}

const ofIngress = "spec.ingress"

// WantedHost is the host that the claim asks for, or that the platform's domain
// gives it; "" for none.
func (r Request) WantedHost() (string, error) {
	if err := r.checkHosts(); err != nil {
		return "", err
	}
	host, domain := "", r.platform().Ingress.Domain
	if r.Spec.Ingress != nil {
		host = r.Spec.Ingress.Host
	}
	switch {
	case host != "":
	case domain != "":
		// A claim that makes an Ingress of its own by values gets no second one.
		if _, own := values.Lookup(r.Spec.ArgoCDValues, "server", "ingress"); own && r.Spec.Ingress == nil {
			return "", nil
		}
		if err := checkDomain("input.ingress.domain", domain); err != nil {
			return "", err
		}
		name := r.XRName
		if r.Claim.Name != "" {
			name = r.Claim.Name + "-" + r.Claim.Namespace
		}
		host = boundedLabel(name, validation.DNS1123LabelMaxLength) + "." + domain
	case r.Spec.Ingress != nil:
		return "", fmt.Errorf("%s.host: is missing, and the platform has no domain for it: write a host name, such as argocd.example.org", ofIngress)
	default:
		return "", nil
	}
	if !isHost(host) {
		return "", fmt.Errorf("%s.host: %q is not a host name: write one in lower case, such as argocd.acme.example.org", ofIngress, host)
	}
	if of, below := strings.CutPrefix(host, grpcHost); below {
		return "", fmt.Errorf("%s.host: %q is not possible: the name is kept for gRPC of the claim that has %s; write one that doesn't begin with %s", ofIngress, host, of, grpcHost)
	}
	return host, r.checkHost()
}

// grpcHost begins the host of an Ingress for gRPC alone, as the argo-cd chart makes
// it with server.ingressGrpc: who has a host has that one, too.
const grpcHost = "grpc."

// maxDomain leaves a name and a dot before a domain what a host may have.
const maxDomain = validation.DNS1123SubdomainMaxLength - validation.DNS1123LabelMaxLength - 1

// checkDomain refuses a domain, where there is one, that no Argo CD can be below.
func checkDomain(field, domain string) error {
	switch {
	case domain == "":
		return nil
	case len(domain) > maxDomain:
		return fmt.Errorf("%s: has %d characters: write one of at most %d", field, len(domain), maxDomain)
	case !isHost(domain):
		return fmt.Errorf("%s: %q is not a domain: write one in lower case, such as argocd.example.org", field, domain)
	}
	return nil
}

// checkHosts refuses what no host can be, where the platform says which hosts claims
// may name.
func (r Request) checkHosts() error {
	for i, pattern := range r.platform().Ingress.Hosts {
		if !isHost(strings.TrimPrefix(pattern, "*.")) {
			field := fmt.Sprintf("input.ingress.hosts[%d]", i)
			if len(r.Plan.Data.Ingress.Hosts) > 0 {
				field = r.Plan.at(fmt.Sprintf("ingress.hosts[%d]", i))
			}
			return fmt.Errorf("%s: %q is not a host name: write one in lower case, such as argocd.acme.example.org, or *.example.org for those right below a domain", field, pattern)
		}
	}
	return nil
}

// checkHost refuses a host of the claim's that the platform lets none name.
func (r Request) checkHost() error {
	allowed := r.platform().Ingress.Hosts
	if r.Spec.Ingress == nil || r.Spec.Ingress.Host == "" || len(allowed) == 0 {
		return nil
	}
	_, domain, _ := strings.Cut(r.Spec.Ingress.Host, ".")
	if slices.Contains(allowed, r.Spec.Ingress.Host) || slices.Contains(allowed, "*."+domain) {
		return nil
	}
	return fmt.Errorf("%s.host: %q is not one that this platform lets claims have: write one of %s", ofIngress, r.Spec.Ingress.Host, strings.Join(allowed, ", "))
}

func isHost(host string) bool {
	return len(validation.IsDNS1123Subdomain(host)) == 0 && !slices.ContainsFunc(strings.Split(host, "."), func(label string) bool {
		return len(validation.IsDNS1123Label(label)) > 0
	})
}

// RecordsIn is the namespace of hosts' records.
func (r Request) RecordsIn() string { return r.platform().ConnectionSecretNamespace }

// setIngress decides on the host and sets the values of both charts.
func (p *Plan) setIngress(r Request, in inputv1alpha1.Input, s *sensitive, argocd *values.Stack) error {
	wanted, err := r.WantedHost()
	if err != nil {
		return err
	}
	p.Ingress = ingress(wanted, r.Hosts)
	spec := v1alpha1.IngressSpec{}
	if r.Spec.Ingress != nil {
		spec = *r.Spec.Ingress
	}
	if p.Ingress.Wanted == "" {
		return nil
	}
	annotations, tls, err := ingressParts(spec, in.Ingress)
	if err != nil {
		return err
	}
	if err := p.setCertificate(spec, r, s, argocd); err != nil {
		return err
	}
	host := p.Ingress.Host
	if err := checkIngressValues(argocd, cmp.Or(host, wanted)); err != nil || host == "" {
		return err
	}
	ingress := values.Values{"enabled": true, "hostname": host}
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
		ingress["extraTls"] = []any{values.Values{"hosts": []any{host}}}
	}
	p.ArgoCD.Values = values.Merge(p.ArgoCD.Values, values.Values{
		"global":  values.Values{"domain": host},
		"server":  values.Values{"ingress": ingress},
		"configs": values.Values{"params": insecure()},
	})
	return nil
}

// insecure: TLS ends at the ingress controller, so Argo CD speaks plain HTTP
// behind it.
func insecure() values.Values { return values.Values{"server.insecure": "true"} }

// ingress decides which host is in use. A host is in use once its record is seen
// to be the tenant's: an API server has only one object of a name, so that of two
// tenants that ask at once one gets it.
func ingress(wanted string, h Hosts) Ingress {
	i := Ingress{Wanted: wanted, Taken: h.Taken && !slices.Contains(h.Held, wanted), Holder: h.Holder}
	switch {
	case wanted == "":
	case slices.Contains(h.Held, wanted), h.Serving == wanted && !i.Taken:
		i.Host = wanted
	case h.Serving != wanted:
		// What was in use stays until the wanted host is the tenant's.
		i.Host = h.Serving
	}
	if wanted != "" && (i.Host == wanted || h.Read && !h.Taken) {
		i.Records = append(i.Records, wanted)
	}
	var own []string
	if i.Host != "" {
		own = append(own, i.Host)
	}
	for _, held := range h.Held {
		// Argo CD's own Ingress may still have it, unless all of Argo CD is as wanted.
		if held == i.Host || !h.Settled || h.Serving != i.Host {
			own = append(own, held)
			i.Records = append(i.Records, held)
		} else {
			i.Leaving = append(i.Leaving, held)
		}
	}
	slices.Sort(own)
	for _, host := range slices.Compact(own) {
		i.Own = append(i.Own, host, grpcHost+host)
	}
	i.Counted = len(i.Leaving) > 0 && h.NamespaceSeen && !slices.ContainsFunc(i.Leaving, func(host string) bool { return slices.Contains(h.Allowed, host) })
	if i.Counted && h.Ingresses != nil && *h.Ingresses <= i.ofArgoCD() {
		i.Leaving = nil
	}
	i.Records = append(i.Records, i.Leaving...)
	slices.Sort(i.Records)
	i.Records = slices.Compact(i.Records)
	i.Synced = i.Host != "" || h.Synced
	return i
}

// ofArgoCD is how many Ingresses the tenant has that aren't of its own making.
func (i Ingress) ofArgoCD() int64 {
	if i.Host == "" {
		return 0
	}
	return 1
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
			return annotations, true, checkSecretRef(ofIngress+".tls", v1alpha1.SecretReference{Name: tls.SecretName})
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
func (p *Plan) setCertificate(spec v1alpha1.IngressSpec, r Request, s *sensitive, argocd *values.Stack) error {
	if spec.TLS == nil || spec.TLS.SecretName == "" {
		return nil
	}
	path := []string{"server", "certificateSecret"}
	if err := argocd.Reserve(values.Input, ofIngress+".tls.secretName", values.Not(path...), values.Not("server", "certificate")); err != nil {
		return err
	}
	secret := r.readSecret(spec.TLS.SecretName)
	const form = "the Secret of a certificate has tls.crt and tls.key, in PEM"
	crt, key := secret.need("tls.crt", form), secret.need("tls.key", form)
	if secret.problem == nil {
		checkPair(secret, []byte(crt), []byte(key))
	}
	c := s.add(Connection{Name: spec.TLS.SecretName}, secret.problem, values.Values{"enabled": true, "crt": crt + "\n", "key": key + "\n"}, path...)
	p.Ingress.Certificate = &c
	return nil
}

// checkIngressValues refuses values of the claim that contradict its Ingress.
func checkIngressValues(argocd *values.Stack, host string) error {
	return argocd.Reserve(values.Claim, ofIngress,
		values.Be(host, "global", "domain"), values.Be("https://"+host, "configs", "cm", "url"), values.Be(true, "configs", "cm", "create"),
		values.Be(true, "configs", "params", "create"), values.Be(true, "configs", "params", "server.insecure"), values.Not("server", "ingress"))
}
