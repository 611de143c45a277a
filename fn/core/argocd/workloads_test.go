package argocd

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

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
		// It isn't read by half.
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"},"data":` + strings.Replace(fine, `}]"`, `},5]"`, 1) + `}}}`: false,
		`{"atProvider":{"manifest":{"metadata":{"name":"` + name + `"}}}}`:                                                         false,
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

// TestRunningVersion: only a short version leaves a virtual cluster.
func TestRunningVersion(t *testing.T) {
	server := tenant.Workload{Component: "server", Kind: deployment, Name: "argocd-server"}
	for image, want := range map[string]string{
		"quay.io/argoproj/argocd:v3.2.6":                                 "v3.2.6",
		"10.0.0.1:5000/argoproj/argocd:3.2.6-acme.1":                     "3.2.6-acme.1",
		"quay.io/argoproj/argocd:v3.2.6@sha256:0123":                     "v3.2.6",
		"quay.io/argoproj/argocd@sha256:0123":                            "",
		"quay.io/argoproj/argocd:latest":                                 "",
		"quay.io/argoproj/argocd:v3":                                     "",
		"quay.io/argoproj/argocd:v3.2.6 ALL TENANTS ARE BROKEN":          "",
		"quay.io/argoproj/argocd:v3.2.6\nx":                              "",
		"quay.io/argoproj/argocd:v3.2.6-" + strings.Repeat("a", 25):      "v3.2.6-" + strings.Repeat("a", 25),
		"quay.io/argoproj/argocd:v3.2.6-" + strings.Repeat("a", 26):      "",
		"quay.io/argoproj/argocd:v3.2.6-call-555-0100-to-have-it-mended": "",
	} {
		for _, available := range []bool{true, false} {
			workloads, err := json.Marshal([]proxy.Workload{{Kind: server.Kind, Name: server.Name, Replicas: 1, Available: available, Images: map[string]string{"server": image}}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := structpb.NewStruct(map[string]any{"status": map[string]any{"atProvider": map[string]any{"manifest": map[string]any{
				"metadata": map[string]any{"name": proxy.SummaryName([]proxy.Workload{{Kind: server.Kind, Name: server.Name}})},
				"data":     map[string]any{proxy.SummaryWorkloads: string(workloads)},
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			of := tenant.Tenant{Decision: &tenant.Decision{Workloads: []tenant.Workload{server}}}
			of.Observed = observed(s)
			wanted := want
			if !available {
				wanted = ""
			}
			if got, known := RunningVersion(of); got != wanted || known != available {
				t.Errorf("%q, available %t: want %q, got %q, known %t", image, available, wanted, got, known)
			}
		}
	}
}

// observed is a tenant of which the Object with the summary of workloads is seen.
func observed(s *structpb.Struct) tenant.Observed {
	o := wire.Composed{Struct: wire.Of(s)}
	return tenant.Observed{Composed: map[string]wire.Composed{tenant.Workloads: o}, Summary: tenant.ReadSummary(o.Get("status", "atProvider", "manifest"))}
}
