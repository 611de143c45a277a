package platform

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// examples reads manifests that users apply by hand, from examples/install.
func (i *installer) examples(names ...string) ([]*unstructured.Unstructured, error) {
	files := make([]string, len(names))
	for n, name := range names {
		files[n] = filepath.Join(i.Root, "examples", "install", name)
	}
	return readManifests(files...)
}

// manifests reads files of examples/install, with what is different on this cluster.
func (i *installer) manifests(pushed []xpkg.Pushed, files ...string) ([]*unstructured.Unstructured, error) {
	if i.embedded == nil {
		// Crossplane on a cluster of somebody's may have other work, too.
		files = slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == "network.yaml" })
	}
	objects, err := i.examples(files...)
	if err != nil {
		return nil, err
	}
	if err := usePushedProxy(objects, pushed); err != nil {
		return nil, err
	}
	if i.embedded != nil && !i.Upstream {
		if err := withoutDigests(objects); err != nil {
			return nil, err
		}
	}
	if i.SimulatedProviders {
		if err := withoutPods(objects); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// ownManifests are what this cluster needs beside examples/install: where its packages come from, and the way to its charts.
func (i *installer) ownManifests() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, r := range i.rewrites() {
		out = append(out, r.imageConfig())
	}
	if i.embedded == nil {
		return out, nil
	}
	charts, err := chartsPolicy(i.embedded.Addresses().Charts)
	return append(out, charts), err
}

// rewrite says that packages whose names start with from are found under to.
type rewrite struct {
	name, from, to string
}

// rewrites are what this cluster's packages need.
func (i *installer) rewrites() []rewrite {
	switch {
	case i.embedded != nil && i.Upstream:
		return []rewrite{{"virtual-argocd-packages", xpkg.PublishedRegistry, i.embedded.project()}}
	case i.embedded != nil:
		return []rewrite{{"air-gapped", publicRegistry, i.embedded.mirror()}}
	case i.Registry != "" && i.Registry != xpkg.PublishedRegistry:
		return []rewrite{{"virtual-argocd-packages", xpkg.PublishedRegistry, i.Registry}}
	}
	return nil
}

func (r rewrite) imageConfig() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig",
		"metadata": map[string]any{"name": r.name},
		"spec": map[string]any{
			"matchImages":  []any{map[string]any{"type": "Prefix", "prefix": r.from}},
			"rewriteImage": map[string]any{"prefix": r.to},
		},
	}}
}

// proxyContainer is the sidecar of each provider, with the function's image.
const proxyContainer = "virtual-api-proxy"

// usePushedProxy has the proxies beside the providers run what was just pushed.
func usePushedProxy(objects []*unstructured.Unstructured, pushed []xpkg.Pushed) error {
	image := ""
	for _, p := range pushed {
		if p.IsFunction() {
			image = p.String()
		}
	}
	for _, o := range objects {
		if o.GetKind() != "DeploymentRuntimeConfig" || image == "" {
			continue
		}
		path := []string{"spec", "deploymentTemplate", "spec", "template", "spec", "initContainers"}
		containers, found, err := unstructured.NestedSlice(o.Object, path...)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		for _, c := range containers {
			if c, _ := c.(map[string]any); c["name"] == proxyContainer {
				c["image"] = image
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, containers, path...); err != nil {
			return err
		}
	}
	return nil
}

// withoutDigests names the images of Deployments by their tags: those that are built here have other digests than upstream's.
func withoutDigests(objects []*unstructured.Unstructured) error {
	path := []string{"spec", "template", "spec", "containers"}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, path...)
		if err != nil {
			return err
		}
		for _, c := range containers {
			if c, ok := c.(map[string]any); ok {
				c["image"], _, _ = strings.Cut(fmt.Sprint(c["image"]), "@")
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, containers, path...); err != nil {
			return err
		}
	}
	return nil
}

// withoutPods has the providers and the resolver for tenants run no pods.
func withoutPods(objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			if err := unstructured.SetNestedField(o.Object, int64(0), "spec", "replicas"); err != nil {
				return err
			}
		}
		if o.GetKind() != "DeploymentRuntimeConfig" || !strings.Contains(o.GetName(), "provider") {
			continue
		}
		if err := unstructured.SetNestedField(o.Object, int64(0), "spec", "deploymentTemplate", "spec", "replicas"); err != nil {
			return err
		}
	}
	return nil
}
