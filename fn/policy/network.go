package policy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// network refuses what no NetworkPolicy can be made of: Helm would only say
// so once it installs a tenant.
func network(in v1alpha1.Input) error {
	for _, list := range []struct {
		field string
		cidrs []string
	}{
		{"input.network.internalCIDRs", in.Network.InternalCIDRs},
		{"input.host.apiServer.cidrs", in.Host.APIServer.CIDRs},
	} {
		for i, cidr := range list.cidrs {
			if err := checkCIDR(fmt.Sprintf("%s[%d]", list.field, i), cidr); err != nil {
				return err
			}
		}
	}
	if port := in.Host.APIServer.Port; port < 1 || port > 65535 {
		return fmt.Errorf("input.host.apiServer.port: %d is not a port: write a number from 1 to 65535, such as %d", port, tenant.DefaultAPIServerPort)
	}
	for i, name := range append(slices.Clone(in.Network.IngressControllers), in.Network.ProvidersNamespace) {
		if len(validation.IsDNS1123Label(name)) > 0 {
			field := fmt.Sprintf("input.network.ingressControllers[%d]", i)
			if i == len(in.Network.IngressControllers) {
				field = "input.network.providersNamespace"
			}
			return fmt.Errorf("%s: %q is not the name of a namespace: write one such as ingress-nginx", field, name)
		}
	}
	if err := checkPeers("input.network.allowFrom", in.Network.AllowFrom); err != nil {
		return err
	}
	return checkPeers("input.network.allowTo", in.Network.AllowTo)
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

// checkPeers refuses a peer that is nobody, or everybody.
func checkPeers(field string, all []networkingv1.NetworkPolicyPeer) error {
	for i, peer := range all {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch block := peer.IPBlock; {
		case block == nil && peer.NamespaceSelector == nil && peer.PodSelector == nil:
			return fmt.Errorf("%s: is empty: write ipBlock, namespaceSelector or podSelector", at)
		case block != nil && (peer.NamespaceSelector != nil || peer.PodSelector != nil):
			return fmt.Errorf("%s: has ipBlock and a selector: write one of them", at)
		case block != nil:
			within, err := netip.ParsePrefix(block.CIDR)
			if err != nil || within.Masked() != within {
				return fmt.Errorf("%s.ipBlock.cidr: %q is not a range of addresses: write one such as 203.0.113.0/24 or 2001:db8::/32", at, block.CIDR)
			}
			for j, except := range block.Except {
				field := fmt.Sprintf("%s.ipBlock.except[%d]", at, j)
				if err := checkCIDR(field, except); err != nil {
					return err
				}
				if p := netip.MustParsePrefix(except); p.Bits() <= within.Bits() || !within.Contains(p.Addr()) {
					return fmt.Errorf("%s: %s is no part of cidr %s: write a narrower range within it", field, except, block.CIDR)
				}
			}
		}
		for _, s := range []struct {
			name, label string
			*metav1.LabelSelector
		}{{"namespaceSelector", corev1.LabelMetadataName, peer.NamespaceSelector}, {"podSelector", "app", peer.PodSelector}} {
			if _, err := metav1.LabelSelectorAsSelector(s.LabelSelector); err != nil {
				return fmt.Errorf("%s.%s: is not a selector: %w: write one such as matchLabels: {%s: git}", at, s.name, err, s.label)
			}
		}
	}
	return nil
}
