package tenant

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/reference"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// HostPolicies are the admission policies that are in force on the host: those that refuse
// what they can't evaluate, with a binding that denies everywhere.
type HostPolicies struct {
	// Read reports whether Crossplane has looked for them.
	Read bool
	// Versions of the policies in force, by name.
	Versions map[string]int
	// Labels and Annotations are those that objects of tenants may have on the host, and IngressAnnotations those that an Ingress may have;
	// nil where that isn't known.
	Labels, Annotations, IngressAnnotations *Keys
}

// Keys are the keys of labels or annotations that an admission policy allows.
type Keys struct {
	// Policy is the name of the ValidatingAdmissionPolicy that lists them.
	Policy string
	// Names of keys, and Prefixes of keys.
	Names, Prefixes []string
	// Plain matches keys without a domain that are allowed, too, except for those in Not; nil for none.
	Plain *regexp.Regexp
	Not   []string
}

// Refuse reports whether the host is known to refuse an object with a key.
func (k *Keys) Refuse(key string) bool {
	return k != nil && !slices.Contains(k.Names, key) && !slices.ContainsFunc(k.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) &&
		(k.Plain == nil || !k.Plain.MatchString(key) || slices.Contains(k.Not, key))
}

// HostResolver is the DNS resolver for tenants on the host.
type HostResolver struct {
	// Read reports whether Crossplane has looked for it.
	Read bool
	// Address of its Service; "" for none.
	Address string
}

// Hostnames is what is known of hostnames and the tenants that have them. A tenant has those whose
// records it controls, whatever else names a hostname: chart values may come from its claim.
type Hostnames struct {
	// Held are the hostnames whose records are composed.
	Held []string
	// Records says whose the records are that Crossplane has looked for, by the name of their
	// HostnameResource.
	Records map[string]Reservation
	// Serving are the hostnames of the installed Argo CD's Ingress, the one of its URL first. Chart
	// values may name any there.
	Serving []string
	// Settled reports whether the Release with that Ingress is as it is wanted.
	Settled bool
	// Allowed are the hostnames in the annotation of the namespace, as it was composed last. They
	// are hostnames that the tenant had then. NamespaceSeen reports whether the host has it so.
	Allowed       []string
	NamespaceSeen bool
	// Ingresses is the number of the tenant's Ingresses on the host; nil for unknown.
	Ingresses *int64
	// ArgoCDs is Argo CD's Ingress on the host, as it was seen after they were counted; nil for unknown.
	ArgoCDs *HostIngress
	// Routed are the hostnames that the tenant's HTTPRoute has or may have on the host, the one of the URL first; none without an
	// HTTPRoute.
	Routed []string
	// Gateway is what is observed of the tenant's Gateway; empty for nothing.
	Gateway HostGateway
}

// A HostGateway is a Gateway of the host, and where it serves.
type HostGateway struct {
	Namespace, Name string
	Addresses       []string
}

// A HostIngress is an Ingress of a tenant on the host.
type HostIngress struct {
	// Hosts are those of its rules and of its certificates.
	Hosts []string
	// Counted reports whether it was there before the tenant's Ingresses were counted.
	Counted bool
}

// A Reservation says whose a hostname is.
type Reservation struct {
	// Own reports whether the tenant has the record of the hostname.
	Own bool
	// Taken reports whether another tenant has the record of the hostname.
	Taken bool
	// Holder is the name of that tenant's claim, if it is in the same namespace. Names in other
	// namespaces aren't shown.
	Holder string
}

// Pod Security levels. The namespace on the host enforces baseline, because vcluster's own
// pods don't run under restricted. vcluster enforces the level of the plan on the tenant's pods.
const (
	PodSecurityBaseline   = "baseline"
	PodSecurityRestricted = "restricted"
)

// Given is what is known of a tenant when a decision is made about it.
type Given struct {
	// XRName and APIVersion are those of the composite resource.
	XRName, APIVersion string
	Spec               Ask
	Plan               plan.Plan
	Input              inputv1alpha1.Input
	// Offered is what the tenant has of its channel; before that is assigned, the defaults of the input.
	Offered Offered
	// Platform is Input with the settings of the offer and the plan, and defaults. The decision
	// sets it.
	Platform inputv1alpha1.Input
	// ArgoCD is the minor version of Argo CD that the tenant gets; nil where it isn't known. The decision sets it.
	ArgoCD *semver.Version
	// Channel is what is known of the tenant's channel.
	Channel Channel
	// Unassigned reports whether the plan or the channel that the claim asks for can't be had. Only mistakes are looked for then that it has
	// with any.
	Unassigned bool
	// Claim is empty for a composite resource without one.
	Claim Claim
	// SecretNames are the names of the Secrets that the spec names, sorted.
	SecretNames []string
	// Secrets that Crossplane has looked for, by name.
	Secrets map[string]Secret
	// Before are the values from Secrets that are in use now.
	Before values.Values
	// Was is what was accepted of the tenant before; nil for nothing. What was accepted once isn't
	// refused because of a check that is newer.
	Was *Accepted
	// EarlierApplication is the spec of the first Application as version 0.2 composed it; nil where a later one did.
	EarlierApplication map[string]any
	// Token of the tenant's installer; empty for none.
	Token []byte
	// Kept is what the tenant's credentials are derived from, as it is kept now.
	Kept localaccount.Kept
	// DeployedAccounts is the ValuesKey of the accounts that Argo CD has; "" for none, and where that isn't known.
	DeployedAccounts string
	// Rotation is the value of localaccount.RotatePassword; "" for none.
	Rotation string
	// Restored is what is known of the restore of spec.restoreFrom.
	Restored Restored
	// Suspended reports whether the platform has suspended the tenant whose backup spec.restoreFrom names.
	Suspended bool
	// BackupNow is the value of v1alpha1.AnnotationBackup; "" for none.
	BackupNow string
	// Now is the time of the call, and Created when the tenant was created, or that whose backup it was restored from; the zero time for unknown.
	Now, Created time.Time
	// Details are the connection details that are published.
	Details map[string][]byte
	// Hostnames is what is known of the tenant's hostnames and of those that it asks for.
	Hostnames Hostnames
	Running   Running
	// GoesBackTo is the version of the chart argo-cd to which the tenant may go back; "" for none.
	GoesBackTo   string
	HostPolicies HostPolicies
	HostResolver HostResolver
}

// Fetches reports whether something of the backup that spec.restoreFrom names is still to come. A copy gets the clusters of it when it is activated.
func (g Given) Fetches() bool {
	is := g.Spec.RestoreFrom
	switch {
	case is == nil:
		return false
	case g.Was == nil || g.Restored.At == "":
		return true
	}
	return is.Activate && !g.Restored.Active && is.Tenant != "" && is.Tenant != g.Claim.Name
}

// Restored is what a Job has reported of a restore.
type Restored struct {
	// Name of the backup, and At when it was restored; "" for not yet.
	Name, At string
	// Objects and Applications are how many came back.
	Objects, Applications int64
	// Digest of what a copy had then.
	Digest string
	// Since is when the tenant was created whose backup it is; the zero time for unknown.
	Since time.Time
	// Active reports whether the credentials of clusters came with it.
	Active bool
	// Message says why the last attempt failed; "" for nothing.
	Message string
}

// Ask is what the tenant asks for, with values decoded.
type Ask struct {
	Plan                 string                            `json:"plan,omitempty"`
	Channel              string                            `json:"channel,omitempty"`
	Maintenance          *v1alpha1.MaintenanceSpec         `json:"maintenance,omitempty"`
	ArgoCDChartVersion   string                            `json:"argocdChartVersion,omitempty"`
	ArgoCDValues         values.Values                     `json:"argocdValues,omitempty"`
	KubernetesVersion    string                            `json:"kubernetesVersion,omitempty"`
	VClusterChartVersion string                            `json:"vclusterChartVersion,omitempty"`
	VClusterValues       values.Values                     `json:"vclusterValues,omitempty"`
	Clusters             []v1alpha1.ClusterSpec            `json:"clusters,omitempty"`
	Repositories         []v1alpha1.RepositorySpec         `json:"repositories,omitempty"`
	CredentialTemplates  []v1alpha1.CredentialTemplateSpec `json:"credentialTemplates,omitempty"`
	ArgoCDSecretKeys     []v1alpha1.SecretKeySpec          `json:"argocdSecretKeys,omitempty"`
	ArgoCDAccounts       []v1alpha1.AccountSpec            `json:"argocdAccounts,omitempty"`
	Bootstrap            *v1alpha1.BootstrapSpec           `json:"bootstrap,omitempty"`
	Ingress              *v1alpha1.IngressSpec             `json:"ingress,omitempty"`
	SSO                  *v1alpha1.SSOSpec                 `json:"sso,omitempty"`
	Notifications        *v1alpha1.NotificationsSpec       `json:"notifications,omitempty"`
	Webhooks             []v1alpha1.WebhookSpec            `json:"webhooks,omitempty"`
	ImagePullSecrets     []v1alpha1.SecretReference        `json:"imagePullSecrets,omitempty"`
	TrustedCertificates  []v1alpha1.TrustedCertificateSpec `json:"trustedCertificates,omitempty"`
	Components           []AskedComponent                  `json:"components,omitempty"`
	Backup               *v1alpha1.BackupSpec              `json:"backup,omitempty"`
	RestoreFrom          *v1alpha1.RestoreSpec             `json:"restoreFrom,omitempty"`
	Hibernation          *v1alpha1.HibernationSpec         `json:"hibernation,omitempty"`
	Suspension           *v1alpha1.SuspensionSpec          `json:"suspension,omitempty"`
	DeletionProtection   bool                              `json:"deletionProtection,omitempty"`
}

// HasTunnels reports whether any of the clusters has a tunnel.
func (a Ask) HasTunnels() bool {
	return slices.ContainsFunc(a.Clusters, func(c v1alpha1.ClusterSpec) bool { return c.Tunnel != nil })
}

// An AskedComponent is a component that the claim names, with values decoded.
type AskedComponent struct {
	Name   string        `json:"name"`
	Values values.Values `json:"values,omitempty"`
}

// With returns what is given with what is to be accepted.
func (g Given) With(a Accepted) Given {
	g.Spec, g.Plan, g.Input, g.Offered = a.Spec, a.Plan, a.Input, a.Offered
	return g
}

// WasAsked returns the spec that was accepted of the tenant before; an empty one for nothing.
func (g Given) WasAsked() Ask {
	if g.Was == nil {
		return Ask{}
	}
	return g.Was.Spec
}

// KeepsValues reports whether the claim has values of the argo-cd chart at a path, and they are as they were accepted before.
func (g Given) KeepsValues(path ...string) bool {
	before, _ := values.Lookup(g.WasAsked().ArgoCDValues, path...)
	now, _ := values.Lookup(g.Spec.ArgoCDValues, path...)
	return before != nil && reflect.DeepEqual(before, now)
}

// Ignored says that the tenant's Argo CD ignores what a later version, such as 3.5, was the first to read; "" where it doesn't, or that isn't
// known.
func (g Given) Ignored(since string) string {
	if since == "" || g.ArgoCD == nil || !g.ArgoCD.LessThan(semver.MustParse(since)) {
		return ""
	}
	return fmt.Sprintf("Argo CD reads it from version %s on, and this tenant's is %d.%d", since, g.ArgoCD.Major(), g.ArgoCD.Minor())
}

// Claim refers to the claim that a tenant belongs to.
type Claim = reference.Claim

// ClaimOf returns to what a composite resource belongs: a claim, or a namespaced VirtualArgoCD. Crossplane overwrites that for claims, and
// provider-kubernetes writes it for the others, so that nobody can who has rights only in a namespace. What is malformed is taken as absent.
func ClaimOf(xr wire.Struct) Claim {
	of := Claim{}
	_ = xr.Get("spec", "claimRef").Into(&of)
	return of
}

// LabelCredentials is the label of Secrets that claims may use, with the value "true".
const LabelCredentials = "virtualargocd.io/credentials"

// LabelSecretName is the label with a Secret's own name, by which the Secrets of a claim that
// names more than MaxNamed are found.
const LabelSecretName = "virtualargocd.io/secret-name"

// Bounds of what Crossplane reads for a claim in each call, and sends to the function in a message
// of at most 16 MiB. Of a Secret that is asked for by name, nothing is known before it was read: it
// may have no label, and 1 MiB. Those with LabelSecretName have 64 KiB at most, by the admission
// policy virtual-argocd-secrets. So either way a claim's Secrets are 5 MiB at most.
const (
	// MaxSecrets is the number of Secrets that a claim may name.
	MaxSecrets = 64
	// MaxNamed is the number of those that are asked for by name.
	MaxNamed = 5
)

// ByLabel reports whether a claim that names so many Secrets finds them by LabelSecretName.
func ByLabel(secrets int) bool { return secrets > MaxNamed }

// Values of the input's field credentials.label.
const (
	CredentialsLabelRequired = "Required"
	CredentialsLabelIgnored  = "Ignored"
)

// A Secret that the spec names, in the namespace of the claim.
type Secret struct {
	// Read reports whether Crossplane has looked for it.
	Read  bool
	Found bool
	// Labelled reports whether it has LabelCredentials.
	Labelled bool
	// TooLarge reports whether it is larger than MaxSecretSize. It then has no Data.
	TooLarge bool
	// Type of the Secret, such as kubernetes.io/tls.
	Type string
	// Data of the Secret, decoded.
	Data map[string]string
	// Labels and Annotations of the Secret.
	Labels, Annotations map[string]string
}

// Running is what was seen running; empty for nothing.
type Running struct {
	// Versions of the charts and of Kubernetes.
	VCluster, ArgoCD, Kubernetes string
	// ArgoCDWanted is the version of the chart argo-cd that is to run, whether it does or not.
	ArgoCDWanted string

	Plan  string
	Store *Store
	// Installed reports whether there is a Release of vcluster, and Corefile is the
	// configuration of the virtual cluster's DNS in its values; "" for vcluster's own, which
	// asks the host's DNS.
	Installed bool
	Corefile  string
	// Components are the namespaces of components that there are Releases of, by the name of the component.
	Components map[string]string
}
