package platform

import (
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// chartsPolicy lets provider-helm reach the embedded cluster's own chart repository, beside what
// examples/install/network.yaml lets it reach: that is on a private address, and speaks plain http.
func chartsPolicy(charts string) (*unstructured.Unstructured, error) {
	u, err := url.Parse(charts)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the address of the chart repository: %w", err)
	}
	number, err := strconv.Atoi(u.Port())
	if err != nil {
		return nil, fmt.Errorf("cannot parse the port of the chart repository %s: %w", charts, err)
	}
	tcp, port := corev1.ProtocolTCP, intstr.FromInt(number)
	policy := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "lab-charts"},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"virtualargocd.io/package": "provider-helm"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{
				To:    []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: u.Hostname() + "/32"}}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}},
			}},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy)
	return &unstructured.Unstructured{Object: content}, err
}
