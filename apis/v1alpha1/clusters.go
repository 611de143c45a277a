package v1alpha1

// SecretReference names a Secret in the namespace of the claim. There is no
// field for another namespace: a claim reaches only the Secrets beside it, and of
// those only the ones that have the label virtualargocd.io/credentials: "true".
type SecretReference struct {
	// Name of the Secret, in the namespace of the claim. It needs the label
	// virtualargocd.io/credentials: "true".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a Secret in the namespace of the claim: lower case letters, digits, dots and dashes"
	Name string `json:"name"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// ClusterSpec is a cluster that Argo CD deploys to. Its credentials are in a
// Secret, never here.
type ClusterSpec struct {
	// Name of the cluster in Argo CD, unique in the claim: what an Application
	// writes in spec.destination.name. A DNS label that begins with a letter, 63
	// characters at most; not in-cluster, which is the virtual cluster, and no
	// word that YAML takes for something else than text, such as true.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label that begins with a letter, such as production"
	// +kubebuilder:validation:XValidation:rule="!(self in ['in-cluster', 'true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n'])",message="write another name: in-cluster is the virtual cluster itself, and true, false, null, yes, no, on, off, y and n are not text in YAML"
	Name string `json:"name"`

	// Labels of the cluster in Argo CD, for the cluster generator of
	// ApplicationSets. Those that begin with app.kubernetes.io/ or helm.sh/, and
	// argocd.argoproj.io/secret-type, are not yours to set.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// Annotations of the cluster in Argo CD. Those that begin with helm.sh/ or
	// meta.helm.sh/ are not yours to set.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// Namespaces of the cluster that Argo CD watches and deploys to, at most 100.
	// Default: those that the Secret names; where it names none, all of them, and
	// cluster-scoped resources.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// Argo CD project that alone may use the cluster. Default: every project may.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// URL of the cluster's API server, such as https://203.0.113.7:6443. Only for
	// a Secret with the token of a ServiceAccount, which doesn't know it; the
	// other forms of Secret have it in them.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^https://[^ /?#@]+(/[^ ?#]*)?$')",message="write the https URL of an API server, such as https://203.0.113.7:6443, without user, query or fragment"
	Server string `json:"server,omitempty"`

	// Secret with the cluster's credentials, in one of these forms:
	//
	// Argo CD's own declarative cluster Secret: keys server and config (JSON).
	// Its namespaces, clusterResources, project and shard are used where the claim
	// sets none.
	//
	// A kubeconfig: key kubeconfig. The current context counts. Credentials must
	// stand in it: a program to run (exec), an auth provider or the name of a file
	// would mean nothing where Argo CD runs.
	//
	// The token of a ServiceAccount: keys token and ca.crt, as in a Secret of type
	// kubernetes.io/service-account-token. It needs the field server, too.
	//
	// A change of the Secret is in use within a minute or so. While the Secret is
	// missing or can't be used, the claim's condition ClustersConnected says so,
	// and the credentials from before stay in use.
	SecretRef SecretReference `json:"secretRef"`
}
