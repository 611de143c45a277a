// Package v1alpha1 holds the types of the VirtualArgoCD API: the spec that users
// write in a claim, and the status that the composition function reports.
//
// The CompositeResourceDefinition in apis/xvirtualargocds.yaml is generated from these
// types (go generate ./apis/...).
//
// +kubebuilder:object:generate=true
// +groupName=virtualargocd.io
// +versionName=v1alpha1
package v1alpha1

// Group, Version and the kinds of the API. The composition function ignores the group:
// the same kinds may be offered under another one.
const (
	Group      = "virtualargocd.io"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
	Kind       = "XVirtualArgoCD"
	ClaimKind  = "VirtualArgoCD"
)

// The namespaced kind of Crossplane 2, VirtualArgoCD as the claim: its group is that of the
// composite resources behind it, with a prefix.
const (
	FrontPrefix     = "m."
	FrontGroup      = FrontPrefix + Group
	FrontAPIVersion = FrontGroup + "/" + Version
)

// AnnotationLeave is an annotation of a namespaced VirtualArgoCD, which only the platform may
// set: it neither changes nor deletes its tenant any more, so that a claim can have the tenant.
const AnnotationLeave = "virtualargocd.io/leave-tenant"

// AnnotationAdopting marks what adopt.sh has set on a claim or a namespaced VirtualArgoCD for the time of a move, and takes back.
// Only the platform may set it.
const AnnotationAdopting = "virtualargocd.io/adopting"
