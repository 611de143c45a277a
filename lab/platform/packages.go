package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// publicRegistry is where the ecosystem's packages are.
const publicRegistry = "xpkg.crossplane.io"

// providers are the tools that are packages of the ecosystem, and what their
// images set.
var providers = []struct {
	tool string
	env  []string
}{
	// Helm keeps its cache below the home folder, unless told, and an
	// unprivileged user can write to /tmp alone.
	{"provider-helm", []string{"HELM_CACHE_HOME=/tmp/helm-cache", "HELM_CONFIG_HOME=/tmp/helm-config", "HELM_DATA_HOME=/tmp/helm-data"}},
	{"provider-kubernetes", nil},
}

// pushProviders builds the providers' packages from their Go modules and pushes
// them to the registry's mirror of the public one.
func (i *installer) pushProviders(ctx context.Context, mirror string, note func(string)) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range providers {
		g.Go(func() error {
			binary, err := i.Cache.Binary(p.tool)
			if err != nil {
				return err
			}
			module, err := i.Cache.ModuleDir(ctx, p.tool)
			if err != nil {
				return err
			}
			image, err := xpkg.Runtime{Binary: binary, Architecture: runtime.GOARCH, Env: p.env}.Image()
			if err != nil {
				return err
			}
			root := filepath.Join(module, "package")
			if i.SimulatedProviders {
				if root, err = withoutConversion(root, filepath.Join(i.out, p.tool)); err != nil {
					return err
				}
			}
			pkg := filepath.Join(i.out, p.tool+".xpkg")
			if err := (xpkg.Contents{Root: root, Runtime: image}).Build(pkg); err != nil {
				return err
			}
			tag := fmt.Sprintf("%s/crossplane-contrib/%s:%s", mirror, p.tool, toolchain.Version(p.tool))
			pushed, err := xpkg.PushFiles(ctx, tag, nil, pkg)
			if err != nil {
				return err
			}
			note("pushed " + pushed.Tag)
			return nil
		})
	}
	return g.Wait()
}

// withoutConversion copies a provider's package to a folder, with CustomResourceDefinitions that need no conversion webhook. Without the
// provider's pods nobody serves it, and the API server would list all Objects from etcd again every second or two, to convert them for its
// cache. It returns the folder.
func withoutConversion(root, to string) (string, error) {
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	if err := os.CopyFS(to, os.DirFS(root)); err != nil {
		return "", fmt.Errorf("cannot copy package %s: %w", root, err)
	}
	crds, err := filepath.Glob(filepath.Join(to, "crds", "*.yaml"))
	if err != nil {
		return "", err
	}
	for _, file := range crds {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		o := unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return "", fmt.Errorf("cannot read %s: %w", file, err)
		}
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
		if text, err = yaml.Marshal(o.Object); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
	}
	return to, nil
}

// pushProject builds the project's own packages and pushes them.
func (i *installer) pushProject(ctx context.Context, registry, input string, architectures []string, note func(string)) ([]xpkg.Pushed, error) {
	project := xpkg.Project{Root: i.Root, Out: i.out, Input: input}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return project.BuildFunction(gctx, architectures...) })
	g.Go(project.BuildConfiguration)
	if err := g.Wait(); err != nil {
		return nil, err
	}
	pushed, err := project.Push(ctx, registry)
	for _, p := range pushed {
		note("pushed " + p.Tag)
	}
	return pushed, err
}
