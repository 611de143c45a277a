package components

import (
	"maps"
	"slices"
	"strings"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// leaving returns the names of components that the tenant has a Release of, and is to have no more, sorted.
func leaving(t tenant.Tenant) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.Observed.Composed)) {
		component, ok := strings.CutPrefix(name, tenant.ComponentPrefix)
		stays := slices.ContainsFunc(t.Components, func(c tenant.Component) bool { return c.Name == component })
		if ok && !stays && t.Composed(name).Exists() {
			out = append(out, component)
		}
	}
	return out
}

// A component is uninstalled by an upgrade of its Helm release to one without objects. The provider never deletes a Release's objects with the
// Release: the deletion of a tenant would wait for a virtual API that goes with it. Helm deletes what the release had before, and keeps
// CustomResourceDefinitions that their charts have kept. Its empty record stays in the virtual cluster.

// patch is a Kustomize patch that deletes each object of a release.
const patch = `patches:
- target:
    kind: .*
  patch: |
    $patch: delete
    apiVersion: v1
    kind: Any
    metadata:
      name: any
`

// removed are the values of a release without objects. They are no component's, so that one that is installed again differs from it. Each
// chart may have the key.
func removed() map[string]any {
	return map[string]any{"global": map[string]any{"virtualargocd": map[string]any{"removed": true}}}
}

// removes reports whether a Release is as remove builds it.
func removes(is wire.Composed) bool {
	return len(is.List("spec", "forProvider", "patchesFrom")) > 0
}

// isRemoved reports whether nothing of a component is installed: Helm has uninstalled it, for which the provider notes which patches it has applied,
// or never had a release of it.
func isRemoved(t tenant.Tenant, name string) bool {
	is := t.Composed(tenant.ComponentResource(name))
	return removes(is) && is.String("status", "patchesSha") != "" && release.StateOf(is) == release.Deployed || release.IsAbsent(is)
}

// A component whose chart couldn't be pulled has no Helm release, and an uninstallation would wait for that chart, too: provider-helm pulls a chart
// before anything else.

// failsToCreate reports whether the provider has found no release, and couldn't make one.
func failsToCreate(is wire.Composed) bool {
	return strings.HasPrefix(condition.Said(is), "create failed")
}

// mayBeAbsent reports whether the provider is to look whether Helm has a release of a component: it has seen none so far, fails to create one, or
// hasn't looked yet.
func mayBeAbsent(is wire.Composed) bool {
	return is.String("status", "atProvider", "state") == "" || release.OnlyObserved(is) && !is.Current() || failsToCreate(is)
}

// chartToRemove returns the chart that a component is uninstalled with: the one that it has. Where that can't be pulled, it is the one that the
// catalogue has now, so that a repository may move.
func chartToRemove(t tenant.Tenant, component string) tenant.Chart {
	is := t.Composed(tenant.ComponentResource(component))
	if now, offered := t.Leaving[component]; offered && is.Current() && condition.OfRepository(is) {
		return now
	}
	was := is.Get("spec", "forProvider", "chart")
	return tenant.Chart{Repository: was.String("repository"), Name: was.String("name"), Version: was.String("version"), Digest: was.String("digest")}
}

// remove returns what builds the Release of a component that is being uninstalled.
func remove(component string) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		name := tenant.ComponentResource(component)
		is, c := t.Composed(name), chartToRemove(t, component)
		was := is.Get("spec", "forProvider")
		r := release.New(t, name, component, was.String("namespace"), t.Names.ProviderConfig, c)
		r.Spec.ForProvider.Wait = false
		// Before the Secret is there, the provider would fail, and try again at growing intervals.
		if noPatch := !t.Composed(tenant.ComponentsSecret).Exists() && !removes(is); noPatch || mayBeAbsent(is) {
			r.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
			return resource.Object{Typed: r, Raw: valuesOf(was), RawAt: resource.ValuesPath}, nil
		}
		c.Values = removed()
		r.Spec.ForProvider.PatchesFrom = []helmv1beta1.ValueFromSource{{SecretKeyRef: &helmv1beta1.DataKeySelector{
			NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.ComponentsSecret}, Key: tenant.PatchKey,
		}}}
		release.Retry(t, name, r, c)
		return resource.Object{Typed: r, Raw: c.Values, RawAt: resource.ValuesPath}, nil
	}
}

// valuesOf returns the values of a Release.
func valuesOf(forProvider wire.Struct) map[string]any {
	v, _ := forProvider.Value("values").AsInterface().(map[string]any)
	return v
}

// patchSecret composes the Secret with the patch.
func patchSecret(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.ComponentsSecret, corev1.SecretTypeOpaque)
	s.Data = map[string][]byte{tenant.PatchKey: []byte(patch)}
	return resource.Object{Typed: s}, nil
}
