package compose

import (
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Names of composed resources in the composition. They never change: Crossplane
// deletes a resource whose name is gone.
const (
	Namespace                = decode.Namespace
	VCluster                 = decode.VCluster
	HelmProviderConfig       = "helm-provider-config"
	KubernetesProviderConfig = "kubernetes-provider-config"
	ArgoCD                   = decode.ArgoCD
	Usage                    = "usage"
	Bootstrap                = "bootstrap"
	Ingress                  = "ingress"
	IngressCount             = decode.IngressCount
	DeletionProtection       = "deletion-protection"
	hostPrefix               = decode.HostPrefix
	ValuesSecret             = decode.ValuesSecret
	workloadPrefix           = "argocd-"
)

// HostName is the name in the composition of the record of a host.
func HostName(host string) string { return hostPrefix + plan.HostID(host) }

// WorkloadName is the name in the composition of the observed workload.
func WorkloadName(component string) string { return workloadPrefix + component }

// Tenant is what composed resources are built from.
type Tenant struct {
	*plan.Plan
	Observed decode.Observed
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
		{name: Namespace, wanted: always, waits: never, ready: isReady(Namespace), build: namespace},
		// Helm would create the namespace without the labels that protect the host.
		{name: VCluster, wanted: always, waits: not(isReady(Namespace)), ready: VClusterReady, build: vcluster},
		{name: HelmProviderConfig, wanted: always, waits: never, ready: exists(HelmProviderConfig), build: helmProviderConfig},
		{name: KubernetesProviderConfig, wanted: always, waits: never, ready: exists(KubernetesProviderConfig), build: kubernetesProviderConfig},
		{name: ValuesSecret, wanted: valuesSecretWanted, waits: never, ready: exists(ValuesSecret), build: valuesSecret},
		// Before its kubeconfig, and the values it reads, are there a Release only
		// fails, later and later.
		{name: ArgoCD, wanted: always, waits: argocdWaits, ready: ArgoCDInstalled, build: argocd},
		// Together with the Release, since each that comes alone costs some more of Crossplane's attention.
		{name: Usage, wanted: usageWanted, waits: not(HasKubeconfig), ready: exists(Usage), build: usage},
	}
	rows = append(rows,
		row{name: DeletionProtection, wanted: deletionProtectionWanted, waits: never, ready: always, build: deletionProtection},
		row{name: Bootstrap, wanted: bootstrapWanted, waits: not(argoCDDeployed), ready: always, build: bootstrap},
		row{name: Ingress, wanted: ingressWanted, waits: not(ingressInstalled), ready: always, build: ingress},
		row{name: IngressCount, wanted: ingressCountWanted, waits: ingressCountWaits, ready: always, build: ingressCount})
	for _, host := range t.Ingress.Records {
		rows = append(rows, row{name: HostName(host), wanted: always, waits: never, ready: always, build: hostRecord(host)})
	}
	for _, w := range t.Workloads {
		name := WorkloadName(w.Component)
		rows = append(rows, row{
			name:   name,
			wanted: always,
			// An Object that observes nothing is an error, tried again ever later.
			waits: not(argoCDDeployed),
			ready: func(t Tenant) bool { return WorkloadHealth(t, w).Available },
			build: func(t Tenant) (Object, error) { return workload(t, w) },
		})
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
