// Package network makes a tenant's NetworkPolicies.
package network

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Ports of pods in a tenant's namespace.
const (
	virtualAPIPort   = 8443
	argocdServerPort = 8080
	acmeSolverPort   = 8089
	dnsPort          = 53
)

// metricsPorts are those at which Argo CD's application controller, API server and
// repository server serve their metrics.
var metricsPorts = []int32{8082, 8083, 8084}

// Labels that vcluster puts on the pods it makes for a tenant. A tenant's own label
// of such a key becomes another one on the host, and none of its pods is without
// (pkg/util/translate in vcluster, HostLabelsMap).
const (
	LabelManagedBy = "vcluster.loft.sh/managed-by"
	LabelNamespace = "vcluster.loft.sh/namespace"
)

// notInternet are the ranges that are no part of the internet, or lead to a cloud's
// own services for its machines.
var notInternet = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	// Azure's virtual public address of a machine's host.
	"168.63.129.16/32",
	"::/127", "64:ff9b::/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8",
}

// linkLocal are the ranges of clouds' metadata services.
var linkLocal = []string{"169.254.0.0/16", "168.63.129.16/32", "fe80::/10", "fd00:ec2::254/128"}

// controlPlane selects the pods that Helm installs: the virtual API and its store. tenants
// selects those that the syncer makes for the tenant.
var (
	controlPlane = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: LabelManagedBy, Operator: metav1.LabelSelectorOpDoesNotExist}}}
	tenants      = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: LabelManagedBy, Operator: metav1.LabelSelectorOpExists}}}
)

// Policies returns the tenant's NetworkPolicies. Policies add up, and every
// pod of the namespace is under one of the first two: what none of them lists is
// refused.
func Policies(p *tenant.Decision, in v1alpha1.Input) []networkingv1.NetworkPolicy {
	n := in.Network
	if n.Disabled {
		return nil
	}
	virtualAPI := ports(corev1.ProtocolTCP, virtualAPIPort)
	dns := tenants
	dns.MatchLabels = map[string]string{"k8s-app": "vcluster-kube-dns"}
	argocdServer := tenants
	argocdServer.MatchLabels = map[string]string{"app.kubernetes.io/name": tenant.ArgoCDServer, LabelNamespace: tenant.ArgoCDNamespace}
	policies := []networkingv1.NetworkPolicy{
		// A tenant can have the control plane call addresses of its choice, by a webhook for
		// instance: so it is held as the tenant's pods are.
		named("virtual-argocd-control-plane", networkingv1.NetworkPolicySpec{
			PodSelector: controlPlane,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: pods(controlPlane)},
				{From: slices.Concat(pods(tenants), namespaces(n.ProvidersNamespace), n.AllowFrom), Ports: virtualAPI},
			},
			Egress: append(allowed(n), networkingv1.NetworkPolicyEgressRule{To: pods(controlPlane, tenants)}, toClusterDNS(), toHostAPI(in.Host.APIServer)),
		}),
		named("virtual-argocd-tenant", networkingv1.NetworkPolicySpec{
			PodSelector: tenants,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: append(pods(tenants, controlPlane), n.AllowFrom...)}},
			Egress: append(allowed(n), []networkingv1.NetworkPolicyEgressRule{
				{To: pods(tenants)},
				{To: pods(controlPlane), Ports: virtualAPI},
				{To: internet(in)},
			}...),
		}),
		// The virtual cluster's DNS asks the host's about names that aren't its own.
		named("virtual-argocd-dns", networkingv1.NetworkPolicySpec{
			PodSelector: dns,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      []networkingv1.NetworkPolicyEgressRule{toClusterDNS()},
		}),
		fromControllers("virtual-argocd-url", n, argocdServerPort, argocdServer),
		// The pods that cert-manager runs beside an Ingress, on the host, to show that the
		// host name is its own.
		fromControllers("virtual-argocd-acme", n, acmeSolverPort, metav1.LabelSelector{MatchLabels: map[string]string{"acme.cert-manager.io/http01-solver": "true"}}),
	}
	if p.LoadBalancers > 0 {
		// Some of the tenant's pods are behind Services of type LoadBalancer.
		policies = append(policies, named("virtual-argocd-load-balancers", networkingv1.NetworkPolicySpec{
			PodSelector: tenants,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: internet(in)}},
		}))
	}
	// A rule with no peers would let all in.
	if len(n.MetricsFrom) > 0 {
		argocd := tenants
		argocd.MatchLabels = map[string]string{LabelNamespace: tenant.ArgoCDNamespace}
		policies = append(policies, named("virtual-argocd-metrics", networkingv1.NetworkPolicySpec{
			PodSelector: argocd,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: n.MetricsFrom, Ports: ports(corev1.ProtocolTCP, metricsPorts...)}},
		}))
	}
	for i := range policies {
		policies[i].Namespace = p.Names.Namespace
	}
	return policies
}

func named(name string, spec networkingv1.NetworkPolicySpec) networkingv1.NetworkPolicy {
	return networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       spec,
	}
}

// fromControllers lets the ingress controllers reach a port of pods.
func fromControllers(name string, n v1alpha1.Network, port int32, pods metav1.LabelSelector) networkingv1.NetworkPolicy {
	spec := networkingv1.NetworkPolicySpec{PodSelector: pods, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}
	// A rule with no peers would let all in.
	if len(n.IngressControllers) > 0 {
		spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{Ports: ports(corev1.ProtocolTCP, port), From: namespaces(n.IngressControllers...)}}
	}
	return named(name, spec)
}

func pods(selected ...metav1.LabelSelector) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, s := range selected {
		out = append(out, networkingv1.NetworkPolicyPeer{PodSelector: &s})
	}
	return out
}

// namespaces returns all pods of some namespaces.
func namespaces(names ...string) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, name := range names {
		out = append(out, NamespacePeer(name))
	}
	return out
}

// NamespacePeer returns all pods of a namespace.
func NamespacePeer(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}}
}

func ports(protocol corev1.Protocol, numbers ...int32) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, n := range numbers {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(n))})
	}
	return out
}

// allowed is the rule for peers that a platform adds. A rule with no peers would
// allow all.
func allowed(n v1alpha1.Network) []networkingv1.NetworkPolicyEgressRule {
	if len(n.AllowTo) == 0 {
		return nil
	}
	return []networkingv1.NetworkPolicyEgressRule{{To: n.AllowTo}}
}

func toClusterDNS() networkingv1.NetworkPolicyEgressRule {
	peer := NamespacePeer("kube-system")
	peer.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}}
	return networkingv1.NetworkPolicyEgressRule{
		To:    []networkingv1.NetworkPolicyPeer{peer},
		Ports: append(ports(corev1.ProtocolUDP, dnsPort), ports(corev1.ProtocolTCP, dnsPort)...),
	}
}

// toHostAPI is where the control plane reaches the host's API server. Policies are
// enforced on the address behind the Service, which a pod of it doesn't have.
func toHostAPI(api v1alpha1.APIServer) networkingv1.NetworkPolicyEgressRule {
	if len(api.CIDRs) == 0 {
		return networkingv1.NetworkPolicyEgressRule{To: allBut(linkLocal), Ports: ports(corev1.ProtocolTCP, 443, 6443)}
	}
	rule := networkingv1.NetworkPolicyEgressRule{Ports: ports(corev1.ProtocolTCP, api.Port)}
	for _, cidr := range api.CIDRs {
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	return rule
}

// internet is every address that isn't the platform's own.
func internet(in v1alpha1.Input) []networkingv1.NetworkPolicyPeer {
	return allBut(slices.Concat(notInternet, in.Network.InternalCIDRs, in.Host.APIServer.CIDRs))
}

// allBut returns all addresses but those of some ranges, which have been checked.
func allBut(ranges []string) []networkingv1.NetworkPolicyPeer {
	four, six := &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}, &networkingv1.IPBlock{CIDR: "::/0"}
	for _, cidr := range ranges {
		of := four
		if strings.Contains(cidr, ":") {
			of = six
		}
		of.Except = append(of.Except, cidr)
	}
	return []networkingv1.NetworkPolicyPeer{{IPBlock: four}, {IPBlock: six}}
}
