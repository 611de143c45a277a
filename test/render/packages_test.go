package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// build returns what a folder with a kustomization.yaml makes. Flux reads files outside of such a folder; others don't.
func build(t testing.TB, folder string, anywhere bool) []*object {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	if anywhere {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	check(t, err)
	data, err := made.AsYaml()
	check(t, err)
	return parse(t, data)
}

// identity is kind and name of an object.
func identity(o *object) string {
	return strings.Trim(o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), "/")
}

func identitiesOf(objects []*object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, identity(o))
	}
	slices.Sort(out)
	return out
}

// TestPackagesComeInWaves: the GitOps example has everything of examples/install, the packages among it, in the order in which its README
// has it applied by hand, so that an upgrade is a commit and no wave needs what comes later.
func TestPackagesComeInWaves(t *testing.T) {
	const wave = "argocd.argoproj.io/sync-wave"
	all := build(t, filepath.Join(root, "examples", "install"), false)
	packages := build(t, filepath.Join(root, "examples", "gitops", "packages"), false)
	waves := map[string][]string{}
	for _, o := range packages {
		annotations := o.GetAnnotations()
		waves[annotations[wave]] = append(waves[annotations[wave]], o.GetKind())
		delete(annotations, wave)
		if o.SetAnnotations(annotations); len(annotations) == 0 {
			o.SetAnnotations(nil)
		}
	}
	if diff := cmp.Diff(all, packages); diff != "" {
		t.Errorf("examples/gitops/packages differs from examples/install, -want +got:\n%s", diff)
	}
	for n, want := range map[string][]string{"1": {"Provider", "Provider"}, "2": {"Configuration", "Function"}, "3": {"Object", "ProviderConfig"}} {
		slices.Sort(waves[n])
		if diff := cmp.Diff(want, waves[n]); diff != "" {
			t.Errorf("wave %s: -want +got:\n%s", n, diff)
		}
		delete(waves, n)
	}
	if len(waves) != 1 || !slices.Contains(waves[""], "DeploymentRuntimeConfig") || !slices.Contains(waves[""], "ValidatingAdmissionPolicy") {
		t.Errorf("want everything else before these waves, got %v", waves)
	}
}

// TestPackagesFromRegistry does what the GitOps example says while no release is published: the folder has install.yaml of `make push`, and the two
// files that come later, in place of all others. It makes the same objects, and one that says where the packages are.
func TestPackagesFromRegistry(t *testing.T) {
	copied := t.TempDir()
	for _, folder := range []string{"install", "gitops"} {
		check(t, os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(root, "examples", folder))))
	}
	folders := []string{"gitops/packages", "gitops/flux/packages", "gitops/flux/host"}
	want := map[string][]string{}
	for _, folder := range folders {
		want[folder] = identitiesOf(build(t, filepath.Join(copied, folder), true))
	}
	install := filepath.Join(copied, "install")
	check(t, xpkg.Project{Root: root, Out: install}.WriteInstallFile("registry.example.org/acme"))
	check(t, os.WriteFile(filepath.Join(install, "kustomization.yaml"), []byte("resources: [install.yaml, providers.yaml, providerconfigs.yaml]\n"), 0o600))
	for _, folder := range folders {
		got := identitiesOf(build(t, filepath.Join(copied, folder), true))
		more := len(got)
		got = slices.DeleteFunc(got, func(identity string) bool { return strings.Contains(identity, "ImageConfig") })
		if more -= len(got); strings.HasSuffix(folder, "packages") != (more == 1) {
			t.Errorf("%s has %d ImageConfigs", folder, more)
		}
		if diff := cmp.Diff(want[folder], got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", folder, diff)
		}
	}
}

// TestPackagesWithoutProviders does what the GitOps example says for a cluster that runs the providers already: with Argo CD and with Flux,
// everything but these is left.
func TestPackagesWithoutProviders(t *testing.T) {
	copied := t.TempDir()
	for _, folder := range []string{"install", "gitops"} {
		check(t, os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(root, "examples", folder))))
	}
	for _, edit := range []struct{ folder, old, new string }{
		{"packages", "      apiVersion: pkg.crossplane.io/v1\n      kind: Provider\n", "      $patch: delete\n      apiVersion: pkg.crossplane.io/v1\n      kind: Provider\n"},
		{"flux/packages", "kind: ProviderConfig|Object\n", "kind: ProviderConfig|Object|Provider\n"},
	} {
		folder := filepath.Join(copied, "gitops", edit.folder)
		before := build(t, folder, true)
		file := filepath.Join(folder, "kustomization.yaml")
		data, err := os.ReadFile(file)
		check(t, err)
		check(t, os.WriteFile(file, []byte(strings.Replace(string(data), edit.old, edit.new, 1)), 0o600))
		want := slices.DeleteFunc(before, func(o *object) bool { return o.GetKind() == "Provider" })
		if diff := cmp.Diff(identitiesOf(want), identitiesOf(build(t, folder, true))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", edit.folder, diff)
		}
	}
}
