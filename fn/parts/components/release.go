package components

import (
	"slices"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
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
		if wasReady(t, c) {
			r.Annotations[annotationReady] = "true"
		}
		release.Repair(t, name, r, c.Chart, len(lost(t, c)) > 0)
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
