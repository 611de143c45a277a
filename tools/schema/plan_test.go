package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// plansRefused returns what an API server says of a plan that isn't possible, with its own code: "" for nothing. Unknown fields are
// refused as kubectl has the API server do.
func plansRefused(t *testing.T) func(plan map[string]any) string {
	t.Helper()
	x := xrd{}
	read(t, PlanXRDFile, &x)
	props, internal := x.Spec.Versions[0].Schema.Schema, &apiextensions.JSONSchemaProps{}
	if err := extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	return func(plan map[string]any) string {
		errs := validation.ValidateCustomResource(field.NewPath(""), plan, validator)
		if len(errs) == 0 {
			errs, _ = rules.Validate(t.Context(), nil, structural, plan, nil, celconfig.RuntimeCELCostBudget)
		}
		unknown := pruning.PruneWithOptions(map[string]any{"spec": plan["spec"]}, structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if err := errs.ToAggregate(); err != nil {
			return err.Error()
		}
		if len(unknown) > 0 {
			return "unknown field " + unknown[0]
		}
		return ""
	}
}

// TestMistakesInPlans: an API server refuses them when a plan is applied, and names the field.
func TestMistakesInPlans(t *testing.T) {
	refused := plansRefused(t)
	for spec, want := range map[string]string{
		`{"argocd":{"server":{"replicas":"two"}}}`:                     "argocd.server.replicas",
		`{"argocd":{"server":{"replicas":1.5}}}`:                       "argocd.server.replicas",
		`{"argocd":{"server":{"replicas":-1}}}`:                        "argocd.server.replicas",
		`{"argocd":{"ha":"yes"}}`:                                      "argocd.ha",
		`{"argocd":[]}`:                                                "argocd",
		`{"quota":{"limits.cpu":"many"}}`:                              "quota.limits.cpu",
		`{"quota":{"limits.cpu":true}}`:                                "quota.limits.cpu",
		`{"quota":{"count/pods":-1}}`:                                  "quota.count/pods",
		`{"vcluster":{"replicas":3}}`:                                  "spec.vcluster: Invalid value: several replicas",
		`{"vcluster":{"backingStore":"mysql"}}`:                        "vcluster.backingStore",
		`{"vcluster":{"storage":{"size":"big"}}}`:                      "vcluster.storage",
		`{"argocd":{"server":{"replicas":51}}}`:                        "argocd.server.replicas",
		`{"argocd":{"server":{"replicas":0}}}`:                         "argocd.server.replicas",
		`{"vcluster":{"replicas":0}}`:                                  "vcluster.replicas",
		`{"vcluster":{"replicas":-1}}`:                                 "vcluster.replicas",
		`{"loadBalancers":-1}`:                                         "loadBalancers",
		`{"namespaces":["team-a","Team"]}`:                             "namespaces[1]",
		`{"namespaces":["team-a","-a"]}`:                               "namespaces[1]",
		`{"namespaces":["team-a",""]}`:                                 "namespaces[1]",
		`{"namespaces":["team-a","[a-z]*"]}`:                           "namespaces[1]",
		`{"namespaces":["team-a","` + strings.Repeat("a", 64) + `"]}`:  "namespaces[1]",
		`{"namespaces":[` + strings.Repeat(`"a",`, 256) + `"team-a"]}`: "namespaces",
		`{"namespaces":"team-a"}`:                                      "namespaces",
		`{"namespaces":[1]}`:                                           "namespaces[0]",
		`{"vcluster":{"storage":{"size":"0"}}}`:                        "write a size above 0",
		`{"podSecurity":"privileged"}`:                                 "podSecurity",
		`{"loadBalancers":1000}`:                                       "loadBalancers",
		`{"runtimeClass":"g visor"}`:                                   "runtimeClass",
		`{"ingress":{"tls":{"issuer":{"kind":"Vault","name":"a"}}}}`:   "ingress.tls.issuer.kind",
		`{"versions":{"kubernetes":"1.35"}}`:                           "versions.kubernetes",
		`{"quota":{"limits.cpu":"1e3"}}`:                               "quota.limits.cpu",
		`{"ingress":{"className":"a b"}}`:                              "ingress.className",
		`{"quotas":{}}`:                                                "unknown field spec.quotas",
		`{"argocd":{"server":{"replica":2}}}`:                          "unknown field spec.argocd.server.replica",
		`{"ingress":{"tls":{"issuer":{"kind":"Issuer"}}}}`:             "ingress.tls.issuer",
	} {
		plan := map[string]any{}
		if err := json.Unmarshal([]byte(`{"spec":`+spec+`}`), &plan); err != nil {
			t.Fatal(spec, err)
		}
		if got := refused(plan); !strings.Contains(got, want) {
			t.Errorf("%s: want an error about %s, got %q", spec, want, got)
		}
	}
}

// TestExamplesOfPlans: those of examples/plans are possible.
func TestExamplesOfPlans(t *testing.T) {
	refused := plansRefused(t)
	files, err := filepath.Glob(filepath.Join(root, "examples/plans/*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d examples, %v", len(files), err)
	}
	for _, file := range append(files, filepath.Join(root, "examples/channels/plan.yaml")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plan := map[string]any{}
		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &plan); err != nil {
			t.Fatal(err)
		}
		if got := refused(plan); got != "" {
			t.Errorf("%s: %s", file, got)
		}
	}
}
