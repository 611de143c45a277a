package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
	"github.com/virtual-argocd/virtual-argocd/internal/providers"
)

func packageKind(resource, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: version, Resource: resource}
}

// packages looks at what this project needs of Crossplane's packages, whoever has installed them.
func packages(ctx context.Context, h Host) ([]Finding, error) {
	var found []Finding
	for _, kind := range []struct{ resource, name, how string }{
		{"providers", "provider-helm", "apply runtime.yaml and providers.yaml"},
		{"providers", "provider-kubernetes", "apply runtime.yaml and providers.yaml"},
		{"functions", "function-virtual-argocd", "apply configuration.yaml"},
		{"configurations", "virtual-argocd", "apply configuration.yaml"},
	} {
		list, err := h.Objects.Resource(packageKind(kind.resource, "v1")).List(ctx, metav1.ListOptions{})
		if err != nil {
			return found, err
		}
		i := slices.IndexFunc(list.Items, func(o unstructured.Unstructured) bool { name, _ := nameOf(o); return name == kind.name })
		if i < 0 {
			found = append(found, Finding{Missing, "package " + kind.name, kind.how})
			continue
		}
		more, err := installed(ctx, h, kind.resource, list.Items[i])
		found = append(found, more...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func installed(ctx context.Context, h Host, resource string, o unstructured.Unstructured) ([]Finding, error) {
	name, tag := nameOf(o)
	is := fmt.Sprintf("%s %s (%s %s)", name, tag, strings.TrimSuffix(resource, "s"), o.GetName())
	if resource == "functions" && isTwice(o) {
		// Crossplane takes what precedes the digest for the name, and doesn't find the function that the Configuration needs.
		return one(Finding{Missing, is + " is named by its tag and its digest", "leave out the tag in spec.package"}), nil
	}
	if !isTrue(o, "Healthy") || !isTrue(o, "Installed") {
		return one(Finding{Missing, is + " isn't healthy", fmt.Sprintf("kubectl describe %s.pkg %s", strings.TrimSuffix(resource, "s"), o.GetName())}), nil
	}
	found := one(Finding{OK, is, ""})
	want, provider := providers.Tested[name]
	if !provider {
		return found, nil
	}
	if tag != want {
		found = append(found, Finding{Note, fmt.Sprintf("%s %s isn't what is tested", name, tag), "that is " + want})
	}
	runtime, _, _ := unstructured.NestedString(o.Object, "spec", "runtimeConfigRef", "name")
	config, err := h.Objects.Resource(packageKind("deploymentruntimeconfigs", "v1beta1")).Get(ctx, runtime, metav1.GetOptions{})
	if err != nil {
		return found, err
	}
	sidecars, _, _ := unstructured.NestedSlice(config.Object, "spec", "deploymentTemplate", "spec", "template", "spec", "initContainers")
	if !slices.ContainsFunc(sidecars, func(c any) bool { m, _ := c.(map[string]any); return m["name"] == "virtual-api-proxy" }) {
		found = append(found, Finding{Missing, fmt.Sprintf("%s runs without the proxy through which it reaches virtual clusters", name),
			"see " + pages.ExistingProviders})
	}
	return found, nil
}

// nameOf is the last part of a package's path, and its tag, or the beginning of its digest.
func nameOf(o unstructured.Unstructured) (name, tag string) {
	pkg, _, _ := unstructured.NestedString(o.Object, "spec", "package")
	name, tag, digest := providers.NameOf(pkg)
	if tag == "" {
		tag = digest[:min(len(digest), len("sha256:")+12)]
	}
	return name, tag
}

// isTwice reports whether a package is named by its tag and its digest.
func isTwice(o unstructured.Unstructured) bool {
	pkg, _, _ := unstructured.NestedString(o.Object, "spec", "package")
	_, tag, digest := providers.NameOf(pkg)
	return tag != "" && digest != ""
}

func isTrue(o unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == condition && m["status"] == "True"
	})
}
