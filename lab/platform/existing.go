package platform

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

var (
	providerKind    = schema.GroupVersionKind{Group: pkgGroup, Version: "v1", Kind: "Provider"}
	runtimeKind     = schema.GroupVersionKind{Group: pkgGroup, Version: "v1beta1", Kind: "DeploymentRuntimeConfig"}
	imageConfigKind = schema.GroupVersionKind{Group: pkgGroup, Version: "v1beta1", Kind: "ImageConfig"}
	deploymentKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// providersFile are the providers of somebody who runs them for other things already.
const providersFile = "lab/platform/existing.yaml"

// initContainers is where a runtime configuration has its sidecars.
var initContainers = []string{"spec", "deploymentTemplate", "spec", "template", "spec", "initContainers"}

// withExisting returns the objects without the Providers that the cluster has already. It changes nothing of those, but for what an earlier
// release has installed.
func (i *installer) withExisting(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() != "Provider" {
			out = append(out, o)
			continue
		}
		pkg, _, _ := unstructured.NestedString(o.Object, "spec", "package")
		source, _, _ := strings.Cut(pkg, ":")
		name, err := i.findPackage(ctx, "Provider", source)
		if err != nil {
			return nil, err
		}
		if name == "" || name == o.GetName() {
			out = append(out, o)
			continue
		}
		earlier, err := i.isOfEarlierRelease(ctx, name, o.GetName())
		if err != nil {
			return nil, err
		}
		if earlier {
			o.SetName(name)
			out = append(out, o)
			continue
		}
		if has, err := i.hasProxy(ctx, name); err != nil || !has {
			return nil, errors.Join(err, fmt.Errorf(
				"the cluster runs %s already, as Provider %s, without the proxy: see %s", source, name, pages.ExistingProviders))
		}
	}
	return out, nil
}

// isOfEarlierRelease reports whether a Provider was installed as a dependency of v0.2.0 or before, in which an ImageConfig named its runtime
// configuration.
func (i *installer) isOfEarlierRelease(ctx context.Context, provider, runtime string) (bool, error) {
	o := of(imageConfigKind)
	if err := i.client.Get(ctx, client.ObjectKey{Name: runtime}, o); err == nil || !apierrors.IsNotFound(err) {
		return err == nil, err
	}
	named, err := i.runtimeOf(ctx, provider)
	return named == runtime, err
}

// removeImageConfigs removes what an earlier release had in place of runtimeConfigRef.
func (i *installer) removeImageConfigs(ctx context.Context) error {
	for _, name := range []string{"virtual-argocd-provider-helm", "virtual-argocd-provider-kubernetes", "virtual-argocd-function"} {
		o := of(imageConfigKind)
		o.SetName(name)
		if err := i.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete ImageConfig %s: %w", name, err)
		}
	}
	return nil
}

// runtimeOf is the name of a Provider's runtime configuration.
func (i *installer) runtimeOf(ctx context.Context, provider string) (string, error) {
	o := of(providerKind)
	if err := i.client.Get(ctx, client.ObjectKey{Name: provider}, o); err != nil {
		return "", fmt.Errorf("cannot get Provider %s: %w", provider, err)
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "runtimeConfigRef", "name")
	return name, nil
}

func (i *installer) hasProxy(ctx context.Context, provider string) (bool, error) {
	name, err := i.runtimeOf(ctx, provider)
	if err != nil {
		return false, err
	}
	o := of(runtimeKind)
	if err := i.client.Get(ctx, client.ObjectKey{Name: name}, o); err != nil {
		return false, fmt.Errorf("cannot get runtime configuration %s: %w", name, err)
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, initContainers...)
	for _, c := range containers {
		if c, _ := c.(map[string]any); c["name"] == proxyContainer {
			return true, nil
		}
	}
	return false, nil
}

// installBeside installs the providers of somebody's, then everything of ours but what examples/install/README.md tells such people to leave
// out, and does with the providers what it says. It fails if anything of theirs changes before.
func (i *installer) installBeside(ctx context.Context, objects []*unstructured.Unstructured, note func(string)) error {
	theirs, err := readManifests(i.Root + "/" + providersFile)
	if err != nil {
		return err
	}
	for _, r := range i.rewrites() {
		theirs = append([]*unstructured.Unstructured{r.imageConfig()}, theirs...)
	}
	if err := apply(ctx, i.client, theirs...); err != nil {
		return err
	}
	for _, name := range []string{"provider-helm", "provider-kubernetes"} {
		if err := waitFor(ctx, i.client, providerKind, client.ObjectKey{Name: name}, note, "Installed", "Healthy"); err != nil {
			return err
		}
	}
	before, err := i.podsOfTheirs(ctx)
	if err != nil {
		return err
	}
	var proxies []any
	var second *unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "Provider" {
			second = o
			continue
		}
		if o.GetName() == "virtual-argocd-provider-helm" {
			proxies, _, _ = unstructured.NestedSlice(o.Object, initContainers...)
		}
		if err := apply(ctx, i.client, o); err != nil {
			return err
		}
	}
	note("waiting for the policy that refuses a second Provider")
	for {
		err := i.client.Patch(ctx, second.DeepCopy(), client.Apply, fieldOwner, client.DryRunAll) //nolint:staticcheck // As apply does.
		if err != nil && strings.Contains(err.Error(), "leave out providers.yaml") {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s isn't refused beside another: %w", describe(second), errors.Join(err, timedOut(ctx)))
		case <-time.After(pollEvery):
		}
	}
	// Whatever would change them has had the time to do so: the packages of ours are there.
	for _, d := range dependencies {
		if err := i.waitForPackage(ctx, d.kind, d.source, note); err != nil {
			return err
		}
	}
	after, err := i.podsOfTheirs(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) {
		return fmt.Errorf("the providers that were there have changed: they were %v, and are %v", before, after)
	}
	for _, name := range []string{"provider-helm", "provider-kubernetes"} {
		if err := i.addProxy(ctx, name, proxies); err != nil {
			return fmt.Errorf("cannot add the proxy to runtime configuration %s: %w", name, err)
		}
	}
	return i.awaitProxies(ctx, note)
}

// awaitProxies waits until both providers run with the proxy, and no longer without.
func (i *installer) awaitProxies(ctx context.Context, note func(string)) error {
	note("waiting until both providers run with the proxy")
	for {
		pods := &corev1.PodList{}
		if err := i.client.List(ctx, pods, client.InNamespace(Namespace), client.HasLabels{"pkg.crossplane.io/provider"}); err != nil {
			return fmt.Errorf("cannot list the providers' pods: %w", err)
		}
		without := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
			return !slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == proxyContainer })
		})
		if len(pods.Items) == 2 && !without {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the providers don't run with the proxy: %w", timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

// addProxy adds the proxy to a runtime configuration of theirs.
func (i *installer) addProxy(ctx context.Context, name string, proxies []any) error {
	o := of(runtimeKind)
	if err := i.client.Get(ctx, client.ObjectKey{Name: name}, o); err != nil {
		return err
	}
	template := initContainers[:len(initContainers)-1]
	// The schema asks for these wherever there is a template.
	if _, ok, _ := unstructured.NestedSlice(o.Object, append(slices.Clone(template), "containers")...); !ok {
		if err := unstructured.SetNestedSlice(o.Object, []any{}, append(slices.Clone(template), "containers")...); err != nil {
			return err
		}
	}
	if err := unstructured.SetNestedMap(o.Object, map[string]any{}, "spec", "deploymentTemplate", "spec", "selector"); err != nil {
		return err
	}
	if err := unstructured.SetNestedSlice(o.Object, proxies, initContainers...); err != nil {
		return err
	}
	return i.client.Update(ctx, o)
}

// podsOfTheirs are the templates of the pods of both providers, by names of Deployments.
func (i *installer) podsOfTheirs(ctx context.Context) (map[string]any, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(deploymentKind)
	if err := i.client.List(ctx, list, client.InNamespace(Namespace), client.HasLabels{"pkg.crossplane.io/provider"}); err != nil {
		return nil, fmt.Errorf("cannot list the Deployments of providers: %w", err)
	}
	out := map[string]any{}
	for _, d := range list.Items {
		out[d.GetName()], _, _ = unstructured.NestedMap(d.Object, "spec", "template")
	}
	return out, nil
}
