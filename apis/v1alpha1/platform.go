package v1alpha1

// PlatformIngress describes how the Argo CDs are reached from outside the host.
type PlatformIngress struct {
	// DNS domain of the Argo CDs, such as argocd.example.org, with a wildcard record for the
	// ingress controller. A claim that names no hostname gets <claim>--<namespace>.<domain>,
	// with a part of the names and a hash where they are too long or have "--" in them. A
	// tenant with <claim>-<namespace>.<domain> from an earlier version keeps that. Default:
	// none, and only claims that name a hostname have an Ingress.
	// +kubebuilder:validation:MaxLength=189
	Domain string `json:"domain,omitempty"`

	// Hostnames that claims may name; *.example.org stands for all names directly below
	// example.org. Names with "--" in their first label are those that the platform's domain
	// gives claims: another claim may name one only where this list has the very name.
	// Default: every hostname outside of the domain that no other claim has, even one at
	// which something else is served on the host.
	// +kubebuilder:validation:MaxItems=256
	Hosts []string `json:"hosts,omitempty"`

	// IngressClass for claims that name none. Default: the host's default class.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClassName string `json:"className,omitempty"`

	// Annotations of each Ingress; a claim's annotations override them. The admission
	// policies in examples/install/tenants.yaml refuse an Ingress with annotations that they
	// don't list: add those that you set here.
	Annotations map[string]string `json:"annotations,omitempty"`

	// Where certificates come from for claims that don't say so. Default: the default
	// certificate of the ingress controller.
	TLS PlatformTLS `json:"tls,omitempty"`

	// Gateway of the host, by the Gateway API, that serves the URLs in place of an ingress
	// controller. Each claim then has an HTTPRoute on the host, and no Ingress; TLS ends at the
	// Gateway, with its certificates. className, annotations and tls have no effect with it, and
	// network.ingressControllers must have the namespaces of its proxies. Default: none, and
	// each claim's URL is served by an Ingress.
	Gateway *PlatformGateway `json:"gateway,omitempty"`
}

// PlatformGateway is a Gateway of the host. Its listener must allow routes from the namespaces with
// the label virtualargocd.io/tenant, and network.ingressControllers must have the namespace of the
// Gateway's proxies.
type PlatformGateway struct {
	// Namespace of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// Name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// Listener of the Gateway, one with TLS. Default: every listener that allows the routes,
	// without TLS, too.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	SectionName string `json:"sectionName,omitempty"`

	// Whether each claim has its Ingress, too, while hostnames move from an ingress controller to
	// the Gateway in DNS. className, annotations and tls then still apply to the Ingress. Default:
	// false.
	KeepIngress bool `json:"keepIngress,omitempty"`
}

// PlatformTLS says where certificates come from.
type PlatformTLS struct {
	// Issuer of cert-manager on the host. An issuer with an HTTP-01 solver must set its
	// serviceType to ClusterIP, since tenants may have no NodePort.
	Issuer Issuer `json:"issuer,omitempty"`

	// ClusterIssuers that claims may name, in addition to issuer. The admission policies in
	// examples/install/tenants.yaml refuse all others. Default: every ClusterIssuer of the
	// host, even one of your own services.
	// +kubebuilder:validation:MaxItems=64
	ClusterIssuers []string `json:"clusterIssuers,omitempty"`
}

// Issuer of cert-manager.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || has(self.name)",message="write the name of an issuer, such as letsencrypt"
type Issuer struct {
	// Name of the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// Kind of the issuer: ClusterIssuer, or Issuer for one in each tenant's namespace.
	// Default: ClusterIssuer.
	// +kubebuilder:validation:Enum=ClusterIssuer;Issuer
	Kind string `json:"kind,omitempty"`
}
