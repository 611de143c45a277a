// Package network makes a tenant's NetworkPolicies.
package network

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/policy"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Ports of pods in a tenant's namespace.
const (
	// virtualAPIPort is the virtual API server's.
	virtualAPIPort = 8443
	// argocdServerPort is that of Argo CD's API server.
	argocdServerPort = 8080
	acmeSolverPort   = 8089
	dnsPort          = 53
)

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

// everywhere are all addresses.
var everywhere = []string{"0.0.0.0/0", "::/0"}

// Policies returns the tenant's NetworkPolicies. Policies add up, and every
// pod of the namespace is under one of the first two: what none of them lists is
// refused.
func Policies(p *tenant.Decision, in v1alpha1.Input) ([]networkingv1.NetworkPolicy, error) {
	n := in.Network
	if n.Disabled {
		return nil, nil
	}
	policies := []networkingv1.NetworkPolicy{controlPlanePolicy(in), tenantPolicy(in), dnsPolicy(), urlPolicy(n), acmePolicy(n)}
	if p.LoadBalancers > 0 {
		policies = append(policies, loadBalancerPolicy(in))
	}
	for i := range policies {
		policies[i].TypeMeta = metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"}
		policies[i].Namespace = p.Names.Namespace
	}
	return policies, nil
}

// controlPlanePolicy is for the pods of the virtual cluster's control plane. A
// tenant can have it call addresses of its choice, by a webhook for instance: so
// it is held as its pods are.
func controlPlanePolicy(in v1alpha1.Input) networkingv1.NetworkPolicy {
	api := ports(corev1.ProtocolTCP, virtualAPIPort)
	return networkPolicy("virtual-argocd-control-plane", controlPlane(),
		[]networkingv1.NetworkPolicyIngressRule{
			{From: peers(podPeer(controlPlane()))},
			{Ports: api, From: append(peers(podPeer(tenantPods()), NamespacePeer(in.Network.ProvidersNamespace)), in.Network.AllowFrom...)},
		},
		append(egress(in.Network.AllowTo),
			networkingv1.NetworkPolicyEgressRule{To: peers(podPeer(controlPlane()), podPeer(tenantPods()))},
			toClusterDNS(), toHostAPI(in.Host.APIServer)))
}

// tenantPolicy is for the pods that run for the tenant.
func tenantPolicy(in v1alpha1.Input) networkingv1.NetworkPolicy {
	n := in.Network
	return networkPolicy("virtual-argocd-tenant", tenantPods(),
		[]networkingv1.NetworkPolicyIngressRule{{From: append(peers(podPeer(tenantPods()), podPeer(controlPlane())), n.AllowFrom...)}},
		append(egress(n.AllowTo),
			networkingv1.NetworkPolicyEgressRule{To: peers(podPeer(tenantPods()))},
			networkingv1.NetworkPolicyEgressRule{To: peers(podPeer(controlPlane())), Ports: ports(corev1.ProtocolTCP, virtualAPIPort)},
			networkingv1.NetworkPolicyEgressRule{To: internet(in)}))
}

// loadBalancerPolicy lets the internet reach the tenant's pods, some of which are
// behind Services of type LoadBalancer.
func loadBalancerPolicy(in v1alpha1.Input) networkingv1.NetworkPolicy {
	p := networkPolicy("virtual-argocd-load-balancers", tenantPods(), []networkingv1.NetworkPolicyIngressRule{{From: internet(in)}}, nil)
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	return p
}

// dnsPolicy is for the virtual cluster's DNS, which asks the host's about names
// that aren't its own.
func dnsPolicy() networkingv1.NetworkPolicy {
	selector := tenantPods()
	selector.MatchLabels = map[string]string{"k8s-app": "vcluster-kube-dns"}
	p := networkPolicy("virtual-argocd-dns", selector, nil, []networkingv1.NetworkPolicyEgressRule{toClusterDNS()})
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	return p
}

// urlPolicy lets the ingress controllers reach Argo CD's API server.
func urlPolicy(n v1alpha1.Network) networkingv1.NetworkPolicy {
	selector := tenantPods()
	selector.MatchLabels = map[string]string{"app.kubernetes.io/name": tenant.ArgoCDServer, LabelNamespace: tenant.ArgoCDNamespace}
	return ingressPolicy("virtual-argocd-url", selector, n, argocdServerPort)
}

// acmePolicy lets them reach the pods that cert-manager runs beside an Ingress, on
// the host, to show that the host name is its own.
func acmePolicy(n v1alpha1.Network) networkingv1.NetworkPolicy {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"acme.cert-manager.io/http01-solver": "true"}}
	return ingressPolicy("virtual-argocd-acme", selector, n, acmeSolverPort)
}

func ingressPolicy(name string, pods metav1.LabelSelector, n v1alpha1.Network, port int32) networkingv1.NetworkPolicy {
	var from []networkingv1.NetworkPolicyPeer
	for _, namespace := range n.IngressControllers {
		from = append(from, NamespacePeer(namespace))
	}
	p := networkPolicy(name, pods, nil, nil)
	// A rule with no peers would let all in.
	if len(from) > 0 {
		p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{Ports: ports(corev1.ProtocolTCP, port), From: from}}
	}
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	return p
}

func networkPolicy(name string, pods metav1.LabelSelector, in []networkingv1.NetworkPolicyIngressRule, out []networkingv1.NetworkPolicyEgressRule) networkingv1.NetworkPolicy {
	return networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods, Ingress: in, Egress: out,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
}

// controlPlane selects the pods that Helm installs: the virtual API and its store.
func controlPlane() metav1.LabelSelector { return withManagedBy(metav1.LabelSelectorOpDoesNotExist) }

// tenantPods selects those that the syncer makes for the tenant.
func tenantPods() metav1.LabelSelector { return withManagedBy(metav1.LabelSelectorOpExists) }

func withManagedBy(op metav1.LabelSelectorOperator) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: LabelManagedBy, Operator: op}}}
}

func peers(p ...networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer { return p }

func podPeer(s metav1.LabelSelector) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &s}
}

// NamespacePeer returns all pods of a namespace.
func NamespacePeer(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{policy.LabelNamespaceName: name}}}
}

func ports(protocol corev1.Protocol, numbers ...int32) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, n := range numbers {
		port := intstr.FromInt32(n)
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port})
	}
	return out
}

// egress is the rule for peers that a platform adds. A rule with no peers would
// allow all.
func egress(to []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyEgressRule {
	if len(to) == 0 {
		return nil
	}
	return []networkingv1.NetworkPolicyEgressRule{{To: to}}
}

func toClusterDNS() networkingv1.NetworkPolicyEgressRule {
	peer := NamespacePeer("kube-system")
	peer.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}}
	return networkingv1.NetworkPolicyEgressRule{
		To:    peers(peer),
		Ports: append(ports(corev1.ProtocolUDP, dnsPort), ports(corev1.ProtocolTCP, dnsPort)...),
	}
}

// toHostAPI is where the control plane reaches the host's API server. Policies are
// enforced on the address behind the Service, which a pod of it doesn't have.
func toHostAPI(api v1alpha1.APIServer) networkingv1.NetworkPolicyEgressRule {
	if len(api.CIDRs) == 0 {
		return networkingv1.NetworkPolicyEgressRule{To: blocks(linkLocal), Ports: ports(corev1.ProtocolTCP, 443, 6443)}
	}
	rule := networkingv1.NetworkPolicyEgressRule{Ports: ports(corev1.ProtocolTCP, api.Port)}
	for _, cidr := range api.CIDRs {
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	return rule
}

// internet is every address that isn't the platform's own.
func internet(in v1alpha1.Input) []networkingv1.NetworkPolicyPeer {
	return blocks(slices.Concat(notInternet, in.Network.InternalCIDRs, in.Host.APIServer.CIDRs))
}

// blocks are all addresses but those of some ranges, which have been checked.
func blocks(except []string) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, all := range everywhere {
		block := &networkingv1.IPBlock{CIDR: all}
		four := netip.MustParsePrefix(all).Addr().Is4()
		for _, cidr := range except {
			if netip.MustParsePrefix(cidr).Addr().Is4() == four {
				block.Except = append(block.Except, cidr)
			}
		}
		out = append(out, networkingv1.NetworkPolicyPeer{IPBlock: block})
	}
	return out
}
