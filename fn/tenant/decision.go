package tenant

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Bounds are what a tenant may use of the host, and reach there: objects of its
// namespace that outlive its pods. They aren't values of the vcluster chart, because
// Helm would delete them before the pods, and because each change of a value restarts
// the virtual API.
type Bounds struct {
	Quota           corev1.ResourceList
	Limits          corev1.LimitRangeItem
	NetworkPolicies []networkingv1.NetworkPolicy
}

// Ingress is how Argo CD is reached from outside.
type Ingress struct {
	// Asked is the hostname that is asked for; "" for none.
	Asked string
	// Hostname in use: the one that is asked for once its record is the tenant's, until
	// then the one from before; "" for none.
	Hostname string
	// Taken reports whether Asked is somebody else's. Holder is whose, if that is a claim
	// of the same namespace.
	Taken  bool
	Holder string
	// Certificate is what became of the Secret with the certificate, if there is one.
	Certificate *Connection
	// Records are the hostnames whose records the tenant has or asks for.
	Records []string
	// Own are the hostnames that are the tenant's, sorted, each with the one for gRPC
	// after it: its Ingresses on the host may have these, and no other.
	Own []string
	// Leaving are the hostnames that aren't in use any more and not given up yet: the
	// tenant may have Ingresses of its own for them, which would serve whoever has
	// the hostname next.
	Leaving []string
	// Counted reports whether it is time to count the tenant's Ingresses on the host:
	// no new one can have a hostname that is leaving.
	Counted bool
}

// A ClientCertificate opens a cluster.
type ClientCertificate struct {
	// CA of the server's certificate, Certificate of the client and its Key, in PEM.
	CA, Certificate, Key []byte
	// Expires is when the first of both certificates expires; zero where neither can be
	// read.
	Expires time.Time
}

// Decision is everything decided about a tenant.
type Decision struct {
	Names      Names
	Host       inputv1alpha1.Host
	SecretsIn  string
	Kubernetes string
	// VersionsHeld says which of the platform's versions the tenant doesn't have yet, and
	// why.
	VersionsHeld []string
	// PlanName is the name of the plan in use.
	PlanName string
	// PodSecurity is the level that the tenant's pods are held to.
	PodSecurity string
	// LoadBalancers is how many Services of that type the tenant may have.
	LoadBalancers int64
	// Store of the virtual cluster's state, and how many control planes it has.
	Store          Store
	ControlPlanes  int64
	VirtualCluster Chart
	ArgoCD         Chart
	// HostProblem says which admission policies the host lacks, "" for none.
	HostProblem string
	Bounds      Bounds
	// GeneratesPassword: Argo CD makes an initial admin password to publish.
	GeneratesPassword bool
	// AdminDisabled: nobody can log in as admin.
	AdminDisabled bool
	// Workloads of Argo CD to expect in the virtual cluster.
	Workloads []Workload
	// Sensitive are the values of the argo-cd chart that stand in a Secret alone: those
	// from Secrets that the spec names, and the password of redis. Nil for none.
	Sensitive values.Values
	// Clusters of the spec, in its order.
	Clusters []Connection
	// Repositories are the repositories and credential templates of the spec.
	Repositories []Connection
	Ingress      Ingress
	SSO          SSO
	Claim        Claim
	// DeletionProtection: the XR can't be deleted, nor its claim and the claim's namespace.
	DeletionProtection bool
	// Application is the manifest of the first Application; nil for none.
	Application map[string]any
}

// Chart to install, and with which values.
type Chart struct {
	Repository string
	Name       string
	Version    string
	Values     values.Values
}

// A Connection is what became of one Secret that the spec names.
type Connection struct {
	// Kind tells lists of connections apart that share a list in the status.
	Kind    string
	Name    string
	State   v1alpha1.ConnectionState
	Message string
}

// SSO is how people sign on.
type SSO struct {
	// On reports whether the spec has anything of it.
	On bool
	// Provider is the name of the provider; "" for none.
	Provider string
	// ClientSecret is what became of the Secret with the client secret, if there
	// is a provider.
	ClientSecret *Connection
}

// A Workload of Argo CD in the virtual cluster.
type Workload struct {
	// Component is the workload's short name, unique in a tenant.
	Component string
	// Kind is Deployment or StatefulSet.
	Kind string
	// Name of the workload in ArgoCDNamespace.
	Name string
	// Idle: the values ask for no replicas of it.
	Idle bool
}

// ComponentServer is Argo CD's API server: its image tells the version that runs.
const ComponentServer = "server"

// URL of the tenant's Argo CD: that of its Ingress, or as reached from the host
// cluster.
func URL(p *Decision) string { return "https://" + cmp.Or(p.Ingress.Hostname, p.Names.ArgoCDHostname) }

// A Store is where a virtual cluster keeps its state. It stays as it was made.
type Store struct {
	// Kind is StoreSQLite or StoreEtcd.
	Kind string
	// Members of etcd.
	Members int64
	// Size and StorageClass of the volume, or of each member's; no size for one that
	// goes with the pod.
	Size         string
	StorageClass string
}

// Same reports whether two stores are the same to Kubernetes.
func (s Store) Same(other Store) bool {
	size := func(s Store) int64 {
		q, _ := values.ParseAmount(s.Size)
		return q.Value()
	}
	return s.Kind == other.Kind && s.Members == other.Members && s.StorageClass == other.StorageClass && size(s) == size(other)
}

// String reads like "etcd with 3 members on volumes of 5Gi, class fast".
func (s Store) String() string {
	text, volume := s.Kind, " on a volume"
	if s.Kind == plan.StoreEtcd && s.Members != 1 {
		text, volume = fmt.Sprintf("etcd with %d members", s.Members), " on volumes"
	}
	if s.Size == "" {
		return text + " without a volume"
	}
	text += volume + " of " + s.Size
	if s.StorageClass != "" {
		text += ", class " + s.StorageClass
	}
	return text
}
