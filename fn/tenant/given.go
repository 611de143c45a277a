package tenant

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/reference"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// HostPolicies are the admission policies that are in force on the host: those that
// fail closed, with a binding that denies everywhere.
type HostPolicies struct {
	// Read reports whether Crossplane has answered.
	Read bool
	// Versions of the policies in force, by name.
	Versions map[string]int
}

// Hostnames is what is known of hostnames and whose they are.
type Hostnames struct {
	// Held are those whose records the tenant has, sorted.
	Held []string
	// Read reports whether Crossplane has looked for the record of the hostname that is asked for.
	Read bool
	// Taken reports whether that record is somebody else's.
	Taken bool
	// Holder is whose it is, when that is a claim of the same namespace: its name.
	// Who uses a namespace need not know what others call theirs.
	Holder string
	// Serving is the hostname that the installed Argo CD has an Ingress for; "" for none.
	Serving string
	// Settled reports whether that is so as wanted, and not on its way to another.
	Settled bool
	// Allowed are the hostnames that the namespace on the host is known to say are the
	// tenant's, and NamespaceSeen whether that is known.
	Allowed       []string
	NamespaceSeen bool
	// Ingresses is how many the tenant has on the host; nil while nobody has counted.
	Ingresses *int64
}

// Pod Security levels. The namespace on the host enforces baseline: vcluster's own
// pods don't run under restricted. A plan can have restricted enforced on the
// tenant's pods, which vcluster does before they get to the host.
const (
	PodSecurityBaseline   = "baseline"
	PodSecurityRestricted = "restricted"
)

// Given is what is known of a tenant when a decision is made about it.
type Given struct {
	// XRName is the name of the composite resource.
	XRName string
	Spec   Ask
	Plan   plan.Plan
	Input  inputv1alpha1.Input
	// Platform is Input with the plan over it and completed. It is set when the decision
	// begins.
	Platform inputv1alpha1.Input
	// Claim is empty for a composite resource without one.
	Claim Claim
	// SecretNames are the names of the Secrets that the spec names, sorted.
	SecretNames []string
	// Secrets that the spec names, by name.
	Secrets map[string]Secret
	// Before reads the values from Secrets that are in use now. It is called only
	// when there is need of them.
	Before func() values.Values
	// Token of the tenant's account on the host; empty while there is none.
	Token []byte
	// Hostnames returns what is known of the tenant's hostnames and of the one that it asks
	// for, "" for none, with records in a namespace. Nil where nothing is known.
	Hostnames    func(recordsIn, asked string) Hostnames
	Running      Running
	HostPolicies HostPolicies
}

// Ask is what the tenant asks for, with values decoded.
type Ask struct {
	Plan                 string                            `json:"plan,omitempty"`
	ArgoCDChartVersion   string                            `json:"argocdChartVersion,omitempty"`
	ArgoCDValues         values.Values                     `json:"argocdValues,omitempty"`
	KubernetesVersion    string                            `json:"kubernetesVersion,omitempty"`
	VClusterChartVersion string                            `json:"vclusterChartVersion,omitempty"`
	VClusterValues       values.Values                     `json:"vclusterValues,omitempty"`
	Clusters             []v1alpha1.ClusterSpec            `json:"clusters,omitempty"`
	Repositories         []v1alpha1.RepositorySpec         `json:"repositories,omitempty"`
	CredentialTemplates  []v1alpha1.CredentialTemplateSpec `json:"credentialTemplates,omitempty"`
	Bootstrap            *v1alpha1.BootstrapSpec           `json:"bootstrap,omitempty"`
	Ingress              *v1alpha1.IngressSpec             `json:"ingress,omitempty"`
	SSO                  *v1alpha1.SSOSpec                 `json:"sso,omitempty"`
	DeletionProtection   bool                              `json:"deletionProtection,omitempty"`
}

// Claim refers to the claim that a tenant belongs to.
type Claim = reference.Claim

// LabelCredentials is the label of Secrets that claims may use, with the value "true".
const LabelCredentials = "virtualargocd.io/credentials"

// What the input may say of that label.
const (
	CredentialsLabelRequired = "Required"
	CredentialsLabelIgnored  = "Ignored"
)

// A Secret that the spec names, in the namespace of the claim.
type Secret struct {
	// Read reports whether Crossplane has looked for it.
	Read bool
	// Found reports whether it is there.
	Found bool
	// Labelled: it has LabelCredentials.
	Labelled bool
	// TooLarge: it holds more than MaxSecretSize, and has not been decoded.
	TooLarge bool
	// Type of the Secret, such as kubernetes.io/tls.
	Type string
	// Data of the Secret, decoded.
	Data map[string]string
}

// Running is what was seen running; empty before.
type Running struct {
	VCluster   string
	Kubernetes string
	// ArgoCD is the version of its chart.
	ArgoCD string
	Plan   string
	Store  *Store
}
