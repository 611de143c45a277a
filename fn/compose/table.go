package compose

import (
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Table lists every composed resource of a tenant, whether it has it now or not.
func Table(t tenant.Tenant) []resource.Row {
	rows := []resource.Row{
		{Name: tenant.AcceptedSecret, Has: resource.Always, Waits: resource.Not(host.PoliciesInForce), Ready: resource.Always, Build: accepted},
		{Name: tenant.Namespace, Has: resource.Always, Waits: resource.Not(host.PoliciesInForce), Ready: resource.IsReady(tenant.Namespace), Build: host.Namespace},
	}
	rows = append(rows, host.InstallerRows()...)
	rows = append(rows, host.ControlPlaneRows()...)
	rows = append(rows, host.BoundsRows(t)...)
	rows = append(rows,
		resource.Row{Name: tenant.HostHelmProviderConfig, Has: resource.Always, Waits: resource.Not(host.NamespaceReady), Ready: resource.Exists(tenant.HostHelmProviderConfig), Build: host.ProviderConfig(resource.HelmConfigType)},
		resource.Row{Name: tenant.HostKubernetesProviderConfig, Has: resource.Always, Waits: resource.Not(host.NamespaceReady), Ready: resource.Exists(tenant.HostKubernetesProviderConfig), Build: host.ProviderConfig(resource.KubeConfigType)},
		// Helm would create the namespace without the labels that protect the host.
		resource.Row{Name: tenant.VClusterRelease, Has: resource.Always, Waits: vcluster.ReleaseWaits, Ready: vcluster.Ready, Build: vcluster.ComposeRelease},
		resource.Row{Name: tenant.ControlPlanePod, Has: vcluster.HasControlPlanePod, Waits: resource.Never, Ready: resource.Always, Build: vcluster.ControlPlanePod},
		resource.Row{Name: tenant.KubeconfigSecret, Has: resource.Always, Waits: resource.Not(host.NamespaceReady), Ready: resource.HasKubeconfig, Build: vcluster.VirtualKubeconfig},
		resource.Row{Name: tenant.HelmProviderConfig, Has: resource.Always, Waits: resource.Not(vcluster.IsPublished), Ready: resource.Exists(tenant.HelmProviderConfig), Build: host.VirtualProviderConfig(resource.HelmConfigType)},
		resource.Row{Name: tenant.KubernetesProviderConfig, Has: resource.Always, Waits: resource.Not(vcluster.IsPublished), Ready: resource.Exists(tenant.KubernetesProviderConfig), Build: host.VirtualProviderConfig(resource.KubeConfigType)},
		resource.Row{Name: tenant.ValuesSecret, Has: argocd.HasValuesSecret, Waits: argocd.ValuesSecretWaits, Ready: resource.Exists(tenant.ValuesSecret), Build: argocd.ValuesSecret},
		// Before its kubeconfig, and the values it reads, are there a Release only
		// fails, later and later.
		resource.Row{Name: tenant.ArgoCDRelease, Has: resource.Always, Waits: argocd.ReleaseWaits, Ready: argocd.Installed, Build: argocd.ComposeRelease},
		// Not before there is something to lose: what comes later costs less of Crossplane's attention while the tenant comes up.
		resource.Row{Name: tenant.Usage, Has: func(t tenant.Tenant) bool { return resource.Exists(tenant.Usage)(t) || tenant.WasReady(t.Observed) }, Waits: resource.Never, Ready: resource.Always, Build: host.Usage},
		// Before, none of them exists, and the provider would look again half a minute later.
		resource.Row{Name: tenant.Workloads, Has: resource.Always, Waits: func(t tenant.Tenant) bool { return !argocd.Deployed(t) && !release.IsLate(t, tenant.ArgoCDRelease) }, Ready: argocd.WorkloadsAvailable, Build: argocd.ObserveWorkloads})
	return append(rows, parts.Rows(t)...)
}
