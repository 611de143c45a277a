package platform

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
	"github.com/virtual-argocd/virtual-argocd/lab/node"
)

// provider-helm gets its charts in the embedded cluster, which needs one more policy.
func TestChartsAreReached(t *testing.T) {
	users, err := readManifests("../../examples/install/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := node.AddressesOf(2)
	own, err := chartsPolicy(a.Charts)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason   string
		provider string
		policies []*unstructured.Unstructured
		port     int
		want     bool
	}{
		"WithPolicy":    {"This policy is for it.", "helm", append(slices.Clone(users), own), 8879, true},
		"WithoutPolicy": {"What users apply opens no such port.", "helm", users, 8879, false},
		"OtherPort":     {"The node has more on that address.", "helm", append(slices.Clone(users), own), 10250, false},
		"OtherProvider": {"Only one needs charts.", "kubernetes", append(slices.Clone(users), own), 8879, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var policies []networkingv1.NetworkPolicy
			for _, o := range tc.policies {
				p := networkingv1.NetworkPolicy{}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
					t.Fatal(err)
				}
				policies = append(policies, p)
			}
			pod := networktest.Pod(Namespace, "virtualargocd.io/package", "provider-"+tc.provider)
			if got := networktest.Allows(policies, pod, networktest.Address(a.Node), tc.port); got != tc.want {
				t.Errorf("\n%s\nAllows(...): want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
