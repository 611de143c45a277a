package compose

import (
	"testing"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestReadiness evaluates the queries that provider-kubernetes evaluates.
func TestReadiness(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		t.Fatal(err)
	}
	of := tenant.Tenant{Decision: &tenant.Decision{Application: map[string]any{}, Ingress: tenant.Ingress{Hostname: "a.example.org"}}}
	queries := map[string]string{}
	for _, row := range Table(of) {
		if row.Name != tenant.Bootstrap && row.Name != tenant.IngressObject {
			continue
		}
		o, err := row.Build(of)
		if err != nil {
			t.Fatal(err)
		}
		queries[row.Name] = o.Typed.(*objectv1alpha2.Object).Spec.Readiness.CelQuery
	}
	for name, cases := range map[string]map[string]bool{
		tenant.Bootstrap: {
			`{"status":{"sync":{"status":"Synced"},"health":{"status":"Healthy"}}}`:    true,
			`{"status":{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"}}}`: false,
			`{"status":{"sync":{"status":"Synced"},"health":{}}}`:                      false,
			`{"status":{"sync":{"status":"Synced"}}}`:                                  false,
			`{"status":{}}`: false,
			`{}`:            false,
		},
		tenant.IngressObject: {
			`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`: true,
			`{"status":{"loadBalancer":{"ingress":[]}}}`:                   false,
			`{"status":{"loadBalancer":{}}}`:                               false,
			`{"status":{}}`:                                                false,
			`{}`:                                                           false,
		},
	} {
		query := queries[name]
		ast, issues := env.Compile(query)
		if issues.Err() != nil || !ast.OutputType().IsExactType(cel.BoolType) {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		for object, want := range cases {
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON([]byte(object)); err != nil {
				t.Fatal(err)
			}
			if out, _, err := program.Eval(map[string]any{"object": s.AsMap()}); err != nil || out.Value() != want {
				t.Errorf("%s\n%s: want %t, got %v, %v", query, object, want, out, err)
			}
		}
	}
}
