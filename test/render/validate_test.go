package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// extensions are the schemas objects are held against: Crossplane's and the
// providers' CustomResourceDefinitions, Argo CD's and Flux's for the GitOps examples,
// the Prometheus operator's for monitoring, the Gateway API's, and the project's own.
func extensions() string {
	return strings.Join([]string{
		filepath.Join(root, "schemas"),
		filepath.Join(root, xrd),
		filepath.Join(root, channelXRD),
		filepath.Join(root, planXRD),
		filepath.Join(root, poolXRD),
		filepath.Join(root, frontXRD),
		filepath.Join(root, "examples", "demo-group", "definition.yaml"),
		filepath.Join(env.modules["provider-helm"], "package", "crds"),
		filepath.Join(env.modules["provider-kubernetes"], "package", "crds"),
		filepath.Join(env.modules["crossplane"], "cluster", "crds"),
		filepath.Join(env.modules["argocd"], "manifests", "crds"),
		filepath.Join(env.modules[kustomizations], "config", "crd", "bases"),
		filepath.Join(env.modules[sources], "config", "crd", "bases"),
		strings.Join(env.gatewayAPI, ","),
		filepath.Join(env.modules[operator], "example", "prometheus-operator-crd", "monitoring.coreos.com_podmonitors.yaml"),
		filepath.Join(env.modules[operator], "example", "prometheus-operator-crd", "monitoring.coreos.com_prometheusrules.yaml"),
	}, ",")
}

// validate holds objects against their schemas, and returns what is wrong with each, in their order: "" for nothing. An
// object without a schema is wrong. Call it for many objects at once: to read the schemas takes most of the time.
func validate(t testing.TB, objects []*object) []string {
	t.Helper()
	// Most of a tenant's objects are the same at each stage.
	var distinct []*object
	index, places := map[string]int{}, make([]int, len(objects))
	for i, o := range objects {
		text := string(manifests(t, []*object{o}))
		if _, ok := index[text]; !ok {
			index[text] = len(distinct)
			distinct = append(distinct, o)
		}
		places[i] = index[text]
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	check(t, os.WriteFile(file, manifests(t, distinct), 0o600))
	// Its error says no more than its output: that objects are wrong.
	out, failed := crossplane(t.Context(), "resource", "validate", extensions(), file,
		// No image to take schemas from: all are given.
		"--crossplane-image=", "--cache-dir="+filepath.Join(env.home, "schemas"), "--error-on-missing-schemas", "--output=json")
	var answer struct {
		Resources []struct {
			APIVersion, Kind, Status string
			Errors                   []struct{ Message string }
		}
	}
	answers := 0
	for _, o := range distinct {
		answers += 1 + inputs(o)
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Resources) != answers {
		t.Fatalf("want %d answers about objects, got %d: %v, %v\n%s", answers, len(answer.Resources), failed, err, out)
	}
	wrong := make([]string, len(distinct))
	for i, o := range distinct {
		of := 1 + inputs(o)
		for _, r := range answer.Resources[:of] {
			if r.Status == "valid" {
				continue
			}
			wrong[i] += fmt.Sprintf("%s %s is %s", r.APIVersion, r.Kind, r.Status)
			for _, e := range r.Errors {
				wrong[i] += "; " + e.Message
			}
		}
		answer.Resources = answer.Resources[of:]
	}
	if failed != nil && !slices.ContainsFunc(wrong, func(s string) bool { return s != "" }) {
		t.Fatalf("no object is wrong, and yet: %v\n%s", failed, out)
	}
	of := make([]string, len(objects))
	for i, place := range places {
		of[i] = wrong[place]
	}
	return of
}

// inputs returns how many inputs of functions stand in a Composition: they are held against their schemas, too, before it.
func inputs(o *object) int {
	n := 0
	steps, _, _ := unstructured.NestedSlice(o.Object, "spec", "pipeline")
	for _, s := range steps {
		if _, ok := s.(map[string]any)["input"]; ok {
			n++
		}
	}
	return n
}

// written returns the objects that the last reconcile writes: the composite resource,
// the composed ones, and the manifests that the providers will apply.
func (te *tenant) written() []*object {
	te.t.Helper()
	objects := append([]*object{te.rendered[0]}, te.composed()...)
	for _, o := range te.composed() {
		policies, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")
		m, ok, _ := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
		// What is only observed is named, not written.
		if ok && !slices.Equal(policies, []string{"Observe"}) {
			objects = append(objects, &object{Object: m})
		}
	}
	return objects
}

// TestExamplesFitTheirSchemas holds everything that users copy, and the
// function's input in it, against the schemas.
func TestExamplesFitTheirSchemas(t *testing.T) {
	setUp(t)
	var objects []*object
	add := func(path string) {
		for _, o := range read(t, path) {
			if o.GetKind() == "HelmRelease" {
				// Flux's schema of it can't be downloaded: TestFlux reads it into its Go type.
				continue
			}
			objects = append(objects, o)
			// The schema of a ConfigMap doesn't say what its keys may be; an API server does.
			data, _, _ := unstructured.NestedMap(o.Object, "data")
			for key := range data {
				if wrong := validation.IsConfigMapKey(key); len(wrong) > 0 && o.GetKind() == "ConfigMap" {
					t.Errorf("%s: key %q: %s", path, key, wrong[0])
				}
			}
		}
	}
	for _, customer := range []string{"acme", "globex"} {
		objects = append(objects, customerInGit(t, filepath.Join(root, "examples", "gitops", "customers", customer))...)
	}
	canary, others := platformOfCells(t)
	objects = slices.AppendSeq(append(objects, others), maps.Values(canary))
	moves := map[string]string{"examples/cells/moves/cell-1.yaml": "{from: cell-1, to: cell-2}"}
	for _, set := range []*object{others, read(t, filepath.Join(cellsExample, "tenants", "customers.yaml"))[0], read(t, filepath.Join(cellsExample, "tenants", "moves.yaml"))[0]} {
		files := cellsFiles(t, moves)
		for name, app := range (applicationSet{t, set, files}).applications() {
			if objects = append(objects, app); strings.HasPrefix(name, "customer-") || strings.HasPrefix(name, "move-") {
				objects = append(objects, chartOf(t, app, files)...)
			}
		}
	}
	check(t, filepath.WalkDir(filepath.Join(root, "examples"), func(path string, d fs.DirEntry, err error) error {
		// Charts are rendered above. Components of Argo have kinds of their own: TestComponents has them applied.
		if _, missing := os.Stat(filepath.Join(path, "Chart.yaml")); missing == nil || path == filepath.Join(root, "examples", "components") {
			return fs.SkipDir
		}
		// No cluster sees Kustomize's own files, Helm's values, and what kube-state-metrics and Prometheus read. amounts.yaml is for
		// Kubernetes 1.36, whose schemas this test doesn't have.
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || strings.HasSuffix(path, "-values.yaml") ||
			slices.Contains([]string{"amounts.yaml", "kustomization.yaml", "kube-state-metrics.yaml", "scrape-configs.yaml"}, d.Name()) {
			return err
		}
		add(path)
		return nil
	}))
	add(filepath.Join(root, composition))
	add(filepath.Join(root, channelComposition))
	add(filepath.Join(root, planComposition))
	add(filepath.Join(root, xrd))
	add(filepath.Join("testdata", "input.yaml"))

	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("example %s doesn't fit its schema: %s", objects[i].GetName(), wrong)
		}
	}
}

// TestWrongObjectsAreFound shows that the schemas do find what is wrong.
func TestWrongObjectsAreFound(t *testing.T) {
	setUp(t)
	t.Parallel()
	const release = "apiVersion: helm.crossplane.io/v1beta1\nkind: Release\nmetadata: {name: wrong}\nspec: {forProvider: {namespace: x, chart: {name: argo-cd, repository: https://example.org, version: 1.0.0}"
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: wrong, namespace: default}\nspec: {selector: {}, podMetricsEndpoints: []"
	const claim = "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: wrong, namespace: default}\nspec: "
	cases := map[string]struct {
		reason, object, want string
	}{
		"UnknownField":   {"A field the provider doesn't have would be dropped in silence.", release + ", vaules: {}}}", "vaules"},
		"WrongType":      {"A field of another type would be refused by the API server.", release + ", wait: sure}}", "spec.forProvider.wait"},
		"UnknownKind":    {"An object that no schema is known for is checked by nothing.", strings.Replace(release, "Release", "Relase", 1) + "}}", "Relase"},
		"ClaimField":     {"A misspelled field of a claim would be dropped in silence.", claim + "{argocd: {chart: 9.3.7}}", "spec.argocd.chart"},
		"VersionRange":   {"Rules in the claim's schema are asked too.", claim + "{argocd: {chartVersion: 9.x}}", "write an exact version of the argo-cd chart"},
		"ClusterServer":  {"Tokens go over TLS.", claim + "{clusters: [{name: a, server: 'http://a.b', secretRef: {name: s}}]}", "write the https URL of an API server"},
		"ClusterSecret":  {"There is no field for another namespace.", claim + "{clusters: [{name: a, secretRef: {name: s, namespace: other}}]}", "spec.clusters[0].secretRef.namespace"},
		"ClusterNoRef":   {"Credentials are needed.", claim + "{clusters: [{name: a}]}", "spec.clusters[0]: Invalid value: write secretRef"},
		"URLPassword":    {"No credential in the claim.", claim + "{repositories: [{name: a, url: 'https://u:p@a.b/c'}]}", "write the URL without a password"},
		"URLNone":        {"A repository has a URL.", claim + "{repositories: [{name: a, url: a.b/c}]}", "write a URL such as https://git.example.org/team/apps.git"},
		"TypeUnknown":    {"Argo CD knows three types.", claim + "{repositories: [{name: a, url: 'https://a.b', type: svn}]}", "spec.repositories[0].type"},
		"TemplateURL":    {"A prefix of a URL is one, too.", claim + "{credentialTemplates: [{name: a, url: a, secretRef: {name: s}}]}", "write how the URLs begin"},
		"BootstrapPath":  {"Argo CD reads nothing outside the repository.", claim + "{bootstrap: {repoURL: 'https://a.b/c', path: ../x}}", "write a folder below the repository's root"},
		"BootstrapURL":   {"An Application needs a repository.", claim + "{bootstrap: {path: x}}", "spec.bootstrap: Invalid value: write one of repoURL, source and sources"},
		"IngressHost":    {"A host is no URL.", claim + "{ingress: {host: 'https://a.b'}}", "write a hostname in lower case"},
		"IngressTLS":     {"One certificate is enough.", claim + "{ingress: {tls: {secretName: a, issuer: {name: b}}}}", "write secretName or issuer, not both"},
		"SSOIssuer":      {"Tokens come over TLS.", claim + "{sso: {oidc: {issuer: 'http://a.b', clientID: c, clientSecretRef: {name: s}}}}", "write the https URL of the provider"},
		"PlanName":       {"A plan's name is a label's value.", claim + "{plan: 'a/b'}", "write the name of a plan"},
		"ProtectionText": {"A switch is true or false.", claim + "{deletionProtection: sure}", "spec.deletionProtection"},
		"WindowBoth":     {"A window has an offset or a time zone.", claim + "{maintenance: {timeWindow: {begin: '220000+0100', end: '030000', timeZone: Europe/Berlin}}}", "spec.maintenance.timeWindow.begin: Invalid value: is 220000+0100, and timeZone is Europe/Berlin: write hours, minutes and seconds alone"},
		"WindowNeither":  {"It has one of them.", claim + "{maintenance: {timeWindow: {begin: '220000+0100', end: '030000'}}}", "spec.maintenance.timeWindow.end: Invalid value: is 030000, without an offset from UTC: write it, such as 030000+0100, or set timeZone"},
		"WindowZone":     {"A time zone has a name.", claim + "{maintenance: {timeWindow: {begin: '220000', end: '030000', timeZone: '+01:00'}}}", "write a name of the IANA time zone database, such as Europe/Berlin"},
		"WindowLocal":    {"Local is none.", claim + "{maintenance: {timeWindow: {begin: '220000', end: '030000', timeZone: Local}}}", "write a name of the IANA time zone database, such as Europe/Berlin"},
		"WindowTime":     {"A time of day has digits alone.", claim + "{maintenance: {timeWindow: {begin: '22:00', end: '030000', timeZone: UTC}}}", "write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or 220000 with timeZone"},
		"InputField":     {"The function's input has a schema like everything else.", "apiVersion: input.virtualargocd.io/v1alpha1\nkind: Input\nmetadata: {name: wrong}\nstorage: {class: fast}", "storage.class"},
		"MonitorField":   {"So have those of the Prometheus operator.", monitor + ", samplelimit: 1}", "spec.samplelimit"},
		"MonitorSize":    {"A size has a unit.", monitor + ", bodySizeLimit: 8 megabytes}", "spec.bodySizeLimit"},
		"ManifestField":  {"So have Kubernetes' own kinds.", "apiVersion: v1\nkind: Namespace\nmetadata: {name: wrong, label: {a: b}}", "metadata.label"},
	}
	names := slices.Sorted(maps.Keys(cases))
	var objects []*object
	for _, name := range names {
		objects = append(objects, parse(t, []byte(cases[name].object))[0])
	}
	for i, wrong := range validate(t, objects) {
		t.Run(names[i], func(t *testing.T) {
			if tc := cases[names[i]]; wrong == "" || !strings.Contains(wrong, tc.want) {
				t.Errorf("\n%s\nvalidate(...): want an error that names %q, got %q", tc.reason, tc.want, wrong)
			}
		})
	}
}
