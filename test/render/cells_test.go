package render

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var cellsExample = filepath.Join(root, "examples", "cells")

// cells are the clusters of the tests by their names, with their labels. edge is one that is no cell.
var cells = map[string]map[string]string{
	"cell-1": {"virtualargocd.io/cell": "canary"},
	"cell-2": {"virtualargocd.io/cell": "member"},
	"cell-3": {"virtualargocd.io/cell": "member"},
	"edge":   {},
}

// An applicationSet makes Applications as Argo CD does, with the generators that examples/cells uses: clusters by their labels, lists, folders and files
// in Git, and what two of them make together. TestCells has Argo CD itself make them.
type applicationSet struct {
	t   testing.TB
	set *object
	// files are those of the repository, by their paths.
	files map[string]string
}

// applications are what the ApplicationSet makes, by name.
func (s applicationSet) applications() map[string]*object {
	s.t.Helper()
	out := map[string]*object{}
	generators, _, err := unstructured.NestedSlice(s.set.Object, "spec", "generators")
	check(s.t, err)
	options, _, err := unstructured.NestedStringSlice(s.set.Object, "spec", "goTemplateOptions")
	check(s.t, err)
	if !slices.Equal(options, []string{"missingkey=error"}) {
		s.t.Fatalf("%s: goTemplateOptions are %v", s.set.GetName(), options)
	}
	for _, g := range generators {
		for _, params := range s.params(g.(map[string]any), map[string]any{}) {
			made, _, err := unstructured.NestedMap(s.set.Object, "spec", "template")
			check(s.t, err)
			made = s.fill(made, params).(map[string]any)
			if patch := text(s.set, "spec", "templatePatch"); patch != "" {
				filled := map[string]any{}
				check(s.t, yaml.UnmarshalStrict([]byte(s.fill(patch, params).(string)), &filled))
				merge(made, filled)
			}
			made["apiVersion"], made["kind"] = "argoproj.io/v1alpha1", "Application"
			o := &object{Object: made}
			o.SetNamespace(s.set.GetNamespace())
			if out[o.GetName()] != nil {
				s.t.Errorf("ApplicationSet %s makes two Applications %s", s.set.GetName(), o.GetName())
			}
			out[o.GetName()] = o
		}
	}
	return out
}

// params are what a generator gives templates, with what the one before has given.
func (s applicationSet) params(generator, before map[string]any) (out []map[string]any) {
	s.t.Helper()
	generator = s.fill(generator, before).(map[string]any)
	for kind, g := range generator {
		g, _ := g.(map[string]any)
		switch kind {
		case "clusters":
			want, _, _ := unstructured.NestedStringMap(g, "selector", "matchLabels")
			for _, name := range slices.Sorted(maps.Keys(cells)) {
				if len(want) > 0 && isSubset(want, cells[name]) {
					out = append(out, map[string]any{"name": name, "nameNormalized": name, "server": "https://" + name + ".example.org"})
				}
			}
		case "list":
			for _, e := range g["elements"].([]any) {
				out = append(out, e.(map[string]any))
			}
		case "git":
			out = append(out, s.git(g)...)
		case "matrix":
			two := g["generators"].([]any)
			for _, a := range s.params(two[0].(map[string]any), before) {
				for _, b := range s.params(two[1].(map[string]any), a) {
					both := maps.Clone(b)
					// What the first one has given wins.
					maps.Copy(both, a)
					out = append(out, both)
				}
			}
		default:
			s.t.Fatalf("no generator %s is known here", kind)
		}
	}
	return out
}

func (s applicationSet) git(g map[string]any) (out []map[string]any) {
	prefix, _ := g["pathParamPrefix"].(string)
	of := func(p string) map[string]any {
		return map[string]any{"path": p, "basename": path.Base(p), "segments": strings.Split(p, "/")}
	}
	put := func(params map[string]any, p map[string]any) {
		if params["path"] = p; prefix != "" {
			delete(params, "path")
			params[prefix] = map[string]any{"path": p}
		}
		out = append(out, params)
	}
	match := func(key string, paths []string, found func(p string)) {
		patterns, _ := g[key].([]any)
		for _, pattern := range patterns {
			for _, p := range paths {
				if ok, err := path.Match(pattern.(map[string]any)["path"].(string), p); err != nil {
					s.t.Fatal(err)
				} else if ok {
					found(p)
				}
			}
		}
	}
	files, folders := slices.Sorted(maps.Keys(s.files)), map[string]bool{}
	for _, f := range files {
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			folders[d] = true
		}
	}
	match("files", files, func(p string) {
		params := map[string]any{}
		check(s.t, yaml.Unmarshal([]byte(s.files[p]), &params))
		put(params, of(path.Dir(p)))
	})
	match("directories", slices.Sorted(maps.Keys(folders)), func(p string) { put(map[string]any{}, of(p)) })
	return out
}

// fill fills the templates in a value.
func (s applicationSet) fill(v any, params map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			// The generators of a matrix are filled one by one.
			if key == "matrix" {
				out[key] = item
				continue
			}
			out[key] = s.fill(item, params)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.fill(item, params)
		}
		return out
	case string:
		parsed, err := template.New("").Funcs(sprig.GenericFuncMap()).Option("missingkey=error").Parse(v)
		check(s.t, err)
		out := &strings.Builder{}
		if err := parsed.Execute(out, params); err != nil {
			s.t.Fatalf("%s: %v", v, err)
		}
		return out.String()
	default:
		return v
	}
}

func merge(into, from map[string]any) {
	for key, value := range from {
		if in, ok := into[key].(map[string]any); ok {
			if more, ok := value.(map[string]any); ok {
				merge(in, more)
				continue
			}
		}
		into[key] = value
	}
}

func isSubset(want, has map[string]string) bool {
	for key, value := range want {
		if has[key] != value {
			return false
		}
	}
	return true
}

// cellsFiles are the files of examples/cells by their paths in the repository, with others beside them.
func cellsFiles(t testing.TB, more map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	check(t, filepath.WalkDir(cellsExample, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, relErr := filepath.Rel(root, p)
		check(t, relErr)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return out
}

// platformOfCells is what the Application cells-platform brings.
func platformOfCells(t testing.TB) (canary map[string]*object, others *object) {
	t.Helper()
	canary = map[string]*object{}
	for _, o := range build(t, filepath.Join(cellsExample, "platform"), false) {
		if o.GetKind() == "ApplicationSet" {
			others = o
			continue
		}
		if o.GetKind() != "Application" {
			t.Errorf("the platform has %s", identity(o))
		}
		canary[o.GetName()] = o
	}
	return canary, others
}

// TestReleaseReachesCells: what release.yaml names comes to the canary cell by sync waves, and in a later wave to each cell that has the label.
func TestReleaseReachesCells(t *testing.T) {
	release := read(t, filepath.Join(cellsExample, "platform", "release.yaml"))[0]
	revision, crossplane := text(release, "data", "revision"), text(release, "data", "crossplane")
	canary, others := platformOfCells(t)
	made := applicationSet{t, others, cellsFiles(t, nil)}.applications()
	got := map[string][]string{}
	for name, o := range made {
		got[name] = []string{text(o, "spec", "destination", "name"), text(o, "spec", "source", "targetRevision"), o.GetLabels()["virtualargocd.io/part"]}
	}
	for name, o := range canary {
		got[name] = []string{text(o, "spec", "destination", "name"), text(o, "spec", "source", "targetRevision"), o.GetAnnotations()["argocd.argoproj.io/sync-wave"]}
	}
	want := map[string][]string{
		"crossplane-canary": {"cell-1", crossplane, "10"}, "packages-canary": {"cell-1", revision, "20"},
		"crossplane-cell-2": {"cell-2", crossplane, "crossplane"}, "packages-cell-2": {"cell-2", revision, "packages"},
		"crossplane-cell-3": {"cell-3", crossplane, "crossplane"}, "packages-cell-3": {"cell-3", revision, "packages"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cluster, version, and part or wave of each Application: -want, +got:\n%s", diff)
	}
	if wave := others.GetAnnotations()["argocd.argoproj.io/sync-wave"]; wave != "30" {
		t.Errorf("the other cells have wave %q", wave)
	}
	// Whichever way it comes, it is the same.
	for _, part := range []string{"crossplane", "packages"} {
		first, later := canary[part+"-canary"], made[part+"-cell-2"]
		for _, field := range []string{"source", "project"} {
			if diff := cmp.Diff(first.Object["spec"].(map[string]any)[field], later.Object["spec"].(map[string]any)[field]); diff != "" {
				t.Errorf("%s of %s: -canary, +others:\n%s", field, part, diff)
			}
		}
		if later.GetFinalizers() != nil || first.GetFinalizers() != nil {
			t.Errorf("deleting an Application of %s deletes what it has installed", part)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "crossplane-values.yaml"))
	check(t, err)
	values := map[string]any{}
	check(t, yaml.UnmarshalStrict(data, &values))
	is, _, err := unstructured.NestedMap(canary["crossplane-canary"].Object, "spec", "source", "helm", "valuesObject")
	check(t, err)
	if diff := cmp.Diff(values, is); diff != "" {
		t.Errorf("Crossplane's values: -examples/install, +canary:\n%s", diff)
	}
	inOneStep(t, others, made)
}

// inOneStep fails unless each Application is in one step of the RollingSync, where a number bounds it: Argo CD syncs no others.
func inOneStep(t *testing.T, set *object, made map[string]*object) {
	t.Helper()
	steps := list(t, set, "spec", "strategy", "rollingSync", "steps")
	for name, o := range made {
		in := 0
		for _, step := range steps {
			for _, e := range step["matchExpressions"].([]any) {
				e := e.(map[string]any)
				if slices.Contains(e["values"].([]any), any(o.GetLabels()[e["key"].(string)])) && e["operator"] == "In" {
					in++
				}
			}
			if step["maxUpdate"] == nil {
				t.Errorf("ApplicationSet %s: a step has no bound", set.GetName())
			}
		}
		if in != 1 {
			t.Errorf("Application %s is in %d steps", name, in)
		}
	}
}

// TestCellsGetAllOfInstall: each cell gets what examples/gitops has, and a tenant that comes up after it.
func TestCellsGetAllOfInstall(t *testing.T) {
	want := build(t, filepath.Join(root, "examples", "gitops", "packages"), false)
	var probe *object
	got := slices.DeleteFunc(build(t, filepath.Join(cellsExample, "packages"), false), func(o *object) bool {
		if o.GetName() == "probe" {
			probe = o
		}
		return o.GetName() == "probe" || o.GetName() == "virtual-argocd-probe"
	})
	if diff := cmp.Diff(identitiesOf(want), identitiesOf(got)); diff != "" {
		t.Errorf("-examples/gitops/packages, +examples/cells/packages:\n%s", diff)
	}
	if probe == nil || probe.GetAnnotations()["argocd.argoproj.io/hook"] != "PostSync" {
		t.Errorf("no tenant comes up after the packages: %v", probe)
	}
}

// TestCustomersAreInTheCellOfTheirFolder renders what there is of each customer, for the cell and for the Argo CD above it.
func TestCustomersAreInTheCellOfTheirFolder(t *testing.T) {
	made := applicationSet{t, read(t, filepath.Join(cellsExample, "tenants", "customers.yaml"))[0], cellsFiles(t, nil)}.applications()
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, []string{"customer-acme", "customer-globex"}) {
		t.Fatalf("customers: %v", got)
	}
	for name, cell := range map[string]string{"acme": "cell-1", "globex": "cell-2"} {
		app := made["customer-"+name]
		if at := text(app, "spec", "destination", "server"); at != "https://kubernetes.default.svc" {
			t.Errorf("%s: what Argo CD has of a customer is at %s", name, at)
		}
		objects := map[string]*object{}
		for _, o := range chartOf(t, app, nil) {
			objects[identity(o)] = o
		}
		project, claims, namespace := objects["AppProject argocd/customer-"+name], objects["Application argocd/claims-"+name], objects["Application argocd/namespace-"+name]
		if len(objects) != 3 || project == nil || claims == nil || namespace == nil {
			t.Fatalf("%s: %v", name, slices.Sorted(maps.Keys(objects)))
		}
		there := map[string]any{"name": cell, "namespace": "customer-" + name}
		for _, o := range []*object{claims, namespace} {
			if diff := cmp.Diff([]map[string]any{there}, destinations(t, o)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", identity(o), diff)
			}
		}
		// In the project and the Application of the claim, all but the cell is as in the GitOps example, which is attacked.
		like := map[string]*object{}
		for _, o := range customerInGit(t, filepath.Join(root, "examples", "gitops", "customers", name)) {
			like[o.GetKind()] = o
		}
		want := like["AppProject"].Object["spec"].(map[string]any)
		want["destinations"] = []any{there}
		if diff := cmp.Diff(want, project.Object["spec"]); diff != "" {
			t.Errorf("project of %s: -examples/gitops, +examples/cells:\n%s", name, diff)
		}
		want = like["Application"].Object["spec"].(map[string]any)
		want["destination"] = there
		want["source"].(map[string]any)["path"] = "examples/cells/customers/" + cell
		if diff := cmp.Diff(want, claims.Object["spec"]); diff != "" {
			t.Errorf("Application of %s: -examples/gitops, +examples/cells:\n%s", name, diff)
		}
		var quota *object
		for _, o := range chartOf(t, namespace, nil) {
			if o.GetKind() == "ResourceQuota" {
				quota = o
			}
		}
		if diff := cmp.Diff(like["ResourceQuota"].Object["spec"], quota.Object["spec"]); diff != "" {
			t.Errorf("quota of %s: -examples/gitops, +examples/cells:\n%s", name, diff)
		}
	}
}

// TestMoves: a file names a cell, another one, and who moves; what comes up there is the customer's claim with its backup, whatever its file says.
func TestMoves(t *testing.T) {
	set := read(t, filepath.Join(cellsExample, "tenants", "moves.yaml"))[0]
	if made := (applicationSet{t, set, cellsFiles(t, nil)}).applications(); len(made) > 0 {
		t.Errorf("without a file, these move: %v", slices.Sorted(maps.Keys(made)))
	}
	const folder = "examples/cells/customers/cell-1/"
	files := cellsFiles(t, map[string]string{
		folder + "beta/virtual-argocd.yaml": "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: b, namespace: kube-system, labels: {tier: gold}}\n" +
			"spec: {restoreFrom: {tenant: old, backup: gone}, hibernation: {enabled: true, schedules: []}}\nmove: {customer: acme, backup: stolen, activate: 'false'}\n",
		folder + "gamma/virtual-argocd.yaml":      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: stolen}\nspec: {}\n",
		folder + "gamma/other.yaml":               "kind: Secret\n",
		"examples/cells/moves/cell-1.yaml":        "from: cell-1\nto: cell-3\nfirst: [beta]\n",
		"examples/cells/customers/cell-9/a/b.txt": "",
	})
	made := applicationSet{t, set, files}.applications()
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, []string{"move-acme", "move-beta", "move-gamma"}) {
		t.Fatalf("these move: %v", got)
	}
	inOneStep(t, set, made)
	for name, order := range map[string]string{"acme": "rest", "beta": "first"} {
		app := made["move-"+name]
		if got := app.GetLabels()["virtualargocd.io/order"]; got != order {
			t.Errorf("%s: order %s, want %s", name, got, order)
		}
		if diff := cmp.Diff([]map[string]any{{"name": "cell-3", "namespace": "customer-" + name}}, destinations(t, app)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
	byKind := map[string]*object{}
	for _, o := range chartOf(t, made["move-beta"], files) {
		byKind[o.GetKind()] = o
	}
	claim := byKind["VirtualArgoCD"]
	if claim == nil || byKind["Namespace"] == nil || byKind["ResourceQuota"] == nil || len(byKind) != 3 {
		t.Fatalf("of beta there is %v", byKind)
	}
	want := map[string]any{
		"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD",
		"metadata": map[string]any{"name": "b", "namespace": "customer-beta", "labels": map[string]any{"tier": "gold"}, "annotations": map[string]any{"virtualargocd.io/moving": "true"}},
		"spec": map[string]any{
			"restoreFrom": map[string]any{"tenant": "old", "backup": "latest", "activate": true},
			"hibernation": map[string]any{"enabled": false, "schedules": []any{}},
		},
	}
	if diff := cmp.Diff(want, claim.Object); diff != "" {
		t.Errorf("beta's claim: -want, +got:\n%s", diff)
	}
	if _, err := chartsOf(t, made["move-gamma"], files); err == nil || !strings.Contains(err.Error(), "move a claim of group virtualargocd.io") {
		t.Errorf("gamma's file is no claim: %v", err)
	}
	// One customer, looked at before it acts.
	files["examples/cells/moves/cell-1.yaml"] = "from: cell-1\nto: cell-2\ncustomers: acme\nbackup: 2026-11-28T020000Z\nactivate: false\n"
	made = applicationSet{t, set, files}.applications()
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, []string{"move-acme"}) {
		t.Fatalf("these move: %v", got)
	}
	for _, o := range chartOf(t, made["move-acme"], files) {
		if o.GetKind() != "VirtualArgoCD" {
			continue
		}
		from, _, err := unstructured.NestedMap(o.Object, "spec", "restoreFrom")
		check(t, err)
		if diff := cmp.Diff(map[string]any{"backup": "2026-11-28T020000Z", "activate": false}, from); diff != "" {
			t.Errorf("acme's restoreFrom: -want, +got:\n%s", diff)
		}
	}
}

// chartOf renders the charts of an Application in the repository, with files there as values.
func chartOf(t testing.TB, app *object, files map[string]string) []*object {
	t.Helper()
	out, err := chartsOf(t, app, files)
	check(t, err)
	return out
}

func chartsOf(t testing.TB, app *object, files map[string]string) (out []*object, err error) {
	t.Helper()
	sources, _, err := unstructured.NestedSlice(app.Object, "spec", "sources")
	check(t, err)
	if one, ok, _ := unstructured.NestedMap(app.Object, "spec", "source"); ok {
		sources = append(sources, one)
	}
	for _, s := range sources {
		source := s.(map[string]any)
		folder, ok := source["path"].(string)
		if !ok {
			continue
		}
		values := map[string]any{}
		valueFiles, _, err := unstructured.NestedStringSlice(source, "helm", "valueFiles")
		check(t, err)
		for _, f := range valueFiles {
			content, ok := files[strings.TrimPrefix(f, "$customers/")]
			if !ok {
				t.Fatalf("Application %s: there is no %s", app.GetName(), f)
			}
			check(t, yaml.Unmarshal([]byte(content), &values))
		}
		own, _, err := unstructured.NestedMap(source, "helm", "valuesObject")
		check(t, err)
		merge(values, own)
		rendered, err := renderChart(t, filepath.Join(root, filepath.FromSlash(folder)), values)
		if err != nil {
			return nil, err
		}
		out = append(out, rendered...)
	}
	return out, nil
}

// TestWhatCellsDeleteOrRetry: as in the GitOps example, nothing of a customer goes unasked, and what fails is tried again with what is in Git by then.
func TestWhatCellsDeleteOrRetry(t *testing.T) {
	var objects []*object
	for _, file := range []string{"bootstrap/root.yaml", "platform/canary.yaml", "platform/cells.yaml", "tenants/customers.yaml", "tenants/moves.yaml"} {
		objects = append(objects, read(t, filepath.Join(cellsExample, file))...)
	}
	customers := applicationSet{t, objects[len(objects)-2], cellsFiles(t, nil)}.applications()
	of := chartOf(t, customers["customer-acme"], nil)
	objects = append(objects, of...)
	policies := syncPolicies(t, objects)
	for o, policy := range policies {
		automated, _ := policy["automated"].(map[string]any)
		if prune := automated["prune"] == true; prune && (strings.HasPrefix(o.GetName(), "claims-") || strings.HasPrefix(o.GetName(), "packages")) {
			t.Errorf("%s prunes by itself", identity(o))
		}
		asks := o.GetAnnotations()["argocd.argoproj.io/sync-options"] == "Delete=confirm,Prune=confirm"
		if must := o.GetName() == "customers" || o.GetName() == "claims-acme"; must != asks {
			t.Errorf("%s asks before it is deleted: %t", identity(o), asks)
		}
		if keeps, _, _ := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "preserveResourcesOnDeletion"); o.GetKind() == "ApplicationSet" && keeps == (o.GetName() == "customers") {
			t.Errorf("%s keeps what its Applications have installed: %t", identity(o), keeps)
		}
	}
	if len(policies) != 9 {
		t.Errorf("want nine Applications and templates, got %d", len(policies))
	}
}
