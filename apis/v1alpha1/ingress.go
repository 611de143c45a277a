package v1alpha1

// IngressSpec says how Argo CD is reached from outside. Its Ingress is served by
// the host cluster's ingress controller, where TLS ends; the URL is always https.
type IngressSpec struct {
	// Host name, such as argocd.acme.example.org. Default, where the platform has a
	// domain for it: <claim>-<namespace>.<domain>. A host belongs to the first claim
	// that asks for it: another one gets IngressReady False with reason HostTaken,
	// and what it had before stays.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="write a host name in lower case, such as argocd.acme.example.org, without https:// and without a path"
	Host string `json:"host,omitempty"`

	// IngressClass of the host cluster, such as nginx. Default: the platform's, or
	// the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an IngressClass, such as nginx"
	ClassName string `json:"className,omitempty"`

	// Annotations of the Ingress, for its controller. They are merged over the
	// platform's. The host refuses an Ingress with one that the platform doesn't let
	// tenants have.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// Where the certificate comes from. Default: the platform's issuer, or the
	// ingress controller's own certificate.
	// +optional
	// +nullable
	TLS *IngressTLS `json:"tls,omitempty"`
}

// IngressTLS says where the certificate of the host comes from: a Secret or an
// issuer, not both.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.secretName) && size(self.secretName) > 0 && has(self.issuer))",message="write secretName or issuer, not both"
type IngressTLS struct {
	// Secret with the certificate, in the namespace of the claim: keys tls.crt and
	// tls.key in PEM, as in a Secret of type kubernetes.io/tls. It needs the label
	// virtualargocd.io/credentials: "true". While it is missing or can't be used, the
	// claim's condition IngressReady says so, and the certificate from before stays
	// in use.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of a Secret in the namespace of the claim"
	SecretName string `json:"secretName,omitempty"`

	// Issuer of cert-manager on the host cluster that makes the certificate.
	// +optional
	Issuer *IssuerReference `json:"issuer,omitempty"`
}

// IssuerReference names an issuer of cert-manager on the host cluster.
type IssuerReference struct {
	// Name of the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Kind of the issuer: ClusterIssuer, or Issuer for one in the namespace of the
	// virtual cluster on the host. Default: ClusterIssuer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIssuer;Issuer
	Kind string `json:"kind,omitempty"`
}
