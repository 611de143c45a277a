package components

import (
	"maps"
	"slices"
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// rows are the rows of the components' Releases, of what observes their workloads, and of what uninstalls those that the claim has no more.
// None of them is anything that the tenant's Ready waits for.
func rows(t tenant.Tenant) []resource.Row {
	var out []resource.Row
	for _, c := range t.Components {
		out = append(out, resource.Row{Name: tenant.ComponentResource(c.Name), Has: true, Waits: waits(t), Ready: true, Build: compose(c)})
	}
	leaving := leaving(t)
	for _, name := range leaving {
		out = append(out, resource.Row{Name: tenant.ComponentResource(name), Has: !isRemoved(t, name), Ready: true, Build: remove(name)})
	}
	deployed := slices.ContainsFunc(t.Components, func(c tenant.Component) bool { return stateOf(t, c.Name).HasDeployed() })
	// It stays for the next one.
	secret := len(leaving) > 0 || t.Composed(tenant.ComponentsSecret).Exists()
	return append(out,
		resource.Row{Name: tenant.ComponentWorkloads, Has: len(asked(t)) > 0, Waits: !deployed, Ready: true, Build: observeWorkloads},
		resource.Row{Name: tenant.ComponentsSecret, Has: secret, Ready: true, Build: patchSecret},
	)
}

// waits reports whether no component can be installed yet: before the virtual cluster answers, before Argo CD's chart is installed, which is
// what people wait for, unless that is late, and before the author of a claim that is a copy lets it act.
func waits(t tenant.Tenant) bool {
	return !resource.HasKubeconfig(t) || !t.Composed(tenant.HelmProviderConfig).Exists() ||
		!argocd.Deployed(t) && !release.IsLate(t, tenant.ArgoCDRelease) || t.Restore.Folder != "" && !t.Restore.Active
}

func stateOf(t tenant.Tenant, name string) release.State {
	return release.StateOf(t.Composed(tenant.ComponentResource(name)))
}

// compose returns what builds the Release of a component.
func compose(c tenant.Component) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		name := tenant.ComponentResource(c.Name)
		r := release.New(t, name, c.Name, c.Namespace, t.Names.ProviderConfig, c.Chart)
		helmWaits(t, name, r, c.Chart)
		release.Retry(t, name, r, c.Chart)
		return resource.Object{Typed: r, Raw: release.Values(t, name, r, c.Chart), RawAt: resource.ValuesPath}, nil
	}
}

// helmWaits sets whether Helm waits for the component. For a change of one that was installed it does, so that a change that doesn't become
// ready is taken back. In the first installation it doesn't, since provider-helm would take down what comes up slowly. The field stays as it is
// until the chart or its values change.
func helmWaits(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) {
	is := t.Composed(name)
	was := is.Get("spec", "forProvider")
	timeout, err := time.ParseDuration(was.String("waitTimeout"))
	switch {
	case err == nil && !release.Differs(is, c) && !removes(is):
		r.Spec.ForProvider.Wait, r.Spec.ForProvider.WaitTimeout = was.Bool("wait"), &metav1.Duration{Duration: timeout}
	default:
		r.Spec.ForProvider.Wait = t.InstalledBefore(name) && !removes(is)
	}
}

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

// isRemoved reports whether Helm has uninstalled a component: the provider notes which patches it has applied.
func isRemoved(t tenant.Tenant, name string) bool {
	is := t.Composed(tenant.ComponentResource(name))
	return removes(is) && is.String("status", "patchesSha") != "" && release.StateOf(is) == release.Deployed
}

// remove returns what builds the Release of a component that is being uninstalled. Its chart is as it was: the catalogue may not have it any more.
func remove(component string) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		name := tenant.ComponentResource(component)
		is := t.Composed(name).Get("spec", "forProvider")
		was := is.Get("chart")
		c := tenant.Chart{Repository: was.String("repository"), Name: was.String("name"), Version: was.String("version"), Digest: was.String("digest"), Values: removed()}
		r := release.New(t, name, component, is.String("namespace"), t.Names.ProviderConfig, c)
		r.Spec.ForProvider.Wait = false
		// Before the Secret is there, the provider would fail, and try again at growing intervals.
		if !t.Composed(tenant.ComponentsSecret).Exists() && !removes(t.Composed(name)) {
			r.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
			return resource.Object{Typed: r, Raw: valuesOf(is), RawAt: resource.ValuesPath}, nil
		}
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

// asked returns the workloads of all components, as the proxy is asked for them.
func asked(t tenant.Tenant) []proxy.Workload {
	var out []proxy.Workload
	for _, c := range t.Components {
		for _, w := range c.Workloads {
			out = append(out, proxy.Workload{Kind: w.Kind, Namespace: c.Namespace, Name: w.Name})
		}
	}
	return out
}

// workloadsReady is the readiness of the summary, in CEL: the provider polls an Object that isn't ready every half a minute.
const workloadsReady = "object.data['" + proxy.SummaryUnavailable + "'] == '' && object.data['" + proxy.SummaryStopped + "'] == ''"

// observeWorkloads composes an Object that observes a summary of the workloads of all components, which exists in the proxy alone.
func observeWorkloads(t tenant.Tenant) (resource.Object, error) {
	return resource.Watched(resource.Observer(t, tenant.ComponentWorkloads, t.Names.ProviderConfig, resource.ReadyBy(workloadsReady),
		corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: tenant.ArgoCDNamespace, Name: proxy.ComponentsName(asked(t))})), nil
}
