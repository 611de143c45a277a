package policy

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// network refuses settings that can't be in a NetworkPolicy.
func network(g tenant.Given) error {
	var found []error
	if port := g.Platform.Host.APIServer.Port; port < 1 || port > 65535 {
		found = append(found, fmt.Errorf("input.host.apiServer.port: %d is not a port: write a number from 1 to 65535, such as %d", port, tenant.DefaultAPIServerPort))
	}
	if address := g.Platform.Network.Resolver().Address; address != "" {
		if is, err := netip.ParseAddr(address); err != nil || is.Zone() != "" || is.String() != address {
			found = append(found, fmt.Errorf("input.network.dns.address: %q is not an IP address: write one such as 10.96.0.53", address))
		}
	}
	return mistakes.Join(append(found,
		each("input.network.internalCIDRs", g.Platform.Network.InternalCIDRs, checkCIDR),
		each("input.host.apiServer.cidrs", g.Platform.Host.APIServer.CIDRs, checkCIDR),
		each("input.network.ingressControllers", g.Platform.Network.IngressControllers, checkNamespace),
		checkNamespace("input.network.providersNamespace", g.Platform.Network.ProvidersNamespace),
		each("input.network.allowFrom", g.Platform.Network.AllowFrom, checkPeer),
		each("input.network.metricsFrom", g.Platform.Network.MetricsFrom, checkPeer),
		each("input.network.allowTo", g.Platform.Network.AllowTo, checkPeer),
		each("input.network.dns.peers", g.Platform.Network.Resolver().Peers, checkPeer),
	)...)
}

// each returns the errors of a check of the items of a list.
func each[T any](field string, list []T, check func(field string, item T) error) error {
	var found []error
	for i, item := range list {
		found = append(found, check(fmt.Sprintf("%s[%d]", field, i), item))
	}
	return mistakes.Join(found...)
}

func checkNamespace(field, name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("%s: %q is not the name of a namespace: write one such as ingress-nginx", field, name)
	}
	return nil
}

func checkCIDR(field, cidr string) error {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || p.Masked() != p || p.Addr().Is4In6() {
		return fmt.Errorf("%s: %q is not a range of addresses: write one such as 203.0.113.0/24 or 2001:db8::/32", field, cidr)
	}
	if p.Bits() == 0 {
		return fmt.Errorf("%s: %q is every address: write a narrower range", field, cidr)
	}
	return nil
}

// checkPeer refuses a peer that isn't valid in a NetworkPolicy.
func checkPeer(field string, peer networkingv1.NetworkPolicyPeer) error {
	switch block := peer.IPBlock; {
	case block == nil && peer.NamespaceSelector == nil && peer.PodSelector == nil:
		return fmt.Errorf("%s: is empty: write ipBlock, namespaceSelector or podSelector", field)
	case block != nil && (peer.NamespaceSelector != nil || peer.PodSelector != nil):
		return fmt.Errorf("%s: has ipBlock and a selector: write one of them", field)
	case block != nil:
		within, err := netip.ParsePrefix(block.CIDR)
		if err != nil || within.Masked() != within {
			return fmt.Errorf("%s.ipBlock.cidr: %q is not a range of addresses: write one such as 203.0.113.0/24 or 2001:db8::/32", field, block.CIDR)
		}
		return each(field+".ipBlock.except", block.Except, func(field, except string) error {
			if err := checkCIDR(field, except); err != nil {
				return err
			}
			if p := netip.MustParsePrefix(except); p.Bits() <= within.Bits() || !within.Contains(p.Addr()) {
				return fmt.Errorf("%s: %s is no part of cidr %s: write a narrower range within it", field, except, block.CIDR)
			}
			return nil
		})
	}
	var found []error
	for _, s := range []struct {
		name, label string
		*metav1.LabelSelector
	}{{"namespaceSelector", corev1.LabelMetadataName, peer.NamespaceSelector}, {"podSelector", "app", peer.PodSelector}} {
		if _, err := metav1.LabelSelectorAsSelector(s.LabelSelector); err != nil {
			found = append(found, fmt.Errorf("%s.%s: is not a selector: %w: write one such as matchLabels: {%s: git}", field, s.name, err, s.label))
		}
	}
	return mistakes.Join(found...)
}
