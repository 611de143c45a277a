package argocd

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

func TestWorkloads(t *testing.T) {
	base := []string{"server", "repo-server", "controller", "applicationset"}
	cases := map[string]struct {
		values string
		want   []string
	}{
		"Defaults":       {`{}`, append(base[:4:4], "notifications", "dex", "redis")},
		"SwitchedOff":    {`{"dex":{"enabled":false},"notifications":{"enabled":false},"redis":{"enabled":false}}`, base},
		"RedisHA":        {`{"redis-ha":{"enabled":true}}`, append(base[:4:4], "notifications", "dex", "redis-ha", "redis-proxy")},
		"RedisHADirect":  {`{"redis-ha":{"enabled":true,"haproxy":{"enabled":false}},"dex":{"enabled":null}}`, append(base[:4:4], "notifications", "redis-ha")},
		"CommitServer":   {`{"commitServer":{"enabled":true}}`, append(base[:4:4], "notifications", "commit-server", "dex", "redis")},
		"Idle":           {`{"applicationSet":{"replicas":0}}`, append(base[:4:4], "notifications", "dex", "redis")},
		"DynamicCluster": {`{"controller":{"dynamicClusterDistribution":true}}`, append(base[:4:4], "notifications", "dex", "redis")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			if err := json.Unmarshal([]byte(tc.values), &v); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range ExpectedWorkloads(v) {
				got = append(got, w.Component)
				if want := name == "Idle" && w.Component == "applicationset"; w.Idle != want {
					t.Errorf("%s is idle: want %t, got %t", w.Component, want, w.Idle)
				}
				if want := name != "DynamicCluster"; w.Component == "controller" && (w.Kind == statefulSet) != want {
					t.Errorf("the controller is a %s", w.Kind)
				}
			}
			if !reflect.DeepEqual(tc.want, got) {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
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
	server := tenant.Workload{Component: "server", Kind: deployment, Name: "argocd-server"}
	redis := tenant.Workload{Component: "redis", Kind: deployment, Name: "argocd-redis", Idle: true}
	is := func(w tenant.Workload, replicas int32, available bool) proxy.Workload {
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
			of := tenant.Tenant{Decision: &tenant.Decision{Workloads: []tenant.Workload{server, redis}}}
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
			of.Observed = observed(s)
			all, seen := workloadHealth(of)
			if got := WorkloadsAvailable(of); !seen || got != tc.want {
				t.Errorf("workloadsAvailable: want %v, got %v: %+v", tc.want, got, all)
			}
			for _, h := range all {
				if (h.message == "") != h.available {
					t.Errorf("of %s it is said: %+v", h.component, h)
				}
			}
			object := s.AsMap()["status"].(map[string]any)["atProvider"].(map[string]any)["manifest"]
			out, _, err := compile(workloadsReady(of)).Eval(map[string]any{"object": object})
			if err != nil || out.Value() != tc.want {
				t.Errorf("readiness query: want %v, got %v, %v", tc.want, out, err)
			}
		})
	}
}

// TestOldSummary: a summary of other workloads, one that is no summary, or an Object that
// isn't synced, is no news of these.
func TestOldSummary(t *testing.T) {
	server := tenant.Workload{Component: "server", Kind: deployment, Name: "argocd-server"}
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
		of := tenant.Tenant{Decision: &tenant.Decision{Workloads: []tenant.Workload{server}}}
		of.Observed = observed(s)
		if all, seen := workloadHealth(of); seen != want {
			t.Errorf("%s: seen: want %v, got %v: %+v", object, want, seen, all)
		}
	}
}

// observed is a tenant of which the summary of workloads is seen.
func observed(s *structpb.Struct) tenant.Observed {
	return tenant.Observed{Composed: map[string]wire.Composed{tenant.Workloads: {Struct: wire.Of(s)}}}
}
