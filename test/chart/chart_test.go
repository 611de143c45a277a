package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const registry = "registry.example.org:5000/acme"

// packed is the project with the chart and the installation file that `make push` writes, as if the packages were in a registry of somebody's.
func packed(t *testing.T) xpkg.Project {
	t.Helper()
	p := xpkg.Project{Root: "../..", Out: t.TempDir()}
	version, err := xpkg.Version(p.Root)
	if err != nil {
		t.Fatal(err)
	}
	pushed := []xpkg.Pushed{
		{Tag: registry + "/" + xpkg.FunctionName + ":" + version, Digest: "sha256:" + strings.Repeat("a", 64)},
		{Tag: registry + "/" + xpkg.ConfigurationName + ":" + version, Digest: "sha256:" + strings.Repeat("b", 64)},
	}
	if _, err := p.PackChart(registry, pushed...); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteInstallFile(registry, pushed...); err != nil {
		t.Fatal(err)
	}
	return p
}

// render renders the packed chart for Kubernetes 1.35, or one that serves more kinds, and returns its objects by kind and name: those of the release, and its hooks.
func render(t *testing.T, p xpkg.Project, values string, served ...string) (release, hooks objects, err error) {
	t.Helper()
	c, err := loader.Load(p.ChartFile())
	if err != nil {
		t.Fatal(err)
	}
	return renderChart(t, c, values, served...)
}

func renderChart(t *testing.T, c *chart.Chart, values string, served ...string) (release, hooks objects, err error) {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = slices.DeleteFunc(slices.Clone(capabilities.APIVersions), func(v string) bool { return strings.Contains(v, "MutatingAdmissionPolicy") })
	capabilities.APIVersions = append(capabilities.APIVersions, served...)
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.35.4", Major: "1", Minor: "35"}
	// This also validates the values with values.schema.json.
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "virtual-argocd", Namespace: "crossplane-system"}, capabilities)
	if err != nil {
		return nil, nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, nil, err
	}
	release, hooks = objects{}, objects{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, o := range decode(t, files[name]) {
			into := release
			if _, hook := o.GetAnnotations()["helm.sh/hook"]; hook {
				into = hooks
			}
			into.add(t, o)
		}
	}
	return release, hooks, nil
}

// objects by kind and name.
type objects map[string]map[string]any

func (all objects) add(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	key := o.GetKind() + " " + o.GetName()
	if _, ok := all[key]; ok {
		t.Errorf("%s is there twice", key)
	}
	all[key] = o.Object
}

// at is a field of an object: nil if it isn't there.
func (all objects) at(key string, path ...any) any {
	var v any = all[key]
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		object := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatalf("cannot parse: %v\n%s", err, document)
		}
		if len(object) > 0 {
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
	return out
}

func ofFiles(t *testing.T, files ...string) objects {
	t.Helper()
	all := objects{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range decode(t, string(text)) {
			all.add(t, o)
		}
	}
	return all
}

// example is a file of examples/install.
func example(name string) string { return filepath.Join("..", "..", "examples", "install", name) }

// TestSameAsFiles: with its defaults, the chart installs what the installation file and the files that are applied after it install.
func TestSameAsFiles(t *testing.T) {
	p := packed(t)
	release, hooks, err := render(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ofFiles(t, p.InstallFile(), example("providers.yaml")), release); diff != "" {
		t.Errorf("the release: -files, +chart:\n%s", diff)
	}
	for _, verb := range []string{"apply", "delete"} {
		text, _ := hooks.at("ConfigMap virtual-argocd-host-"+verb, "data", "host.yaml").(string)
		host := objects{}
		for _, o := range decode(t, text) {
			host.add(t, o)
		}
		if diff := cmp.Diff(ofFiles(t, example("providerconfigs.yaml")), host); diff != "" {
			t.Errorf("what the Job has to %s: -file, +chart:\n%s", verb, diff)
		}
	}
	check := objects{}
	for key, o := range hooks {
		if o := (&unstructured.Unstructured{Object: o}); o.GetAnnotations()["helm.sh/hook"] == "test" {
			o.SetAnnotations(nil)
			check[key] = o.Object
		}
	}
	want := ofFiles(t, example("check.yaml"))
	// It isn't in the installation file.
	image := &unstructured.Unstructured{Object: want["Job virtual-argocd-check"]}
	containers, _, _ := unstructured.NestedSlice(image.Object, "spec", "template", "spec", "containers")
	containers[0].(map[string]any)["image"] = release.at("DeploymentRuntimeConfig virtual-argocd-provider-helm",
		"spec", "deploymentTemplate", "spec", "template", "spec", "initContainers", 0, "image")
	if err := unstructured.SetNestedSlice(image.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, check); diff != "" {
		t.Errorf("the check: -file, +chart:\n%s", diff)
	}
}

// TestFolder: the folder of the chart, as it is in a clone, installs the same from where releases are published.
func TestFolder(t *testing.T) {
	c, err := loader.Load("../../charts/virtual-argocd")
	if err != nil {
		t.Fatal(err)
	}
	release, _, err := renderChart(t, c, "")
	if err != nil {
		t.Fatal(err)
	}
	want := ofFiles(t, example("providers.yaml"))
	var list struct{ Resources []string }
	text, err := os.ReadFile(example("kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, file := range list.Resources {
		if file != "providers.yaml" && file != "providerconfigs.yaml" {
			maps.Copy(want, ofFiles(t, example(file)))
		}
	}
	if diff := cmp.Diff(want, release); diff != "" {
		t.Errorf("-files, +chart:\n%s", diff)
	}
}

// pod is the path of a pod's spec in a runtime configuration.
func pod(path ...any) []any {
	return append([]any{"spec", "deploymentTemplate", "spec", "template", "spec"}, path...)
}

// TestValues: what each value changes.
func TestValues(t *testing.T) {
	p := packed(t)
	secret := []any{map[string]any{"name": "regcred"}}
	version, err := xpkg.Version(p.Root)
	if err != nil {
		t.Fatal(err)
	}
	function := xpkg.FunctionName + ":" + version + "@sha256:" + strings.Repeat("a", 64)
	type want struct {
		object string
		path   []any
		value  any
	}
	path := func(path ...any) []any { return path }
	cases := map[string]struct {
		reason, values string
		// want are fields; absent are objects, and those with a slash are hooks.
		want   []want
		absent []string
	}{
		"PullSecret": {
			"Crossplane replaces imagePullSecrets of a runtime configuration by those of the package, and looks up those of ImageConfigs by the rewritten name.",
			"pullSecret: regcred",
			[]want{
				{"Function virtual-argocd-function-virtual-argocd", path("spec", "packagePullSecrets"), secret},
				{"Configuration virtual-argocd", path("spec", "packagePullSecrets"), secret},
				{"Provider virtual-argocd-provider-helm", path("spec", "packagePullSecrets"), secret},
				{"Provider virtual-argocd-provider-kubernetes", path("spec", "packagePullSecrets"), secret},
				{"ServiceAccount virtual-argocd-check", path("imagePullSecrets"), secret},
				{"ServiceAccount virtual-argocd-host-apply", path("imagePullSecrets"), secret},
				{"ServiceAccount virtual-argocd-host-delete", path("imagePullSecrets"), secret},
			}, nil,
		},
		"PublishedRegistry": {
			"Nothing is rewritten.", "registry: " + xpkg.PublishedRegistry,
			[]want{{"DeploymentRuntimeConfig virtual-argocd-provider-helm", pod("initContainers", 0, "image"), xpkg.PublishedRegistry + "/" + function}},
			[]string{"ImageConfig virtual-argocd-packages"},
		},
		"Mirror": {
			"It has all packages, and the image of the proxies.", "{registry: " + xpkg.PublishedRegistry + ", mirror: registry.example.org/xpkg}",
			[]want{
				{"ImageConfig air-gapped", path("spec", "rewriteImage", "prefix"), "registry.example.org/xpkg"},
				{"DeploymentRuntimeConfig virtual-argocd-provider-helm", pod("initContainers", 0, "image"), "registry.example.org/xpkg/virtual-argocd/" + function},
				{"Job virtual-argocd-check", path("spec", "template", "spec", "containers", 0, "image"), "registry.example.org/xpkg/virtual-argocd/" + function},
			},
			[]string{"ImageConfig virtual-argocd-packages"},
		},
		"RegistryAndMirror": {
			"The packages of this project are in the registry.", "mirror: registry.example.org/xpkg",
			[]want{
				{"ImageConfig virtual-argocd-packages", path("spec", "rewriteImage", "prefix"), registry},
				{"DeploymentRuntimeConfig virtual-argocd-provider-helm", pod("initContainers", 0, "image"), registry + "/" + function},
			}, nil,
		},
		"Versions": {
			"The proxies have the function's.", "versions: {function: \"sha256:" + strings.Repeat("c", 64) + "\", configuration: v9.9.8}",
			[]want{
				{"Function virtual-argocd-function-virtual-argocd", path("spec", "package"), xpkg.PublishedRegistry + "/" + xpkg.FunctionName + "@sha256:" + strings.Repeat("c", 64)},
				{"Configuration virtual-argocd", path("spec", "package"), xpkg.PublishedRegistry + "/" + xpkg.ConfigurationName + ":v9.9.8"},
				{"DeploymentRuntimeConfig virtual-argocd-provider-kubernetes", pod("initContainers", 0, "image"), registry + "/" + xpkg.FunctionName + "@sha256:" + strings.Repeat("c", 64)},
			}, nil,
		},
		"ExistingProviders": {
			"They are used as they are, and waited for.",
			"providers: {helm: {existing: provider-helm}, kubernetes: {existing: theirs, serviceAccount: {name: theirs}}}",
			[]want{
				{"Job virtual-argocd-host-apply", path("spec", "template", "spec", "initContainers", 0, "args", 3), "provider.pkg.crossplane.io/provider-helm"},
				{"Job virtual-argocd-host-apply", path("spec", "template", "spec", "initContainers", 0, "args", 4), "provider.pkg.crossplane.io/theirs"},
				{"ClusterRoleBinding virtual-argocd:our-provider-kubernetes", path("subjects", 0, "name"), "theirs"},
				{"RoleBinding virtual-argocd:our-provider-kubernetes", path("subjects", 0, "namespace"), "crossplane-system"},
			},
			[]string{"Provider virtual-argocd-provider-helm", "Provider virtual-argocd-provider-kubernetes"},
		},
		"Front": {
			"The namespaced kind: what is the provider's is created by the Job.", "{front: true, providers: {kubernetes: {existing: theirs, serviceAccount: {name: theirs}}}}",
			[]want{
				{"CompositeResourceDefinition virtualargocds.m.virtualargocd.io", path("spec", "scope"), "Namespaced"},
				{"Composition virtual-argocd-front", path("spec", "compositeTypeRef", "apiVersion"), "m.virtualargocd.io/v1alpha1"},
				{"RoleBinding virtual-argocd:act-as-front", path("subjects", 0, "name"), "virtual-argocd-provider-kubernetes"},
				{"RoleBinding virtual-argocd:act-as-front", path("subjects", 1, "name"), "theirs"},
				{"ClusterRole virtual-argocd:host-apply", path("rules", 4, "resources", 0), "clusterproviderconfigs"},
				{"ClusterProviderConfig virtual-argocd-front", path("spec", "credentials", "secretRef", "name"), "virtual-argocd-front"},
				{"ClusterRole virtual-argocd:host-apply", path("rules", 3, "resourceNames", 2), "virtual-argocd-pool"},
				{"ProviderConfig virtual-argocd-pool", path("spec", "credentials", "secretRef", "name"), "virtual-argocd-pool"},
			}, nil,
		},
		"OtherProvider": {
			"In another version.", "providers: {helm: {package: xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.4.0}}",
			[]want{{"Provider virtual-argocd-provider-helm", path("spec", "package"), "xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.4.0"}}, nil,
		},
		"Runtime": {
			"What isn't named stays.",
			"runtime: {function: {pod: {nodeSelector: {a: b}}, resources: {limits: {memory: 1Gi}}, goMemLimit: 920MiB}}",
			[]want{
				{"DeploymentRuntimeConfig virtual-argocd-function", pod("nodeSelector", "a"), "b"},
				{"DeploymentRuntimeConfig virtual-argocd-function", pod("automountServiceAccountToken"), false},
				{"DeploymentRuntimeConfig virtual-argocd-function", pod("containers", 0, "resources", "limits", "memory"), "1Gi"},
				{"DeploymentRuntimeConfig virtual-argocd-function", pod("containers", 0, "resources", "requests", "cpu"), "50m"},
				{"DeploymentRuntimeConfig virtual-argocd-function", pod("containers", 0, "env", 0, "value"), "920MiB"},
				{"DeploymentRuntimeConfig virtual-argocd-provider-helm", pod("containers", 0, "env", 0, "value"), "3600MiB"},
			}, nil,
		},
		"Without": {
			"What is optional.", "{networkPolicies: false, resolver: {install: false}}",
			[]want{{"ValidatingAdmissionPolicy virtual-argocd-pods", path("spec", "failurePolicy"), "Fail"}},
			[]string{"NetworkPolicy virtual-argocd-function", "Deployment resolver", "Namespace virtual-argocd-dns"},
		},
		"OwnResolver": {
			"From a mirror.", "resolver: {image: registry.example.org/coredns:1.14.2}",
			[]want{{"Deployment resolver", path("spec", "template", "spec", "containers", 0, "image"), "registry.example.org/coredns:1.14.2"}}, nil,
		},
		"With": {
			"What is recommended for some.", "{amounts: true, claimRoles: true}",
			[]want{
				{"MutatingAdmissionPolicy virtual-argocd-amounts", path("spec", "failurePolicy"), "Fail"},
				{"ClusterRole virtual-argocd-edit", path("rules", 0, "apiGroups", 0), "virtualargocd.io"},
			}, nil,
		},
		"Verification": {
			"Crossplane looks it up by the name under which it pulls a package.", "verification: {enabled: true, secret: my-key}",
			[]want{
				{"ImageConfig virtual-argocd-verification", path("spec", "matchImages", 0, "prefix"), xpkg.PublishedRegistry + "/"},
				{"ImageConfig virtual-argocd-verification", path("spec", "matchImages", 1, "prefix"), registry + "/"},
				{"ImageConfig virtual-argocd-verification", path("spec", "verification", "cosign", "authorities", 0, "key", "secretRef", "name"), "my-key"},
			}, nil,
		},
		"Plans": {
			"Their kind comes with the Configuration, so a Job creates them.", "plans: {small: {default: true, spec: {vcluster: {replicas: 1}}}, large: {}}",
			[]want{
				{"XArgoCDPlan small", path("metadata", "labels"), map[string]any{"virtualargocd.io/default-plan": "true"}},
				{"XArgoCDPlan small", path("spec", "vcluster", "replicas"), float64(1)},
				{"XArgoCDPlan large", path("spec"), map[string]any{}},
				{"ClusterRole virtual-argocd:host-apply", path("rules", 4, "resources", 0), "xargocdplans"},
			}, nil,
		},
		"Composition": {
			"With the input of this cluster.", "composition: {name: mine, input: {kubernetes: {version: v1.35.4}}}",
			[]want{
				{"Composition mine", path("spec", "pipeline", 0, "input"), map[string]any{
					"apiVersion": "input.virtualargocd.io/v1alpha1", "kind": "Input", "kubernetes": map[string]any{"version": "v1.35.4"},
				}},
				{"Composition mine", path("spec", "pipeline", 0, "functionRef", "name"), "virtual-argocd-function-virtual-argocd"},
			}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			release, hooks, err := render(t, p, tc.values)
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(release, hooks)
			// What the Job applies.
			for _, o := range decode(t, release.at("ConfigMap virtual-argocd-host-apply", "data", "host.yaml").(string)) {
				release.add(t, o)
			}
			for _, w := range tc.want {
				if diff := cmp.Diff(w.value, release.at(w.object, w.path...)); diff != "" {
					t.Errorf("\n%s\n%s %v: -want, +got:\n%s", tc.reason, w.object, w.path, diff)
				}
			}
			for _, key := range tc.absent {
				if release[key] != nil {
					t.Errorf("\n%s\n%s is there", tc.reason, key)
				}
			}
		})
	}
}

// TestMistakes: what isn't a value of the chart is refused, with its path.
func TestMistakes(t *testing.T) {
	p := packed(t)
	for values, want := range map[string]string{
		"registries: ghcr.io/acme":                                                "'registries'",
		"registry: acme":                                                          "/registry",
		"registry: https://ghcr.io/acme":                                          "/registry",
		"providers: {helm: {install: false}}":                                     "'install'",
		"providers: {kubernetes: {existing: Theirs}}":                             "/providers/kubernetes/existing",
		"versions: {function: latest}":                                            "/versions/function",
		"versions: {function: \"v1.0.0@sha256:" + strings.Repeat("c", 64) + "\"}": "/versions/function",
		"runtime: {providerHelm: {memory: 1Gi}}":                                  "'memory'",
		"runtime: {function: {goMemLimit: 1Gi}}":                                  "/runtime/function/goMemLimit",
		"plans: {Small: {}}":                                                      "'Small'",
		"plans: {small: {vcluster: {}}}":                                          "'vcluster'",
		"verification: {enabled: true, secret: ''}":                               "/verification/secret",
		"hooks: {timeout: 5}":                                                     "/hooks/timeout",
		"networkPolicies: maybe":                                                  "/networkPolicies",
		"pullSecret: {name: regcred}":                                             "/pullSecret",
	} {
		if _, _, err := render(t, p, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %s, got %v", values, want, err)
		}
	}
}

// TestSchema: the schema has exactly the values of values.yaml, so that each has a default and a comment.
func TestSchema(t *testing.T) {
	c, err := loader.Load("../../charts/virtual-argocd")
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var ofSchema func(path string, schema map[string]any) []string
	ofSchema = func(path string, schema map[string]any) []string {
		properties, ok := schema["properties"].(map[string]any)
		// resources has those of Kubernetes.
		if !ok || strings.HasSuffix(path, ".resources") {
			return []string{path}
		}
		var out []string
		for name, value := range properties {
			if name != "global" {
				out = append(out, ofSchema(path+"."+name, value.(map[string]any))...)
			}
		}
		return out
	}
	var ofValues func(path string, value any) []string
	ofValues = func(path string, value any) []string {
		fields, ok := value.(map[string]any)
		if !ok || len(fields) == 0 {
			return []string{path}
		}
		var out []string
		for name, value := range fields {
			out = append(out, ofValues(path+"."+name, value)...)
		}
		return out
	}
	want, got := ofValues("", c.Values), ofSchema("", schema)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-values.yaml, +schema:\n%s", diff)
	}
}

// TestHooks: Jobs come after what they need, and leave nothing.
func TestHooks(t *testing.T) {
	_, hooks, err := render(t, packed(t), "")
	if err != nil {
		t.Fatal(err)
	}
	for key, o := range hooks {
		annotations := (&unstructured.Unstructured{Object: o}).GetAnnotations()
		weight := "-1"
		if strings.HasPrefix(key, "Job ") {
			weight = ""
		}
		if got := annotations["helm.sh/hook-weight"]; got != weight && (got != "0" || weight != "") || annotations["helm.sh/hook-delete-policy"] != "before-hook-creation,hook-succeeded" {
			t.Errorf("%s has annotations %s", key, fmt.Sprint(annotations))
		}
	}
}

// TestAmountsWhereServed: the policy about amounts is installed where the cluster serves its kind, unless the values say otherwise.
func TestAmountsWhereServed(t *testing.T) {
	p := packed(t)
	const policy, served = "MutatingAdmissionPolicy virtual-argocd-amounts", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
	for _, tc := range []struct {
		values string
		served []string
		want   bool
	}{
		{"", nil, false},
		{"", []string{served}, true},
		{"amounts: auto", []string{served}, true},
		{"amounts: false", []string{served}, false},
		{"amounts: true", nil, true},
		{"amounts: true", []string{served}, true},
	} {
		release, _, err := render(t, p, tc.values, tc.served...)
		if err != nil {
			t.Fatal(err)
		}
		if is := release[policy] != nil; is != tc.want {
			t.Errorf("values %q, served %v: want the policy %t, got %t", tc.values, tc.served, tc.want, is)
		}
	}
}
