// Package networktest decides about connections as a network plugin that enforces
// NetworkPolicies does, for tests.
package networktest

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const labelNamespaceName = "kubernetes.io/metadata.name"

// Party is one end of a connection: a pod, or an address outside of the cluster.
type Party struct {
	// Namespace is a pod's; "" for an address outside of the cluster.
	Namespace string
	// NamespaceLabels are those of the pod's namespace, beside its name.
	NamespaceLabels map[string]string
	// Labels are the pod's.
	Labels map[string]string
	// IP is what IP blocks are compared with. No IP block has a pod without one.
	IP string
}

// Pod returns a pod with labels, given as keys and values by turns.
func Pod(namespace string, l ...string) Party {
	return Party{Namespace: namespace, Labels: pairs(l)}
}

// Address returns an address outside of the cluster.
func Address(ip string) Party { return Party{IP: ip} }

// In returns the pod in a namespace with these labels, given as keys and values by
// turns.
func (p Party) In(l ...string) Party {
	p.NamespaceLabels = pairs(l)
	return p
}

// At returns the pod with an address.
func (p Party) At(ip string) Party {
	p.IP = ip
	return p
}

func pairs(l []string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(l); i += 2 {
		out[l[i]] = l[i+1]
	}
	return out
}

// Allows reports whether policies let a connection through: those of the namespace
// it comes from, and those of the namespace it goes to.
func Allows(policies []networkingv1.NetworkPolicy, from, to Party, port int) bool {
	return way(policies, networkingv1.PolicyTypeEgress, from, to, port) && way(policies, networkingv1.PolicyTypeIngress, to, from, port)
}

func way(policies []networkingv1.NetworkPolicy, typ networkingv1.PolicyType, of, peer Party, port int) bool {
	selected, allowed := false, false
	for _, p := range policies {
		if of.Namespace != p.Namespace || !selects(&p.Spec.PodSelector, of.Labels) || !slices.Contains(p.Spec.PolicyTypes, typ) {
			continue
		}
		selected = true
		if typ == networkingv1.PolicyTypeEgress {
			for _, rule := range p.Spec.Egress {
				allowed = allowed || onPort(rule.Ports, port) && isPeer(p.Namespace, rule.To, peer)
			}
			continue
		}
		for _, rule := range p.Spec.Ingress {
			allowed = allowed || onPort(rule.Ports, port) && isPeer(p.Namespace, rule.From, peer)
		}
	}
	return !selected || allowed
}

func onPort(ports []networkingv1.NetworkPolicyPort, port int) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() == port })
}

func isPeer(namespace string, peers []networkingv1.NetworkPolicyPeer, p Party) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.IPBlock != nil {
			at, err := netip.ParseAddr(p.IP)
			in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(at) }
			return err == nil && in(peer.IPBlock.CIDR) && !slices.ContainsFunc(peer.IPBlock.Except, in)
		}
		if p.Namespace == "" {
			return false
		}
		inNamespace := p.Namespace == namespace
		if peer.NamespaceSelector != nil {
			l := map[string]string{labelNamespaceName: p.Namespace}
			for key, value := range p.NamespaceLabels {
				l[key] = value
			}
			inNamespace = selects(peer.NamespaceSelector, l)
		}
		return inNamespace && (peer.PodSelector == nil || selects(peer.PodSelector, p.Labels))
	})
}

func selects(s *metav1.LabelSelector, l map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(l))
}
