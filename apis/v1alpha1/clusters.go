package v1alpha1

// SecretReference names a Secret in the namespace of the claim. It has no field for a
// namespace: a claim can use only Secrets of its own namespace, and of those only the
// ones with the label virtualargocd.io/credentials: "true".
type SecretReference struct {
	// Name of the Secret, in the namespace of the claim. It needs the label
	// virtualargocd.io/credentials: "true". If the claim names more than five Secrets, each
	// also needs the label virtualargocd.io/secret-name, whose value is its own name, of
	// at most 63 characters. A claim can name at most 64 Secrets.
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
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) || has(self.tunnel) || has(self.server) && self.server == 'https://kubernetes.default.svc' || self.name == 'in-cluster' && !has(self.server)",message="write secretRef: only the virtual cluster itself, whose server is https://kubernetes.default.svc, needs none"
// +kubebuilder:validation:XValidation:rule="!has(self.tunnel) || !has(self.server)",message="leave server out: with a tunnel, Argo CD reaches the API server by the agent"
type ClusterSpec struct {
	// Name of the cluster in Argo CD, unique in the claim. Applications refer to it in
	// spec.destination.name. Any text of one line, such as the ARN of a cluster in EKS;
	// in-cluster is the virtual cluster itself. If the Secret has another name at the key
	// name, that is the name in Argo CD.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:]]([^[:cntrl:]]*[^[:space:]])?$')",message="write text of one line without space around it, such as production"
	Name string `json:"name"`

	// Labels of the cluster in Argo CD, for the cluster generator of ApplicationSets.
	// argocd.argoproj.io/secret-type and labels that begin with app.kubernetes.io/ or
	// helm.sh/ are reserved.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// Annotations of the cluster in Argo CD. Those that begin with helm.sh/ or
	// meta.helm.sh/ are reserved.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// Namespaces of the cluster that Argo CD watches and deploys to. At most 100.
	// Default: those that the Secret names; if it names none, all namespaces and
	// cluster-scoped resources.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// The only Argo CD project that may use the cluster. Default: every project may.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// URL of the cluster's API server, such as https://203.0.113.7:6443. Required for a
	// Secret with the token of a ServiceAccount. The other forms of Secrets contain the
	// URL, which must be the same. https://kubernetes.default.svc is the virtual cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^https://[^ /?#@]+(/[^ ?#]*)?$')",message="write the https URL of an API server, such as https://203.0.113.7:6443, without user, query or fragment"
	Server string `json:"server,omitempty"`

	// Certificate of the CA that issued the API server's certificate, in PEM. Default: the one
	// in the Secret. If the Secret has one, too, it must be the same.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CertificateAuthority string `json:"certificateAuthority,omitempty"`

	// Secret with the cluster's credentials, in one of these forms:
	//
	// Argo CD's declarative cluster Secret: keys server and config (JSON). Its name
	// applies, and its namespaces, clusterResources, project, shard, labels and
	// annotations apply where the claim doesn't set them.
	//
	// A kubeconfig, at the key kubeconfig or any other. The current context is used. The
	// credentials must be inline: exec plugins, auth providers and file names are refused.
	//
	// The token of a ServiceAccount: keys token and ca.crt, as in a Secret of type
	// kubernetes.io/service-account-token. It also needs the field server. With
	// certificateAuthority, it needs no ca.crt.
	//
	// A change of the Secret takes effect within a minute or so. While the Secret is
	// missing or can't be used, the claim's condition ClustersConnected is False, and
	// the previous credentials stay in use. Required, except for the virtual cluster itself.
	// Default with tunnel: the Secret with the name of the cluster.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// For a cluster that lets no connections in. An agent in it connects to the claim's
	// hostname, and Argo CD reaches the cluster's API server by the agent. What is to be applied
	// in that cluster is at the key tunnel.<cluster>.yaml of the Secret that
	// spec.writeConnectionSecretToRef names, which a claim with a tunnel needs. It takes Argo CD
	// 2.14 or later. Default: Argo CD connects to the API server itself.
	// +optional
	// +nullable
	Tunnel *TunnelSpec `json:"tunnel,omitempty"`
}

// TunnelSpec is the tunnel to a cluster that lets no connections in.
type TunnelSpec struct {
	// Each new value, such as a date, gives the agent another key. The one before is refused at
	// once: apply what is at the key of the Secret again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RotateKey string `json:"rotateKey,omitempty"`
}
