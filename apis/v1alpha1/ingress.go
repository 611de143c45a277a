package v1alpha1

// IngressSpec describes how Argo CD is reached from outside the host. The host's
// ingress controller serves its Ingress and terminates TLS, or the platform's Gateway does
// so, by an HTTPRoute; the URL is always https.
type IngressSpec struct {
	// Hostname, such as argocd.acme.example.org. It belongs to the first claim that
	// names it: another claim gets the condition IngressReady False with reason HostTaken
	// and keeps the hostname that it had before. A claim has at most eight hostnames, with
	// those for which its virtual cluster still has Ingresses. Names in the platform's
	// domain are possible only where the platform allows them, and no name may have "--" in
	// its first label. Default: <claim>--<namespace>.<domain>, with the platform's domain;
	// where the platform has none, this field is required.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="write a hostname in lower case, such as argocd.acme.example.org, without https:// and without a path"
	Host string `json:"host,omitempty"`

	// Further hostnames of the same Argo CD, under the same rules as host: each belongs to
	// the first claim that names it, and each has TLS. The URL in the status and in the
	// connection Secret is that of host. People can sign on at each of them, unless Argo CD
	// has a path (server.rootpath), where that is possible only at host. The provider must
	// allow the redirect URL of each; the condition SSOReady lists them.
	// +optional
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="write a hostname in lower case, such as argocd.acme.example.org, without https:// and without a path"
	AdditionalHosts []string `json:"additionalHosts,omitempty"`

	// IngressClass of the host, such as nginx. Refused where a Gateway serves claims.
	// Default: the platform's, or the host's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an IngressClass, such as nginx"
	ClassName string `json:"className,omitempty"`

	// Annotations of the Ingress, merged over the platform's. The host refuses an
	// Ingress with an annotation that the platform doesn't allow tenants. Refused where a
	// Gateway serves claims.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// Where the certificate comes from. Refused where a Gateway serves claims, which has
	// the certificates. Default: the platform's issuer, or the default certificate of the
	// ingress controller.
	// +optional
	// +nullable
	TLS *IngressTLS `json:"tls,omitempty"`
}

// IngressTLS says where the certificate comes from: a Secret or an issuer, not both.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.secretName) && size(self.secretName) > 0 && has(self.issuer))",message="write secretName or issuer, not both"
type IngressTLS struct {
	// Name of the Secret with the certificate, in the namespace of the claim: keys
	// tls.crt and tls.key in PEM, as in a Secret of type kubernetes.io/tls. It needs the
	// label virtualargocd.io/credentials: "true". While the Secret is missing or can't be
	// used, the claim's condition IngressReady is False, and the previous certificate
	// stays in use.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of a Secret in the namespace of the claim"
	SecretName string `json:"secretName,omitempty"`

	// Issuer of cert-manager on the host that issues the certificate.
	// +optional
	Issuer *IssuerReference `json:"issuer,omitempty"`
}

// IssuerReference names an issuer of cert-manager on the host.
type IssuerReference struct {
	// Name of the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Kind of the issuer: ClusterIssuer, or Issuer for one in the tenant's namespace on
	// the host. Default: ClusterIssuer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIssuer;Issuer
	Kind string `json:"kind,omitempty"`
}
