package render

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestCustomersFindTheirFolders holds what each customer's Argo CD of the GitOps example begins with against its claim: the
// folder is there, the claim has what opens it, and what is in it deploys only to clusters that this Argo CD knows.
func TestCustomersFindTheirFolders(t *testing.T) {
	gitops := filepath.Join(root, "examples", "gitops")
	common := text(read(t, filepath.Join(gitops, "apps", "30-customers.yaml"))[0], "spec", "source", "repoURL")
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

// TestGitOpsInstallsCrossplaneAsAdvised holds Crossplane's values of the GitOps example against those of examples/install.
func TestGitOpsInstallsCrossplaneAsAdvised(t *testing.T) {
	app := read(t, filepath.Join(root, "examples", "gitops", "apps", "10-crossplane.yaml"))[0]
	got, _, err := unstructured.NestedMap(app.Object, "spec", "source", "helm", "valuesObject")
	check(t, err)
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "crossplane-values.yaml"))
	check(t, err)
	want := map[string]any{}
	check(t, yaml.UnmarshalStrict(data, &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of 10-crossplane.yaml, -want +got:\n%s", diff)
	}
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
