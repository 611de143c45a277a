// Package network makes a tenant's NetworkPolicies.
package network

import (
	_ "embed"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

//go:embed policies.yaml
var policiesYAML string

var policies = resource.FromYAML[networkingv1.NetworkPolicyList](policiesYAML)

// Policies returns the tenant's NetworkPolicies: those of policies.yaml, with what the input
// says.
func Policies(d *tenant.Decision, in v1alpha1.Input) []networkingv1.NetworkPolicy {
	n := in.Network
	if n.Disabled {
		return nil
	}
	all := map[string]*networkingv1.NetworkPolicySpec{}
	list := policies.DeepCopy().Items
	for i := range list {
		list[i].Namespace = d.Names.Namespace
		all[list[i].Name] = &list[i].Spec
	}
	controlPlane, ofTenant := all["virtual-argocd-control-plane"], all["virtual-argocd-tenant"]

	providers := namespaces(n.ProvidersNamespace)
	controlPlane.Ingress[1].From = slices.Concat(controlPlane.Ingress[1].From, providers, n.AllowFrom)
	if hostAPI := in.Host.APIServer; len(hostAPI.CIDRs) > 0 {
		rule := &controlPlane.Egress[2]
		rule.Ports = []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(hostAPI.Port))}}
		rule.To = nil
		for _, cidr := range hostAPI.CIDRs {
			rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
		}
	}
	ofTenant.Ingress[0].From = append(ofTenant.Ingress[0].From, n.AllowFrom...)
	platforms := slices.Concat(n.InternalCIDRs, in.Host.APIServer.CIDRs)
	except(ofTenant.Egress[2].To, platforms)
	balanced := all["virtual-argocd-load-balancers"].Ingress[0].From
	except(balanced, platforms)
	for _, spec := range []*networkingv1.NetworkPolicySpec{controlPlane, ofTenant} {
		// A rule with no peers would allow all.
		if len(n.AllowTo) > 0 {
			spec.Egress = slices.Insert(spec.Egress, 0, networkingv1.NetworkPolicyEgressRule{To: n.AllowTo})
		}
	}
	ingressControllers := namespaces(n.IngressControllers...)
	url, acme := all["virtual-argocd-url"], all["virtual-argocd-acme"]
	url.Ingress[0].From = append(url.Ingress[0].From, ingressControllers...)
	if d.LoadBalancers > 0 {
		url.Ingress[0].From = append(url.Ingress[0].From, balanced...)
	}
	if acme.Ingress[0].From = ingressControllers; len(ingressControllers) == 0 {
		// As above.
		acme.Ingress = nil
	}
	webhooks, of := all["virtual-argocd-webhooks"], tenant.WebhookNamespaces(d)
	webhooks.Ingress[0].From = ingressControllers
	webhooks.PodSelector.MatchExpressions[1].Values = of
	all["virtual-argocd-tunnels"].Ingress[0].From = ingressControllers
	dns := all["virtual-argocd-dns"]
	if peers := n.Resolver().Peers; len(peers) > 0 {
		dns.Egress[0].To = peers
	}
	if !d.KeepsHostDNS {
		dns.Egress = dns.Egress[:1]
	}
	all["virtual-argocd-metrics"].Ingress[0].From = n.MetricsFrom
	return slices.DeleteFunc(list, func(is networkingv1.NetworkPolicy) bool {
		switch is.Name {
		case "virtual-argocd-load-balancers":
			return d.LoadBalancers <= 0
		case "virtual-argocd-webhooks":
			// As above.
			return len(ingressControllers) == 0 || len(of) == 0
		case "virtual-argocd-tunnels":
			// As above.
			return len(ingressControllers) == 0 || len(d.Tunnels.Agents) == 0
		case "virtual-argocd-metrics":
			// As above.
			return len(n.MetricsFrom) == 0
		}
		return false
	})
}

// namespaces returns all pods of some namespaces.
func namespaces(names ...string) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, name := range names {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
		out = append(out, networkingv1.NetworkPolicyPeer{NamespaceSelector: selector})
	}
	return out
}

// except takes ranges of addresses, which have been checked, out of the blocks of all IPv4 and
// of all IPv6 addresses.
func except(blocks []networkingv1.NetworkPolicyPeer, ranges []string) {
	for _, peer := range blocks {
		for _, cidr := range ranges {
			if strings.Contains(cidr, ":") == strings.Contains(peer.IPBlock.CIDR, ":") {
				peer.IPBlock.Except = append(peer.IPBlock.Except, cidr)
			}
		}
	}
}
