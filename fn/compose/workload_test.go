package compose

import (
	"testing"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
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
	active := plan.Workload{Component: "server", Kind: plan.Deployment, Name: "argocd-server"}
	idle := active
	idle.Idle = true
	cases := map[string]struct {
		workload plan.Workload
		object   string
		want     bool
	}{
		"Available":           {active, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":2}}`, true},
		"ScaledToZero":        {active, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":0},"status":{"observedGeneration":2}}`, false},
		"ZeroIsAskedFor":      {idle, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":0},"status":{"observedGeneration":2}}`, true},
		"NoneAvailable":       {active, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1}}`, false},
		"OneMissing":          {active, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":1}}`, false},
		"OldReplicasRun":      {active, `{"kind":"Deployment","metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":0,"availableReplicas":1}}`, false},
		"ChangeNotSeen":       {active, `{"kind":"Deployment","metadata":{"generation":3},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1,"availableReplicas":1}}`, false},
		"JustCreated":         {active, `{"kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":1},"status":{}}`, false},
		"JustCreatedNoStatus": {active, `{"kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":1}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON([]byte(`{"status":{"atProvider":{"manifest":` + tc.object + `}}}`)); err != nil {
				t.Fatal(err)
			}
			o := decode.Observe(&fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{WorkloadName("server"): {Resource: s}}}})
			if h := WorkloadHealth(Tenant{Observed: o}, tc.workload); h.Available != tc.want || (h.Message == "") != tc.want {
				t.Errorf("WorkloadHealth: want %v, got %+v", tc.want, h)
			}
			object := s.AsMap()["status"].(map[string]any)["atProvider"].(map[string]any)["manifest"]
			out, _, err := compile(readiness(tc.workload)).Eval(map[string]any{"object": object})
			if err != nil || out.Value() != tc.want {
				t.Errorf("readiness query: want %v, got %v, %v", tc.want, out, err)
			}
		})
	}
}
