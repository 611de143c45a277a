// Package readiness evaluates the readiness queries of composed Objects, as provider-kubernetes does.
package readiness

import (
	"encoding/json"
	"testing"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

func TestReadiness(t *testing.T) {
	of := tenant.Tenant{Decision: &tenant.Decision{Application: map[string]any{}, Ingress: tenant.Ingress{
		Hostname: "a.example.org", Gateway: &tenant.Gateway{Namespace: "gateways", Name: "public", KeepsIngress: true}, Routed: []string{"a.example.org"},
	}}}
	parent := func(conditions string) string {
		return `{"metadata":{"generation":2},"status":{"parents":[{"conditions":[` + conditions + `]}]}}`
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
		tenant.Route: {
			parent(`{"type":"Accepted","status":"True"},{"type":"ResolvedRefs","status":"True"}`):                                               true,
			parent(`{"type":"Accepted","status":"True","observedGeneration":2},{"type":"ResolvedRefs","status":"True","observedGeneration":2}`): true,
			parent(`{"type":"Accepted","status":"True","observedGeneration":1},{"type":"ResolvedRefs","status":"True","observedGeneration":2}`): false,
			parent(`{"type":"Accepted","status":"False"},{"type":"ResolvedRefs","status":"True"}`):                                              false,
			parent(`{"type":"Accepted","status":"True"},{"type":"ResolvedRefs","status":"False"}`):                                              false,
			parent(`{"type":"Accepted","status":"True"}`):                                                                                       false,
			parent(``): false,
			`{"metadata":{"generation":2},"status":{"parents":[]}}`:   false,
			`{"metadata":{"generation":2},"status":{"parents":[{}]}}`: false,
			`{"status":{}}`: false,
			`{}`:            false,
		},
	} {
		query := queryOf(t, of, name)
		program := compile(t, query)
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

// TestWorkloadHealth compares the health that the function reports of Argo CD's workloads with
// the readiness of the Object that observes them.
func TestWorkloadHealth(t *testing.T) {
	server := tenant.Workload{Component: "server", Kind: "Deployment", Name: "argocd-server"}
	redis := tenant.Workload{Component: "redis", Kind: "Deployment", Name: "argocd-redis", Idle: true}
	is := func(w tenant.Workload, replicas int32, available bool) proxy.Workload {
		return proxy.Workload{Kind: w.Kind, Name: w.Name, Replicas: replicas, Available: available}
	}
	cases := map[string]struct {
		summary []proxy.Workload
		// broken are the messages about workloads that aren't available.
		broken []string
	}{
		"Available":    {[]proxy.Workload{is(server, 2, true), is(redis, 0, true)}, nil},
		"ScaledToZero": {[]proxy.Workload{is(server, 0, true), is(redis, 0, true)}, []string{"Deployment argocd-server is scaled to no replicas"}},
		"Unavailable":  {[]proxy.Workload{is(server, 2, false), is(redis, 0, true)}, []string{"Deployment argocd-server is not fully available, replicas wanted: 2"}},
		"OtherIsNot":   {[]proxy.Workload{is(server, 2, true), is(redis, 0, false)}, []string{"Deployment argocd-redis is not fully available, replicas wanted: 0"}},
		"Missing": {[]proxy.Workload{{Kind: server.Kind, Name: server.Name, Missing: true}, is(redis, 0, true)},
			[]string{"Deployment argocd-server does not exist"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := len(tc.broken) == 0
			data, err := proxy.Summary(tc.summary)
			if err != nil {
				t.Fatal(err)
			}
			manifest := map[string]any{"metadata": map[string]any{"name": proxy.SummaryName(tc.summary)}, "data": data}
			text, err := json.Marshal(map[string]any{"status": map[string]any{"atProvider": map[string]any{"manifest": manifest}}})
			if err != nil {
				t.Fatal(err)
			}
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			of := tenant.Tenant{
				Decision: &tenant.Decision{Workloads: []tenant.Workload{server, redis}},
				Observed: tenant.Observed{
					Composed: map[string]wire.Composed{tenant.Workloads: {Struct: wire.Of(s)}},
					Summary:  tenant.ReadSummary(wire.Of(s).Get("status", "atProvider", "manifest")),
				},
			}
			if got := argocd.WorkloadsAvailable(of); got != want {
				t.Errorf("WorkloadsAvailable: want %t, got %t", want, got)
			}
			broken, _, unseen := argocd.BrokenWorkloads(of)
			if diff := cmp.Diff(tc.broken, broken); unseen || diff != "" {
				t.Errorf("BrokenWorkloads: unseen: %t, -want, +got:\n%s", unseen, diff)
			}
			object := s.AsMap()["status"].(map[string]any)["atProvider"].(map[string]any)["manifest"]
			out, _, err := compile(t, queryOf(t, of, tenant.Workloads)).Eval(map[string]any{"object": object})
			if err != nil || out.Value() != want {
				t.Errorf("readiness query: want %t, got %v, %v", want, out, err)
			}
		})
	}
}

// queryOf returns the readiness query of a tenant's Object.
func queryOf(t *testing.T, of tenant.Tenant, name string) string {
	t.Helper()
	for _, row := range compose.Table(of) {
		if row.Name == name {
			o, err := row.Build(of)
			if err != nil {
				t.Fatal(err)
			}
			return o.Typed.(*objectv1alpha2.Object).Spec.Readiness.CelQuery
		}
	}
	t.Fatalf("there is no composed resource %s", name)
	return ""
}

func compile(t *testing.T, query string) cel.Program {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(query)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		t.Fatalf("the query returns %v: provider-kubernetes accepts only bool", ast.OutputType())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
