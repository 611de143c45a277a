package resolve

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestPlatformWins: no claim that is accepted changes a protected value.
func TestPlatformWins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plain, err := Tenant(tenant.Given{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := vcluster.Protected(plain, tenant.WithDefaults(tenant.Given{}.Input), &values.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	protected := values.Leaves(ours)
	accepted := 0
	for range 20000 {
		claim := values.Values{}
		for range 1 + r.IntN(2) {
			path := strings.Split(values.VCluster.Rows[r.IntN(len(values.VCluster.Rows))].Path, ".")
			if r.IntN(2) == 0 {
				path = protected[r.IntN(len(protected))]
			}
			path = path[:1+r.IntN(len(path))]
			values.Insert(claim, []any{"evil", nil, []any{"evil"}, values.Values{}, values.Values{"evil": true}}[r.IntN(5)], path...)
		}
		p, err := Tenant(tenant.Given{XRName: "a", Spec: tenant.Ask{VClusterValues: claim}})
		if err != nil {
			for _, mistake := range mistakes.Each(err) {
				if !strings.HasPrefix(mistake.Error(), "spec.vcluster.values.") {
					t.Fatalf("%v: the error doesn't name the path: %v", claim, err)
				}
			}
			continue
		}
		accepted++
		for _, path := range protected {
			want, _ := values.Lookup(plain.VirtualCluster.Values, path...)
			if got, _ := values.Lookup(p.VirtualCluster.Values, path...); !reflect.DeepEqual(want, got) {
				t.Fatalf("claim %v changed protected %v: %v", claim, path, got)
			}
		}
	}
	if accepted == 0 {
		t.Fatal("no claim was accepted: nothing was tested")
	}
}

// TestProtectedValuesAreLast: where the platform's input has a protected value, too,
// the protected one counts.
func TestProtectedValuesAreLast(t *testing.T) {
	in := v1alpha1.Input{}
	in.Charts.VCluster.Values = &runtime.RawExtension{Raw: []byte(`{"controlPlane":{"statefulSet":{"env":[{"name":"A","value":"b"}]}}}`)}
	in.Charts.ArgoCD.Values = &runtime.RawExtension{Raw: []byte(`{"fullnameOverride":"mine"}`)}
	p, err := Tenant(tenant.Given{XRName: "a", Input: in})
	if err != nil {
		t.Fatal(err)
	}
	env, _ := values.Lookup(p.VirtualCluster.Values, vcluster.PathOfEnvironment...)
	name, _ := values.Lookup(p.ArgoCD.Values, "fullnameOverride")
	if list, _ := env.([]any); len(list) != 2 || name != tenant.HelmArgoCD {
		t.Errorf("want the variable of the input with the function's own, and name %s, got %v, %v", tenant.HelmArgoCD, env, name)
	}
}
