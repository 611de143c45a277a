package compose

import (
	"encoding/json"
	"testing"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestReadiness evaluates the queries that provider-kubernetes evaluates.
func TestReadiness(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		t.Fatal(err)
	}
	for query, cases := range map[string]map[string]bool{
		applicationReady: {
			`{"status":{"sync":{"status":"Synced"},"health":{"status":"Healthy"}}}`:    true,
			`{"status":{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"}}}`: false,
			`{"status":{"sync":{"status":"Synced"},"health":{}}}`:                      false,
			`{"status":{"sync":{"status":"Synced"}}}`:                                  false,
			`{"status":{}}`: false,
			`{}`:            false,
		},
		ingressReady: {
			`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`: true,
			`{"status":{"loadBalancer":{"ingress":[]}}}`:                   false,
			`{"status":{"loadBalancer":{}}}`:                               false,
			`{"status":{}}`:                                                false,
			`{}`:                                                           false,
		},
	} {
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

// TestWorkloadHealth holds the two judgements of a workload together: ours, and
// the query that provider-kubernetes evaluates, as it does.
func TestWorkloadHealth(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(query string) cel.Program {
		ast, issues := env.Compile(query)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		if !ast.OutputType().IsExactType(cel.BoolType) {
			t.Fatalf("the query gives a %v: provider-kubernetes takes a bool alone", ast.OutputType())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	server := plan.Workload{Component: "server", Kind: plan.Deployment, Name: "argocd-server"}
	redis := plan.Workload{Component: "redis", Kind: plan.Deployment, Name: "argocd-redis", Idle: true}
	is := func(w plan.Workload, replicas int32, available bool) proxy.Workload {
		return proxy.Workload{Kind: w.Kind, Name: w.Name, Replicas: replicas, Available: available}
	}
	cases := map[string]struct {
		summary []proxy.Workload
		want    bool
	}{
		"Available":    {[]proxy.Workload{is(server, 2, true), is(redis, 0, true)}, true},
		"ScaledToZero": {[]proxy.Workload{is(server, 0, true), is(redis, 0, true)}, false},
		"Unavailable":  {[]proxy.Workload{is(server, 2, false), is(redis, 0, true)}, false},
		"OtherIsNot":   {[]proxy.Workload{is(server, 2, true), is(redis, 0, false)}, false},
		"Missing":      {[]proxy.Workload{{Kind: server.Kind, Name: server.Name, Missing: true}, is(redis, 0, true)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tenant := Tenant{Plan: &plan.Plan{Workloads: []plan.Workload{server, redis}}}
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
			tenant.Observed = decode.Observe(&fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{Workloads: {Resource: s}}}})
			all, seen := WorkloadHealth(tenant)
			if got := workloadsAvailable(tenant); !seen || got != tc.want {
				t.Errorf("workloadsAvailable: want %v, got %v: %+v", tc.want, got, all)
			}
			for _, h := range all {
				if (h.Message == "") != h.Available {
					t.Errorf("of %s it is said: %+v", h.Component, h)
				}
			}
			object := s.AsMap()["status"].(map[string]any)["atProvider"].(map[string]any)["manifest"]
			out, _, err := compile(workloadsReady(tenant)).Eval(map[string]any{"object": object})
			if err != nil || out.Value() != tc.want {
				t.Errorf("readiness query: want %v, got %v, %v", tc.want, out, err)
			}
		})
	}
}

// TestOldSummary: a summary of other workloads, one that is no summary, or an Object that
// isn't synced, is no news of these.
func TestOldSummary(t *testing.T) {
	server := plan.Workload{Component: "server", Kind: plan.Deployment, Name: "argocd-server"}
	name := proxy.SummaryName([]proxy.Workload{{Kind: server.Kind, Name: server.Name}})
	const fine = `{"workloads":"[{\"kind\":\"Deployment\",\"name\":\"argocd-server\",\"replicas\":1,\"available\":true}]"}`
	for object, want := range map[string]bool{
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"},"data":` + fine + `}}}`: true,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"},"data":` + fine + `}},
		  "conditions":[{"type":"Synced","status":"False","reason":"ReconcileError","message":"connection refused"}]}`: false,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `-old"},"data":` + fine + `}}}`:   false,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"},"data":{"workloads":"[]"}}}}`: false,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"},"data":{"workloads":"{"}}}}`:  false,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"}}}}`:                           false,
		`{}`: false,
	} {
		s := &structpb.Struct{}
		if err := s.UnmarshalJSON([]byte(`{"status":` + object + `}`)); err != nil {
			t.Fatal(err)
		}
		tenant := Tenant{Plan: &plan.Plan{Workloads: []plan.Workload{server}}}
		tenant.Observed = decode.Observe(&fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{Workloads: {Resource: s}}}})
		if all, seen := WorkloadHealth(tenant); seen != want {
			t.Errorf("%s: seen: want %v, got %v: %+v", object, want, seen, all)
		}
	}
}
