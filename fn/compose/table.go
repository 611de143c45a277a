package compose

import (
	"slices"

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
	exists := func(name string) bool { return t.Composed(name).Exists() }
	noNamespace := !host.NamespaceReady(t)
	// Whether the virtual cluster has published a kubeconfig that is used.
	published := !noNamespace && (t.Observed.Published != nil || resource.HasKubeconfig(t))
	providerConfig := func(name string, waits bool, build func(tenant.Tenant) (resource.Object, error)) resource.Row {
		return resource.Row{Name: name, Has: true, Waits: waits, Ready: exists(name), Build: build}
	}
	return slices.Concat([]resource.Row{
		{Name: tenant.AcceptedSecret, Has: true, Waits: t.HostProblem != "", Ready: true, Build: accepted},
		{Name: tenant.ChannelRecord, Has: t.Standing.InRollout(), Ready: true, Build: record},
		{Name: tenant.Namespace, Has: true, Waits: t.HostProblem != "", Ready: t.Composed(tenant.Namespace).Healthy(),
			Build: host.Namespace},
	}, host.AccountRows(t), host.BoundsRows(t), []resource.Row{
		providerConfig(tenant.HostHelmProviderConfig, noNamespace, host.ProviderConfig(resource.HelmConfigType)),
		providerConfig(tenant.HostKubernetesProviderConfig, noNamespace, host.ProviderConfig(resource.KubeConfigType)),
		// Helm would create the namespace without the labels that protect the host.
		{Name: tenant.VClusterRelease, Has: true, Waits: vcluster.ReleaseWaits(t), Ready: vcluster.Ready(t),
			Build: vcluster.ComposeRelease},
		{Name: tenant.ControlPlanePod, Has: vcluster.HasControlPlanePod(t), Ready: true, Build: vcluster.ControlPlanePod},
		{Name: tenant.KubeconfigSecret, Has: true, Waits: noNamespace, Ready: resource.HasKubeconfig(t), Build: vcluster.VirtualKubeconfig},
		providerConfig(tenant.HelmProviderConfig, !published, vcluster.ProviderConfig(resource.HelmConfigType)),
		providerConfig(tenant.KubernetesProviderConfig, !published, vcluster.ProviderConfig(resource.KubeConfigType)),
		// The password of redis follows from the token of the tenant's account.
		{Name: tenant.ValuesSecret, Has: argocd.HasValuesSecret(t), Waits: noNamespace || !host.HasCredentials(t),
			Ready: exists(tenant.ValuesSecret), Build: argocd.ValuesSecret},
		// What credentials are derived from follows from that token, too, the first time.
		{Name: tenant.AccountsSecret, Has: argocd.HasAccountsSecret(t), Waits: noNamespace || !host.HasCredentials(t) || t.Restore.Snapshot && t.Restore.Seen.At == "",
			Ready: exists(tenant.AccountsSecret), Build: argocd.AccountsSecret},
		// Without the kubeconfig and the values that it reads, the Release would fail, and be
		// tried again at growing intervals.
		{Name: tenant.ArgoCDRelease, Has: true, Waits: argocd.ReleaseWaits(t), Ready: argocd.Installed(t), Build: argocd.ComposeRelease},
		// Not while the tenant is installed, to spare events for Crossplane's circuit breaker.
		{Name: tenant.Usage, Has: exists(tenant.Usage) || tenant.WasReady(t.Observed), Ready: true, Build: host.Usage},
		// Before Helm has made the workloads, the provider would find none, and look again half a minute later.
		{Name: tenant.Workloads, Has: true, Waits: !argocd.Deployed(t) && !release.IsLate(t, tenant.ArgoCDRelease),
			Ready: argocd.WorkloadsAvailable(t), Build: argocd.ObserveWorkloads},
		{Name: tenant.Connections, Has: argocd.HasConnections(t), Waits: !argocd.Deployed(t), Ready: true, Build: argocd.ObserveConnections},
	}, vcluster.OwnedRows(t), parts.Rows(t))
}
