package render

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestCustomersFindTheirFolders holds what each customer's Argo CD of the GitOps example begins with against its claim: the
// folder is there, the claim has what opens it, and what is in it deploys only to clusters that this Argo CD knows.
func TestCustomersFindTheirFolders(t *testing.T) {
	gitops := filepath.Join(root, "examples", "gitops")
	common := text(read(t, filepath.Join(gitops, "apps", "30-customers.yaml"))[0], "spec", "template", "spec", "source", "repoURL")
	claims, err := filepath.Glob(filepath.Join(gitops, "customers", "*", "virtual-argocd.yaml"))
	check(t, err)
	layouts := map[bool]int{}
	for _, file := range claims {
		claim := read(t, file)[0]
		repo, path := text(claim, "spec", "bootstrap", "repoURL"), text(claim, "spec", "bootstrap", "path")
		// A customer's own repository is the folder beside ours that has its name.
		folder := filepath.Join(gitops, claim.GetName()+"-deployments", path)
		if layouts[repo == common]++; repo == common {
			folder = filepath.Join(root, path)
		}
		knows := []string{"https://kubernetes.default.svc", "in-cluster"}
		for _, c := range list(t, claim, "spec", "clusters") {
			knows = append(knows, c["name"].(string))
		}
		credentials := []string{common}
		for _, r := range list(t, claim, "spec", "repositories") {
			credentials = append(credentials, r["url"].(string))
		}
		if !slices.Contains(credentials, repo) {
			t.Errorf("%s: nothing opens %s", file, repo)
		}
		entries, err := os.ReadDir(folder)
		check(t, err)
		for _, e := range entries {
			for _, o := range read(t, filepath.Join(folder, e.Name())) {
				if o.GetNamespace() != "argocd" || !strings.HasPrefix(o.GetAPIVersion(), "argoproj.io/") {
					t.Errorf("%s: %s %s in namespace %q is nothing that Argo CD deploys from", e.Name(), o.GetKind(), o.GetName(), o.GetNamespace())
				}
				for _, to := range destinations(t, o) {
					if at, _ := to["server"].(string); at != "" && !slices.Contains(knows, at) {
						t.Errorf("%s: server %s is none that this Argo CD knows: %v", e.Name(), at, knows)
					}
					if at, _ := to["name"].(string); at != "" && at != "{{.name}}" && !slices.Contains(knows, at) {
						t.Errorf("%s: cluster %s is none that this Argo CD knows: %v", e.Name(), at, knows)
					}
				}
			}
		}
	}
	if layouts[true] == 0 || layouts[false] == 0 {
		t.Errorf("want customers with a folder in the common repository, and some with one of their own: %v", layouts)
	}
}

// TestCustomersInGitHaveTheirNamespaceAlone: what the ApplicationSet makes of a folder allows claims and what becomes their
// Secrets, in one namespace that has the folder's name, and nothing else. TestCustomersInGit attacks it on a real Argo CD.
func TestCustomersInGitHaveTheirNamespaceAlone(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "examples", "gitops", "customers", "*"))
	check(t, err)
	if len(folders) < 2 {
		t.Fatalf("want the folders of two customers, got %v", folders)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		namespace := "customer-" + name
		byKind := map[string]*object{}
		for _, o := range customerInGit(t, folder) {
			byKind[o.GetKind()] = o
		}
		project, app := byKind["AppProject"], byKind["Application"]
		if len(byKind) != 4 || project == nil || app == nil || byKind["Namespace"].GetName() != namespace {
			t.Fatalf("%s: want a namespace, a quota, a project and an Application, got %v", name, byKind)
		}
		if got := byKind["Namespace"].GetAnnotations()["virtualargocd.io/writes-for-customers"]; got != "system:serviceaccount:argocd:argocd-application-controller" {
			t.Errorf("%s: Argo CD is the platform in the customer's namespace: %q", name, got)
		}
		hard := map[string]any{"count/virtualargocds.virtualargocd.io": "5", "count/virtualargocds.m.virtualargocd.io": "0"}
		if quota := byKind["ResourceQuota"]; quota == nil || quota.GetNamespace() != namespace || !cmp.Equal(quota.Object["spec"], map[string]any{"hard": hard}) {
			t.Errorf("%s: want a quota of claims, %v, got %v", name, hard, quota)
		}
		kind := func(group, kind string) map[string]any { return map[string]any{"group": group, "kind": kind} }
		own := map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace}
		want := map[string]any{
			"description": "Claims of one customer", "sourceRepos": []any{text(app, "spec", "source", "repoURL")}, "destinations": []any{own},
			"clusterResourceWhitelist": []any{},
			"namespaceResourceWhitelist": []any{
				kind("virtualargocd.io", "VirtualArgoCD"), kind("m.virtualargocd.io", "VirtualArgoCD"), kind("bitnami.com", "SealedSecret"), kind("external-secrets.io", "ExternalSecret"),
			},
		}
		if diff := cmp.Diff(want, project.Object["spec"]); diff != "" || project.GetName() != namespace {
			t.Errorf("%s: project %s, -want, +got:\n%s", name, project.GetName(), diff)
		}
		source := map[string]any{
			"repoURL": text(app, "spec", "source", "repoURL"), "targetRevision": "main",
			// A file .argocd-source.yaml in this path overrides the rest, so it isn't the customer's own.
			"path": "examples/gitops/customers", "directory": map[string]any{"recurse": true, "include": name + "/*.yaml"},
		}
		spec := app.Object["spec"].(map[string]any)
		if diff := cmp.Diff([]any{namespace, source, own}, []any{spec["project"], spec["source"], spec["destination"]}); diff != "" {
			t.Errorf("%s: project, source and destination of the Application, -want, +got:\n%s", name, diff)
		}
		for _, o := range read(t, filepath.Join(folder, "virtual-argocd.yaml")) {
			if o.GetNamespace() != namespace {
				t.Errorf("%s: the claim is in namespace %s, where its project allows nothing", name, o.GetNamespace())
			}
		}
	}
}

// customerInGit renders what the ApplicationSet of the GitOps example makes of a customer's folder.
func customerInGit(t testing.TB, folder string) []*object {
	t.Helper()
	gitops := filepath.Join(root, "examples", "gitops")
	set, err := os.ReadFile(filepath.Join(gitops, "apps", "30-customers.yaml"))
	check(t, err)
	path, err := filepath.Rel(root, folder)
	check(t, err)
	set = []byte(strings.NewReplacer("{{.path.basename}}", filepath.Base(folder), "{{.path.path}}", path).Replace(string(set)))
	values, _, err := unstructured.NestedMap(parse(t, set)[0].Object, "spec", "template", "spec", "source", "helm", "valuesObject")
	check(t, err)
	out, err := renderChart(t, filepath.Join(gitops, "customer"), values)
	check(t, err)
	return out
}

// renderChart renders a chart as Argo CD does, without the release that it never makes. The error is the chart's own.
func renderChart(t testing.TB, folder string, values map[string]any) (out []*object, err error) {
	t.Helper()
	chart, err := loader.Load(folder)
	check(t, err)
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{}, nil)
	check(t, err)
	files, err := engine.Render(chart, all)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, parse(t, []byte(files[name]))...)
	}
	return out, err
}

// TestGitOpsInstallsCrossplaneAsAdvised compares Crossplane's values of the GitOps example with those of examples/install.
func TestGitOpsInstallsCrossplaneAsAdvised(t *testing.T) {
	gitops := filepath.Join(root, "examples", "gitops")
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "crossplane-values.yaml"))
	check(t, err)
	want := map[string]any{}
	check(t, yaml.UnmarshalStrict(data, &want))
	for file, path := range map[string][]string{
		"apps/10-crossplane.yaml":         {"spec", "source", "helm", "valuesObject"},
		"flux/crossplane/crossplane.yaml": {"spec", "values"},
	} {
		objects := read(t, filepath.Join(gitops, file))
		got, _, err := unstructured.NestedMap(objects[len(objects)-1].Object, path...)
		check(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("values of %s, -want +got:\n%s", file, diff)
		}
	}
}

// TestNothingOfACustomerIsDeletedUnasked: Argo CD asks before it deletes what a folder was for, and prunes nothing of a customer by itself.
// Deleting what installs the platform deletes nothing. TestGitOps tries it.
func TestNothingOfACustomerIsDeletedUnasked(t *testing.T) {
	gitops := filepath.Join(root, "examples", "gitops")
	const asks, cascades = "Delete=confirm,Prune=confirm", "resources-finalizer.argocd.argoproj.io"
	set := read(t, filepath.Join(gitops, "apps", "30-customers.yaml"))[0]
	made := customerInGit(t, filepath.Join(gitops, "customers", "acme"))
	app := made[slices.IndexFunc(made, func(o *object) bool { return o.GetKind() == "Application" })]
	for _, o := range []*object{set, app} {
		if got := o.GetAnnotations()["argocd.argoproj.io/sync-options"]; got != asks {
			t.Errorf("%s %s: want sync options %s, got %q", o.GetKind(), o.GetName(), asks, got)
		}
	}
	// The Application that has the annotated one waits only if it deletes something at all.
	if finalizers, _, _ := unstructured.NestedStringSlice(set.Object, "spec", "template", "metadata", "finalizers"); !slices.Contains(finalizers, cascades) {
		t.Errorf("the Application of a customer has the finalizers %v: want %s", finalizers, cascades)
	}
	prunes := func(o *object) bool {
		prune, found, err := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "automated", "prune")
		check(t, err)
		return prune || !found
	}
	packages, crossplane := read(t, filepath.Join(gitops, "apps", "20-packages.yaml"))[0], read(t, filepath.Join(gitops, "apps", "10-crossplane.yaml"))[0]
	for _, o := range []*object{app, packages} {
		if prunes(o) {
			t.Errorf("Application %s prunes by itself", o.GetName())
		}
	}
	for _, o := range []*object{packages, crossplane} {
		if len(o.GetFinalizers()) > 0 {
			t.Errorf("deleting Application %s deletes what it has installed: %v", o.GetName(), o.GetFinalizers())
		}
	}
}

// TestEveryApplicationTriesAgain: Argo CD tries a commit no second time unless it is told to, and tries the old commit unless it is told to
// look for a newer one.
func TestEveryApplicationTriesAgain(t *testing.T) {
	gitops := filepath.Join(root, "examples", "gitops")
	objects := customerInGit(t, filepath.Join(gitops, "customers", "acme"))
	for _, file := range []string{"bootstrap/root.yaml", "apps/10-crossplane.yaml", "apps/20-packages.yaml", "apps/30-customers.yaml"} {
		objects = append(objects, read(t, filepath.Join(gitops, file))...)
	}
	if seen := len(syncPolicies(t, objects)); seen != 5 {
		t.Errorf("want five Applications and templates, got %d", seen)
	}
}

// syncPolicies returns the sync policies of Applications and of the templates of ApplicationSets. Each tries again for ever, with what is in
// Git by then.
func syncPolicies(t *testing.T, objects []*object) map[*object]map[string]any {
	t.Helper()
	want := map[string]any{"limit": float64(-1), "refresh": true, "backoff": map[string]any{"duration": "10s", "maxDuration": "2m"}}
	out := map[*object]map[string]any{}
	for _, o := range objects {
		path := []string{"spec", "syncPolicy"}
		switch o.GetKind() {
		case "ApplicationSet":
			path = append([]string{"spec", "template"}, path...)
		case "Application":
		default:
			continue
		}
		policy, _, err := unstructured.NestedMap(o.Object, path...)
		check(t, err)
		if diff := cmp.Diff(any(want), policy["retry"]); diff != "" {
			t.Errorf("%s: retry: -want, +got:\n%s", identity(o), diff)
		}
		out[o] = policy
	}
	return out
}

// destinations are where an object of Argo CD's deploys to.
func destinations(t *testing.T, o *object) []map[string]any {
	t.Helper()
	out := list(t, o, "spec", "destinations")
	for _, path := range [][]string{{"spec", "destination"}, {"spec", "template", "spec", "destination"}} {
		to, ok, err := unstructured.NestedMap(o.Object, path...)
		check(t, err)
		if ok {
			out = append(out, maps.Clone(to))
		}
	}
	if len(out) == 0 {
		t.Errorf("%s %s deploys to nowhere", o.GetKind(), o.GetName())
	}
	return out
}

// list is a list of objects at a path; nil for none.
func list(t *testing.T, o *object, path ...string) []map[string]any {
	t.Helper()
	items, _, err := unstructured.NestedSlice(o.Object, path...)
	check(t, err)
	var out []map[string]any
	for _, item := range items {
		out = append(out, item.(map[string]any))
	}
	return out
}
