// Package ingress is the part of a claim that says how its Argo CD is reached from outside
// the host cluster.
package ingress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Part is spec.ingress, and what the platform's domain gives claims without.
var Part = part.Part{
	Field: "spec.ingress", Secrets: secrets, Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionIngressReady, Has: func(t tenant.Tenant) bool { return len(t.Ingress.Asked) > 0 }, Observe: observe,
}

func secrets(s tenant.Ask) []string {
	if i := s.Ingress; i != nil && i.TLS != nil && i.TLS.SecretName != "" {
		return []string{i.TLS.SecretName}
	}
	return nil
}

func rows(t tenant.Tenant) []resource.Row {
	// What is observed stays while it isn't known whose the hostname is.
	observed := t.Ingress.Hostname != "" || len(t.Ingress.Asked) > 0 && !t.Ingress.Asked[0].Taken && t.Composed(tenant.IngressObject).Exists()
	// An Object that finds nothing to observe fails, and is tried again at growing intervals.
	is := t.Composed(tenant.ArgoCDRelease)
	installed := release.StateOf(is) >= release.Unready && is.Get("spec", "forProvider", "values", "server", "ingress").Has("enabled")
	out := []resource.Row{
		{Name: tenant.IngressObject, Has: observed && t.Ingress.HasIngress(), Waits: !installed, Ready: true, Build: observer},
		routeRow(t),
		{Name: tenant.IngressCount, Has: t.Ingress.Counted, Ready: true, Build: count},
		{Name: tenant.IngressOnHost, Has: t.Ingress.Single, Ready: true, Build: onHostObserver},
	}
	for _, hostname := range t.Ingress.Records {
		out = append(out, resource.Row{Name: tenant.HostnameResource(hostname), Has: true, Ready: true, Build: record(hostname)})
	}
	return out
}

// record composes the record that a hostname is this tenant's. Its name follows
// from the hostname alone, and Crossplane applies no object that another composite
// resource controls: of two tenants that ask at once one gets it, and the other
// sees whose it is when it asks again. It stays until the tenant's namespace is gone, with the
// Ingresses in it.
func record(hostname string) func(t tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		return resource.Object{Typed: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: tenant.HostnameRecord(hostname), Labels: resource.OfTenant(t), OwnerReferences: host.UntilNamespaceGoes(t)},
			Data:       map[string]string{tenant.HostnameKey: hostname},
		}}, nil
	}
}

// count composes an Object that observes the tenant's ResourceQuota on the
// host, which counts its Ingresses there. It exists while a hostname is being removed, and is
// never ready, so that the provider observes it every 30 seconds.
func count(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, "ingress-count", t.Names.HostProviderConfig, resource.ReadyBy("false"),
		corev1.ObjectReference{APIVersion: "v1", Kind: "ResourceQuota", Namespace: t.Names.Namespace, Name: tenant.QuotaName}), nil
}

// onHostObserver composes an Object that observes Argo CD's Ingress on the host, as often.
func onHostObserver(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, tenant.IngressOnHost, t.Names.HostProviderConfig, resource.ReadyBy("false"),
		corev1.ObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: t.Names.Namespace, Name: tenant.ArgoCDServerOnHost}), nil
}

// addressed is the readiness of the observed Ingress, in CEL.
const addressed = `has(object.status) && has(object.status.loadBalancer) && has(object.status.loadBalancer.ingress)
 && size(object.status.loadBalancer.ingress) > 0`

// observer composes an Object that observes Argo CD's Ingress in the virtual
// cluster, which has the status of the one on the host.
func observer(t tenant.Tenant) (resource.Object, error) {
	return resource.Watched(resource.Observer(t, "argocd-ingress", t.Names.ProviderConfig, resource.ReadyBy(addressed),
		corev1.ObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: tenant.ArgoCDNamespace, Name: tenant.ArgoCDServer})), nil
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	i, state := t.Ingress, release.StateOf(t.Composed(tenant.ArgoCDRelease))
	switch {
	case taken(t) != "":
		return is.No(v1alpha1.ReasonHostTaken, taken(t)+staysInUse(i), "")
	case earlier(t) != "":
		return is.No(v1alpha1.ReasonWaitingForHost, "Hostname "+earlier(t)+" belongs to another tenant of this namespace and name, such as that of an earlier claim, which isn't gone yet"+staysInUse(i), "")
	case full(i) != "":
		message := fmt.Sprintf("Hostname %s isn't reserved, because this claim keeps %d others, the most that one may have: delete the Ingresses in the virtual cluster for %s", full(i), len(i.Records), leaving(i))
		return is.No(v1alpha1.ReasonTooManyHosts, message+staysInUse(i), "")
	case i.Certificate != nil && i.Certificate.State != v1alpha1.StateConfigured:
		return is.No(string(i.Certificate.State), "Certificate", i.Certificate.Message)
	case i.CertificateProblem != "":
		return is.No(v1alpha1.ReasonCertificateInvalid, "The certificate in Secret "+i.Certificate.Name+" "+i.CertificateProblem+", so that clients refuse it: replace it in that Secret", "")
	case missing(i) != "" && state != release.Absent:
		return is.No(v1alpha1.ReasonWaitingForHost, "Hostname "+missing(i)+" is being reserved for this claim", "")
	case state == release.Absent || !argocd.Runs(t):
		what := "Ingress"
		if i.Gateway != nil {
			what = "HTTPRoute"
		}
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "The "+what+" waits for Argo CD", "")
	}
	if i.Gateway != nil {
		if no := observeRoute(t, is); no != nil {
			return *no
		}
	}
	if i.HasIngress() {
		if no := observeIngress(t, is); no != nil {
			return *no
		}
	}
	return is.Yes(served(t))
}

// observeIngress returns why an Ingress isn't served; nil for one that is.
func observeIngress(t tenant.Tenant, is condition.Of) *condition.Condition {
	i, state, o := t.Ingress, release.StateOf(t.Composed(tenant.ArgoCDRelease)), t.Composed(tenant.IngressObject)
	no := func(reason, message, detail string) *condition.Condition {
		c := is.No(reason, message, detail)
		return &c
	}
	switch {
	case state.RollsOut() || !o.Exists() || !o.Get("status", "atProvider", "manifest").Has("metadata"):
		return no(v1alpha1.ReasonInstalling, "Waiting to see the Ingress for "+inUse(i), condition.Problem(o))
	case len(i.Refused) > 0:
		names, before := few.Names{}, ""
		for _, key := range i.Refused {
			names.Add(key)
		}
		if is := address(o); is != "" {
			before = ". The Ingress that was there before is served at " + is
		}
		return no(v1alpha1.ReasonIngressRefused, "The host refuses the Ingress for "+inUse(i)+", because tenants may not have these annotations: "+names.String()+
			". Remove them from spec.ingress.annotations, or ask the administrators of the host, who list those that are allowed in the ValidatingAdmissionPolicy "+host.IngressPolicy+before, "")
	case address(o) == "":
		class := "the host cluster's default class (or write spec.ingress.className)"
		if name := values.At[string](t.ArgoCD.Values, "server", "ingress", "ingressClassName"); name != "" {
			class = "class " + name
		}
		return no(v1alpha1.ReasonWaitingForAddress, "No ingress controller has given the Ingress for "+inUse(i)+" an address: one must serve "+class+", and publish where. If the host refuses the Ingress, its events in the virtual cluster say so", "")
	}
	return nil
}

// served says where the hostnames are served, and what isn't observed.
func served(t tenant.Tenant) string {
	i := t.Ingress
	urls := tenant.URLs(t.Decision)
	verb := " is"
	if len(urls) > 1 {
		verb = " are"
	}
	message := strings.Join(urls, ", ") + verb
	switch ingress := " served at " + address(t.Composed(tenant.IngressObject)); {
	case i.Gateway == nil:
		message += ingress
	case i.Gateway.KeepsIngress:
		message += servedAt(i.Gateway) + "; the Ingress is" + ingress
	default:
		message += servedAt(i.Gateway)
	}
	if len(i.NoEffect) > 0 {
		names := few.Names{Most: mostWithoutEffect}
		for _, field := range i.NoEffect {
			names.Add(field)
		}
		message += "; without effect, because a Gateway serves it: " + names.String()
	}
	if len(i.Leaving) > 0 {
		message += "; kept from other claims while the virtual cluster may have further Ingresses for it: " + leaving(i)
	}
	if i.CertificateEnds != "" {
		message += "; the certificate in Secret " + i.Certificate.Name + " " + i.CertificateEnds
	}
	if i.Issuer != "" {
		message += "; whether cert-manager has issued the certificate (" + i.Issuer + ") isn't observed"
	}
	return message
}

// mostWithoutEffect is how many of the fields that have no effect a message names.
const mostWithoutEffect = 12

// isEarlier reports whether a hostname that is asked for belongs to another tenant of a claim of this namespace and name. There is one such claim at a
// time, so that tenant is of one from before, and isn't gone yet; or one is a claim's, and the other a namespaced VirtualArgoCD's.
func isEarlier(t tenant.Tenant, a tenant.AskedHostname) bool {
	return a.Taken && a.Holder != "" && a.Holder == t.Claim.Name
}

// earlier returns the first of the hostnames that are asked for which belongs to the tenant of an earlier claim; "" for none.
func earlier(t tenant.Tenant) string {
	for _, a := range t.Ingress.Asked {
		if isEarlier(t, a) {
			return a.Name
		}
	}
	return ""
}

// taken returns which of the hostnames that are asked for are other claims', and what to write; "" for none.
func taken(t tenant.Tenant) string {
	var out []string
	for n, a := range t.Ingress.Asked {
		holder := "another claim"
		if a.Holder != "" {
			holder = "claim " + a.Holder
		}
		if a.Taken && !isEarlier(t, a) {
			out = append(out, fmt.Sprintf("Hostname %s is in use by %s: write another %s", a.Name, holder, fieldOf(n)))
		}
	}
	return strings.Join(out, "; ")
}

// full returns the first of the hostnames that are asked for which isn't reserved, because there are too many; "" for none.
func full(i tenant.Ingress) string {
	n := slices.IndexFunc(i.Asked, func(a tenant.AskedHostname) bool { return a.Full })
	if n < 0 {
		return ""
	}
	return i.Asked[n].Name
}

// missing returns the first of the hostnames that are asked for which isn't in use yet; "" for none.
func missing(i tenant.Ingress) string {
	if i.Hostname != i.Asked[0].Name {
		return i.Asked[0].Name
	}
	for _, a := range i.Asked {
		if !slices.Contains(i.InUse(), a.Name) {
			return a.Name
		}
	}
	return ""
}

// staysInUse returns the end of a message on a hostname that the tenant doesn't have.
func staysInUse(i tenant.Ingress) string {
	switch all := i.InUse(); len(all) {
	case 0:
		return ""
	case 1:
		return "; " + all[0] + " stays in use"
	default:
		return "; " + strings.Join(all, ", ") + " stay in use"
	}
}

// inUse names the hostnames of the Ingress.
func inUse(i tenant.Ingress) string {
	all := i.InUse()
	if len(all) > 1 {
		return "hostnames " + strings.Join(all, ", ")
	}
	return "hostname " + i.Hostname
}

// leaving returns the names of hostnames that are being given up.
func leaving(i tenant.Ingress) string {
	names := few.Names{Most: maxHostnames}
	for _, hostname := range i.Records {
		if !slices.Contains(i.InUse(), hostname) && !slices.ContainsFunc(i.Asked, func(a tenant.AskedHostname) bool { return a.Name == hostname }) {
			names.Add(hostname)
		}
	}
	return names.String()
}

// address returns where the ingress controller serves an Ingress; "" for nowhere. A hostile virtual API server can write anything there:
// what Kubernetes allows in that place is an IP address or a DNS name.
func address(o wire.Composed) string {
	for _, at := range o.List("status", "atProvider", "manifest", "status", "loadBalancer", "ingress") {
		if ip, err := netip.ParseAddr(at.String("ip")); err == nil && ip.Zone() == "" {
			return ip.String()
		}
		if hostname := at.String("hostname"); hostname != "" && len(validation.IsDNS1123Subdomain(hostname)) == 0 {
			return hostname
		}
	}
	return ""
}
