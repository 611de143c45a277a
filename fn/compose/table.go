package compose

import (
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Names of composed resources in the composition. They never change: Crossplane
// deletes a resource whose name is gone.
const (
	Namespace        = decode.Namespace
	VCluster         = decode.VCluster
	KubeconfigSecret = decode.KubeconfigSecret
	KubeconfigKey    = decode.KubeconfigKey
	// ProxiedKey is the key of the kubeconfig that reaches a virtual cluster through the
	// proxy beside each provider.
	ProxiedKey               = "proxied"
	HelmProviderConfig       = "helm-provider-config"
	KubernetesProviderConfig = "kubernetes-provider-config"
	// Those of the host, with the tenant's account.
	HostHelmProviderConfig       = "host-helm-provider-config"
	HostKubernetesProviderConfig = "host-kubernetes-provider-config"
	Quota                        = "quota"
	ControlPlanePod              = "control-plane-pod"
	Limits                       = "limits"
	// The tenant's account on the host.
	InstallerAccount     = "installer-account"
	InstallerCredentials = decode.InstallerCredentials
	InstallerBinding     = "installer-binding"
	ControlPlaneBinding  = "control-plane-binding"
	ArgoCD               = decode.ArgoCD
	Usage                = "usage"
	Bootstrap            = "bootstrap"
	Ingress              = "ingress"
	IngressCount         = decode.IngressCount
	DeletionProtection   = "deletion-protection"
	NamespaceProtection  = "namespace-protection"
	CompositeProtection  = "composite-protection"
	hostPrefix           = decode.HostPrefix
	ValuesSecret         = decode.ValuesSecret
	AcceptedSecret       = decode.AcceptedSecret
	Workloads            = "argocd-workloads"
)

// HostName is the name in the composition of the record of a host.
func HostName(host string) string { return hostPrefix + plan.HostID(host) }

// Tenant is what composed resources are built from.
type Tenant struct {
	*plan.Plan
	Observed decode.Observed
	// Accepted is what the plan is made from, as JSON.
	Accepted []byte
	// Refused is why that isn't what the claim, its plan and the input say now; nil when
	// it is.
	Refused error
}

// observed returns the observed composed resource of that name.
func (t Tenant) observed(name string) decode.Composed { return t.Observed.Composed[name] }

// A row of the table: one composed resource.
type row struct {
	// name in the composition.
	name string
	// wanted tells whether the tenant has this resource at all.
	wanted func(Tenant) bool
	// waits tells whether creating it must wait. A resource that is observed
	// never waits: what is left out of the desired state is deleted.
	waits func(Tenant) bool
	// ready tells whether it is as it should be, as far as the tenant's Ready
	// depends on that.
	ready func(Tenant) bool
	// build makes it.
	build func(Tenant) (Object, error)
}

// table lists every composed resource of a tenant.
func table(t Tenant) []row {
	rows := []row{
		{name: AcceptedSecret, wanted: always, waits: not(hostProtected), ready: always, build: accepted},
		{name: Namespace, wanted: always, waits: not(hostProtected), ready: isReady(Namespace), build: namespace},
	}
	rows = append(rows, installerRows()...)
	rows = append(rows, controlPlaneRows()...)
	rows = append(rows, boundsRows(t)...)
	rows = append(rows,
		row{name: HostHelmProviderConfig, wanted: always, waits: not(namespaceReady), ready: exists(HostHelmProviderConfig), build: helmProviderConfig(hostConfig, asInstaller)},
		row{name: HostKubernetesProviderConfig, wanted: always, waits: not(namespaceReady), ready: exists(HostKubernetesProviderConfig), build: kubernetesProviderConfig(hostConfig, asInstaller)},
		// Helm would create the namespace without the labels that protect the host.
		row{name: VCluster, wanted: always, waits: vclusterWaits, ready: VClusterReady, build: vcluster},
		row{name: ControlPlanePod, wanted: controlPlanePodWanted, waits: never, ready: always, build: controlPlanePod},
		row{name: KubeconfigSecret, wanted: always, waits: not(namespaceReady), ready: HasKubeconfig, build: virtualKubeconfig},
		row{name: HelmProviderConfig, wanted: always, waits: not(isPublished), ready: exists(HelmProviderConfig), build: helmProviderConfig(virtualConfig, throughProxy)},
		row{name: KubernetesProviderConfig, wanted: always, waits: not(isPublished), ready: exists(KubernetesProviderConfig), build: kubernetesProviderConfig(virtualConfig, throughProxy)},
		row{name: ValuesSecret, wanted: valuesSecretWanted, waits: valuesSecretWaits, ready: exists(ValuesSecret), build: valuesSecret},
		// Before its kubeconfig, and the values it reads, are there a Release only
		// fails, later and later.
		row{name: ArgoCD, wanted: always, waits: argocdWaits, ready: ArgoCDInstalled, build: argocd},
		// Not before there is something to lose: what comes later costs less of Crossplane's attention while the tenant comes up.
		row{name: Usage, wanted: func(t Tenant) bool { return exists(Usage)(t) || WasReady(t.Observed) }, waits: never, ready: always, build: usage},
		row{name: DeletionProtection, wanted: deletionProtectionWanted, waits: never, ready: always, build: deletionProtection},
		row{name: NamespaceProtection, wanted: protectedWithClaim(NamespaceProtection), waits: never, ready: always, build: namespaceProtection},
		row{name: CompositeProtection, wanted: protectedWithClaim(CompositeProtection), waits: never, ready: always, build: compositeProtection},
		// Before, none of them exists, and the provider would look again half a minute later.
		row{name: Workloads, wanted: always, waits: func(t Tenant) bool { return !argoCDDeployed(t) && !isLate(t, ArgoCD) }, ready: workloadsAvailable, build: workloads},
		row{name: Bootstrap, wanted: bootstrapWanted, waits: not(argoCDDeployed), ready: always, build: bootstrap},
		row{name: Ingress, wanted: ingressWanted, waits: not(ingressInstalled), ready: always, build: ingress},
		row{name: IngressCount, wanted: ingressCountWanted, waits: ingressCountWaits, ready: always, build: ingressCount})
	for _, host := range t.Ingress.Records {
		rows = append(rows, row{name: HostName(host), wanted: always, waits: never, ready: always, build: hostRecord(host)})
	}
	return rows
}

func always(Tenant) bool { return true }
func never(Tenant) bool  { return false }

func not(f func(Tenant) bool) func(Tenant) bool {
	return func(t Tenant) bool { return !f(t) }
}

func exists(name string) func(Tenant) bool {
	return func(t Tenant) bool { return t.observed(name).Exists() }
}
