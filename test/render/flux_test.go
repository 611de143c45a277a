package render

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fluxStages are Flux's Kustomizations of the example, by their names, with what each applies.
func fluxStages(t *testing.T) (stages map[string]*object, applies map[string][]*object) {
	t.Helper()
	flux := filepath.Join(root, "examples", "gitops", "flux")
	stages, applies = map[string]*object{}, map[string][]*object{}
	files, err := filepath.Glob(filepath.Join(flux, "apps", "*.yaml"))
	check(t, err)
	for _, file := range append(files, filepath.Join(flux, "root.yaml")) {
		for _, o := range read(t, file) {
			if o.GetKind() != "Kustomization" {
				continue
			}
			stages[o.GetName()] = o
			folder := filepath.Join(root, text(o, "spec", "path"))
			if kustomized, _ := filepath.Glob(filepath.Join(folder, "kustomization.yaml")); len(kustomized) > 0 {
				applies[o.GetName()] = build(t, folder, true)
				continue
			}
			// Without one, Flux takes every manifest in the folder.
			manifests, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
			check(t, err)
			for _, m := range manifests {
				applies[o.GetName()] = append(applies[o.GetName()], read(t, m)...)
			}
		}
	}
	return stages, applies
}

// TestFlux: Flux applies all that examples/install has, in stages that each need only what stages before them bring, and deletes nothing
// because it is missing in Git. TestExamplesFitTheirSchemas compares the files with Flux's schemas.
func TestFlux(t *testing.T) {
	stages, applies := fluxStages(t)
	if diff := cmp.Diff([]string{"crossplane", "customer-acme", "virtual-argocd", "virtual-argocd-host", "virtual-argocd-packages"}, slices.Sorted(maps.Keys(stages))); diff != "" {
		t.Fatalf("Kustomizations, -want +got:\n%s", diff)
	}
	for name, before := range map[string]string{"virtual-argocd-packages": "crossplane", "virtual-argocd-host": "virtual-argocd-packages", "customer-acme": "virtual-argocd-host"} {
		if diff := cmp.Diff([]map[string]any{{"name": before}}, list(t, stages[name], "spec", "dependsOn")); diff != "" {
			t.Errorf("%s depends on -want +got:\n%s", name, diff)
		}
		if wait, _, _ := unstructured.NestedBool(stages[before].Object, "spec", "wait"); !wait {
			t.Errorf("%s doesn't wait until what it applies is ready, which %s depends on", before, name)
		}
	}
	for name, o := range stages {
		if prune, found, _ := unstructured.NestedBool(o.Object, "spec", "prune"); prune || !found {
			t.Errorf("%s prunes", name)
		}
		if len(applies[name]) == 0 {
			t.Errorf("%s applies nothing", name)
		}
	}
	installed := append(slices.Clone(applies["virtual-argocd-packages"]), applies["virtual-argocd-host"]...)
	all := build(t, filepath.Join(root, "examples", "install"), false)
	if diff := cmp.Diff(identitiesOf(all), identitiesOf(installed)); diff != "" {
		t.Errorf("both stages together, compared with examples/install, -want +got:\n%s", diff)
	}
	for _, o := range applies["virtual-argocd-packages"] {
		if strings.HasPrefix(o.GetAPIVersion(), "kubernetes.crossplane.io/") {
			t.Errorf("%s is in one stage with the provider that brings its kind", identity(o))
		}
	}
}

// TestFluxGivesACustomerClaimsAlone: what is in a customer's folder is applied with rights to claims in one namespace.
func TestFluxGivesACustomerClaimsAlone(t *testing.T) {
	objects := read(t, filepath.Join(root, "examples", "gitops", "flux", "apps", "customer-acme.yaml"))
	byKind := map[string]*object{}
	for _, o := range objects {
		byKind[o.GetKind()] = o
	}
	role, binding, stage := byKind["Role"], byKind["RoleBinding"], byKind["Kustomization"]
	if len(byKind) != len(objects) || role == nil || binding == nil || stage == nil {
		t.Fatalf("want one object of each kind, got %v", identitiesOf(objects))
	}
	rules := []map[string]any{{
		"apiGroups": []any{"virtualargocd.io", "m.virtualargocd.io"}, "resources": []any{"virtualargocds"},
		"verbs": []any{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}
	if diff := cmp.Diff(rules, list(t, role, "rules")); diff != "" {
		t.Errorf("rules, -want +got:\n%s", diff)
	}
	account := text(stage, "spec", "serviceAccountName")
	subjects := []map[string]any{{"kind": "ServiceAccount", "name": account, "namespace": stage.GetNamespace()}}
	if diff := cmp.Diff(subjects, list(t, binding, "subjects")); diff != "" || text(binding, "roleRef", "name") != role.GetName() {
		t.Errorf("subjects, -want +got:\n%s", diff)
	}
	for what, namespace := range map[string]string{
		"the role": role.GetNamespace(), "its binding": binding.GetNamespace(), "the quota": byKind["ResourceQuota"].GetNamespace(),
		"the namespace": byKind["Namespace"].GetName(), "what is applied": text(stage, "spec", "targetNamespace"),
	} {
		if namespace != "customer-acme" {
			t.Errorf("%s is in namespace %q", what, namespace)
		}
	}
}

// TestFluxKnowsWhatIsHealthy evaluates the example's expressions as Flux does: a claim that is refused has failed, and one that is Ready is
// current; neither package nor claim is current before.
func TestFluxKnowsWhatIsHealthy(t *testing.T) {
	stages, _ := fluxStages(t)
	status := func(conditions ...string) map[string]any {
		all := []any{}
		for _, c := range conditions {
			kind, value, _ := strings.Cut(c, "=")
			all = append(all, map[string]any{"type": kind, "status": value})
		}
		return map[string]any{"conditions": all}
	}
	cases := map[string]struct {
		stage, kind string
		status      map[string]any
		want        string
	}{
		"AClaimThatIsReady":           {"customer-acme", "VirtualArgoCD", status("SpecAccepted=True", "Ready=True"), "current"},
		"AClaimThatComesUp":           {"customer-acme", "VirtualArgoCD", status("SpecAccepted=True", "Ready=False"), ""},
		"AClaimThatIsRefused":         {"customer-acme", "VirtualArgoCD", status("SpecAccepted=False", "Ready=False"), "failed"},
		"AChangeThatIsRefused":        {"customer-acme", "VirtualArgoCD", status("Ready=True", "SpecAccepted=False"), "failed"},
		"AClaimThatNobodyHasSeen":     {"customer-acme", "VirtualArgoCD", status(), ""},
		"AProviderThatRuns":           {"virtual-argocd-packages", "Provider", status("Installed=True", "Healthy=True"), "current"},
		"AProviderThatStarts":         {"virtual-argocd-packages", "Provider", status("Installed=True"), ""},
		"AFunctionThatIsUnhealthy":    {"virtual-argocd-packages", "Function", status("Installed=True", "Healthy=False"), ""},
		"AConfigurationThatIsHealthy": {"virtual-argocd-packages", "Configuration", status("Healthy=True", "Installed=True"), "current"},
		"AnUpgradeThatCantBePulled":   {"virtual-argocd-packages", "Configuration", status("Healthy=True", "Installed=False"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fluxHealth(t, stages[tc.stage], tc.kind, tc.status); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// fluxHealth is the first expression that holds of an object: failed or current; "" for none.
func fluxHealth(t *testing.T, stage *object, kind string, status map[string]any) string {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("status", cel.MapType(cel.StringType, cel.DynType)))
	check(t, err)
	for _, of := range list(t, stage, "spec", "healthCheckExprs") {
		if of["kind"] != kind {
			continue
		}
		for _, state := range []string{"failed", "current"} {
			expression, ok := of[state].(string)
			if !ok {
				continue
			}
			ast, issues := env.Compile(expression)
			check(t, issues.Err())
			program, err := env.Program(ast)
			check(t, err)
			value, _, err := program.Eval(map[string]any{"status": status})
			check(t, err)
			if value.Value() == true {
				return state
			}
		}
		return ""
	}
	t.Fatalf("Flux has no expression for kind %s", kind)
	return ""
}

// TestFluxHelmRelease reads the HelmRelease into its Go type, which has no other fields.
func TestFluxHelmRelease(t *testing.T) {
	objects := read(t, filepath.Join(root, "examples", "gitops", "flux", "crossplane", "crossplane.yaml"))
	release := objects[len(objects)-1]
	data, err := release.MarshalJSON()
	check(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	got := helmv2.HelmRelease{}
	check(t, decoder.Decode(&got))
	app := read(t, filepath.Join(root, "examples", "gitops", "apps", "10-crossplane.yaml"))[0]
	if of := got.Spec.Chart.Spec; of.Chart != text(app, "spec", "source", "chart") || of.Version != text(app, "spec", "source", "targetRevision") {
		t.Errorf("Flux installs chart %s %s, and Argo CD another", of.Chart, of.Version)
	}
}
