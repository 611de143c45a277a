package tenant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// Bounds limit what a tenant uses of the host, and reaches there. They aren't values of the
// vcluster chart, because Helm would delete them before the pods, and because each change of
// a value restarts the virtual API server.
type Bounds struct {
	Quota           corev1.ResourceList
	Limits          corev1.LimitRangeItem
	NetworkPolicies []networkingv1.NetworkPolicy
}

// Ingress is how Argo CD is reached from outside.
type Ingress struct {
	// Asked are the hostnames that are asked for, the one of the URL first.
	Asked []AskedHostname
	// Hostname is that of the URL: the first of Asked once the tenant has its record, and the one
	// before until then; "" for none.
	Hostname string
	// Additional are the other hostnames in use: those of Asked whose records the tenant has.
	Additional []string
	// ClusterIssuers are those that the tenant's Ingresses may name; nil for any.
	ClusterIssuers []string
	// Certificate is the state of the Secret with the certificate; nil for none.
	Certificate *Connection
	// CertificateProblem says why clients refuse the certificate in that Secret, and CertificateEnds that it expires soon; "" for neither.
	CertificateProblem, CertificateEnds string
	// Issuer is the annotation of the Ingress by which cert-manager is to issue its certificate; "" for none.
	Issuer string
	// Refused are the keys of annotations of the Ingress that the host's admission policies don't allow, sorted.
	Refused []string
	// Records are the hostnames whose records the tenant has or asks for.
	Records []string
	// Own are the hostnames that the tenant's Ingresses may have, sorted, each followed by the
	// one for gRPC.
	Own []string
	// Leaving are the hostnames that aren't in use any more, and whose records the tenant keeps
	// as long as it may have Ingresses for them.
	Leaving []string
	// Counted reports whether the tenant's Ingresses on the host are to be counted, because
	// no new one can have a hostname in Leaving.
	Counted bool
	// Single reports whether there is one, which may be Argo CD's: then that is looked at.
	Single bool
	// Gateway serves the hostnames; nil where an ingress controller does, by an Ingress.
	Gateway *Gateway
	// Routed are the hostnames of the HTTPRoute, the one of the URL first: those in use that the host lets it have.
	Routed []string
	// NoEffect are the fields of the claim that have no effect with the Gateway, sorted, which were accepted before there was one.
	NoEffect []string
}

// A Gateway of the host.
type Gateway struct {
	Namespace, Name string
	// SectionName is its listener; "" for any.
	SectionName string
	// KeepsIngress reports whether there is an Ingress beside the HTTPRoute.
	KeepsIngress bool
	// Addresses at which it serves, and whether they are known: Seen is false where nobody observes the Gateway.
	Addresses []string
	Seen      bool
}

// HasIngress reports whether the hostnames are to be served by an Ingress, perhaps beside the HTTPRoute.
func (i Ingress) HasIngress() bool { return i.Gateway == nil || i.Gateway.KeepsIngress }

// An AskedHostname is a hostname that is asked for, and why the tenant doesn't have it.
type AskedHostname struct {
	Name string
	Reservation
	// Full reports whether it isn't reserved because the tenant has too many hostnames.
	Full bool
}

// InUse returns the hostnames that Argo CD's Ingress is to have, the one of the URL first; none
// while that is nobody's.
func (i Ingress) InUse() []string {
	if i.Hostname == "" {
		return nil
	}
	return append([]string{i.Hostname}, i.Additional...)
}

// A ClientCertificate has the CA of a cluster's API server, the certificate of a client and
// its key, in PEM.
type ClientCertificate struct {
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
	// VersionsHeld are messages about the platform's versions that the tenant doesn't have yet.
	VersionsHeld []string
	// NoEffect are messages about values that the charts don't have.
	NoEffect []string
	PlanName string
	// PodSecurity is the level that applies to the tenant's pods.
	PodSecurity string
	// LoadBalancers is the number of Services of type LoadBalancer that the tenant may have.
	LoadBalancers int64
	Store         Store
	// ControlPlanes is the number of replicas of the control plane; 0 for the default.
	ControlPlanes  int64
	VirtualCluster Chart
	ArgoCD         Chart
	// HostProblem is a message about admission policies or a DNS resolver that the host lacks,
	// "" for none, and HostReason is the reason of its condition.
	HostProblem, HostReason string
	// Corefile configures the virtual cluster's DNS; "" for vcluster's own configuration, which
	// asks the host's DNS.
	Corefile string
	// KeepsHostDNS reports whether the virtual cluster's DNS may still ask the host's, because
	// it hasn't been given the Corefile yet.
	KeepsHostDNS bool
	Bounds       Bounds
	// GeneratesPassword reports whether Argo CD generates an initial admin password.
	GeneratesPassword bool
	// AdminDisabled reports whether nobody can log in as admin.
	AdminDisabled bool
	// Workloads of Argo CD that are expected in the virtual cluster.
	Workloads []Workload
	// Sensitive are the values of the argo-cd chart that are only in a Secret: those from
	// Secrets that the spec names, and the password of redis. Nil for none.
	Sensitive values.Values
	// Clusters of the spec, in its order.
	Clusters []Connection
	// Tunnels are those to clusters of the spec.
	Tunnels Tunnels
	// SecretKeys are those of the spec, in its order.
	SecretKeys []Connection
	// Repositories are the repositories and credential templates of the spec.
	Repositories []Connection
	Ingress      Ingress
	// RootPath is the path of Argo CD's URL, such as /argocd; "" for none.
	RootPath string
	SSO      SSO
	Accounts localaccount.Decision
	// Notifications that Argo CD sends.
	Notifications Notifications
	// Webhooks are the kinds of Git servers of the spec, in its order.
	Webhooks []Connection
	// PullSecrets are the Secrets for registries of the spec, in its order, and PullSecretsOnHost the names of those that the tenant's pods have
	// on the host.
	PullSecrets       []Connection
	PullSecretsOnHost []string
	Claim             Claim
	// DeletionProtection of the XR, its claim and the claim's namespace.
	DeletionProtection bool
	Backup             Backup
	Restore            Restore
	Hibernation        Hibernation
	// Components beside Argo CD, by name.
	Components []Component
	// Leaving has the chart that the catalogue offers now of each component that has a Release and isn't wanted any more, by name, without values.
	Leaving map[string]Chart
	// Application is the manifest of the first Application; nil for none.
	Application map[string]any
	// KeepsEarlierPolicy reports whether it has the syncPolicy that version 0.2 made of the spec.
	KeepsEarlierPolicy bool
}

// Backup is how a tenant is backed up.
type Backup struct {
	// On reports whether it is.
	On bool
	// Folder of rclone that has the backups, "" for none, and Owner is what they say whose they are.
	Folder, Owner string
	// Since is when the tenant was created, in RFC 3339; "" for unknown.
	Since string
	// Schedule as a CronJob has it, and its TimeZone.
	Schedule, TimeZone string
	// Keep is the number of backups that are kept.
	Keep int64
	// Now is the value of the annotation that asks for a backup at once; "" for none.
	Now string
	// Secret with rclone's configuration.
	Secret string
	// MaxSize bounds what one backup takes in memory.
	MaxSize kresource.Quantity
	// Images. That of ArgoCD has no tag where it follows the tenant's version.
	ArgoCD, Kubectl, Rclone string
}

// Restore is the backup that a tenant begins with.
type Restore struct {
	// Folder of rclone that has it, "" for none, and Owner is what it has to say whose it is.
	Folder, Owner string
	// Name of the backup, or latest.
	Name string
	// Snapshot reports whether everything in the virtual cluster comes back, before that starts for the first time; otherwise it is Argo CD's
	// objects, once Argo CD runs.
	Snapshot bool
	// Without says why not everything comes back, although it is the claim's own backup; "" for a copy, and where everything does.
	Without string
	// Active reports whether Argo CD may act.
	Active bool
	// Held is the name of the claim whose backup nobody gets, because the platform has suspended it; "" for none.
	Held string
	// Seen is what the last Job has reported.
	Seen Restored
}

// A Component is what a tenant has in its virtual cluster beside Argo CD.
type Component struct {
	Name string
	Chart
	// Namespace in the virtual cluster.
	Namespace string
	// Workloads that must be available for it to be Ready.
	Workloads []Workload
	// Webhooks reports whether the ingress controllers may connect to pods in its namespace.
	Webhooks bool
}

// SuspendedReason begins the reason of a tenant's hibernation that the platform has suspended.
const SuspendedReason = "the platform has suspended it: "

// Hibernation says when a tenant is to be asleep.
type Hibernation struct {
	// Asleep reports whether it is to be now, and Reason why. Forced reports whether that is the platform's will, whatever the tenant is doing.
	Asleep, Forced bool
	Reason         string
	// Until is when it wakes up, and Next when it falls asleep; the zero time for not by itself.
	Until, Next time.Time
	// Expires is when the time ends that the plan gives it; the zero time for never.
	Expires time.Time
	// Kubectl is the image of its Jobs.
	Kubectl string
}

// Chart to install, with its values.
type Chart struct {
	Repository string
	Name       string
	Version    string
	// Digest of that version in an OCI registry, "" for any.
	Digest string
	Values values.Values
}

// A Connection is the state of something that Argo CD connects to, or of a Secret that the spec names.
type Connection struct {
	// Kind of the entry in a list of the status that has several kinds.
	Kind    string
	Name    string
	State   v1alpha1.ConnectionState
	Message string
	// Key by which the proxy knows it; "" if it isn't known, or can't be seen.
	Key proxy.ConnectionKey
	// Agent is the key of the agent by which a cluster is reached, "" for none, and AgentStatus is how it was seen last; nil for not yet.
	// Manifest is the key of the claim's connection Secret with what is to be applied in that cluster.
	Agent       proxy.ConnectionKey
	AgentStatus *v1alpha1.AgentStatus
	Manifest    string
}

// Tunnels lead to clusters that let no connections in.
type Tunnels struct {
	// Image of the server and of the agents, and Authority is the certificate of the CA of the claim's hostname, in PEM; "" for one that
	// everybody knows.
	Image, Authority string
	// Server is the public key of the server.
	Server string
	Agents []TunnelAgent
}

// A TunnelAgent is the side of a tunnel in a cluster.
type TunnelAgent struct {
	Name string
	// Key of the agent, in PEM; "" while there is nothing that it can be derived from.
	Key string
}

// SSO is the single sign-on of an Argo CD.
type SSO struct {
	// On reports whether the spec has any settings of it.
	On bool
	// Provider is the name of the provider; "" for none.
	Provider string
	// Secrets are the states of the Secrets that the spec's sso names.
	Secrets []Connection
	// Callback is the path of the redirect URL. With Dex, that URL is the first one's alone.
	Callback string
	// Dex reports whether the provider is Argo CD's own Dex.
	Dex bool
	// Notes are what may keep people from signing on, and isn't observed.
	Notes []string
}

// Notifications are those that the spec has Argo CD send.
type Notifications struct {
	// On reports whether the spec has any.
	On bool
	// Services and Triggers are their names.
	Services, Triggers []string
	// Secrets is the state of the Secret that services refer to; nil for none.
	Secrets []Connection
}

// WebhookNamespaces returns the namespaces of the virtual cluster in which Ingresses may lead to pods with the claim's hostnames, beside that of
// Argo CD: those of components with webhooks, sorted.
func WebhookNamespaces(d *Decision) []string {
	var out []string
	for _, c := range d.Components {
		if c.Webhooks {
			out = append(out, c.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A Workload of Argo CD, or of a component, in the virtual cluster.
type Workload struct {
	// Component is the short name of a workload of Argo CD, unique in a tenant.
	Component string
	// Kind is Deployment or StatefulSet.
	Kind string
	// Name of the workload in ArgoCDNamespace, or in the namespace of the component.
	Name string
	// Idle reports whether the values set its replicas to 0.
	Idle bool
	// Replicas that the values set; 0 where they set none, or something scales it.
	Replicas int64
}

// ComponentServer is Argo CD's API server.
const ComponentServer = "server"

// URL returns the URL of the tenant's Argo CD: that of its Ingress, or of its Service on the
// host.
func URL(d *Decision) string {
	return "https://" + cmp.Or(d.Ingress.Hostname, d.Names.ArgoCDHostname) + d.RootPath
}

// URLs returns all URLs of the tenant's Argo CD, the one of URL first.
func URLs(d *Decision) []string {
	out := []string{URL(d)}
	for _, hostname := range d.Ingress.Additional {
		out = append(out, "https://"+hostname+d.RootPath)
	}
	return out
}

// A Store keeps a virtual cluster's state. It can't be changed.
type Store struct {
	// Kind is StoreSQLite or StoreEtcd.
	Kind string
	// Members is the number of members of etcd.
	Members int64
	// Size of the volume, or of that of each member; "" for none.
	Size         string
	StorageClass string
}

// Same reports whether two stores are the same to Kubernetes, for which 1Gi is 1024Mi.
func (s Store) Same(other Store) bool {
	a, _ := values.ParseAmount(s.Size)
	b, _ := values.ParseAmount(other.Size)
	s.Size, other.Size = "", ""
	return s == other && a.Value() == b.Value()
}

// String returns text such as "etcd with 3 members on volumes of 5Gi, class fast".
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
