package v1alpha1

// SSOSpec says how people sign on to Argo CD.
type SSOSpec struct {
	// An OpenID Connect provider. Register <status.argocd.url>/auth/callback with it
	// as redirect URL, and http://localhost:8085/auth/callback for the argocd CLI.
	// +optional
	// +nullable
	OIDC *OIDCSpec `json:"oidc,omitempty"`

	// Switches the local user admin off: no password is published then. Somebody
	// who can sign on must have the role admin, or nobody has it. Default: false.
	// +optional
	DisableAdmin bool `json:"disableAdmin,omitempty"`
}

// OIDCSpec is an OpenID Connect provider.
type OIDCSpec struct {
	// What the button says: "Log in via <name>". Default: SSO.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`

	// URL of the provider, as it calls itself in its tokens, such as
	// https://id.example.org/realms/acme.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^ /?#@]+(/[^ ?#]*)?$')",message="write the https URL of the provider, such as https://id.example.org/realms/acme, without query or fragment"
	Issuer string `json:"issuer"`

	// Id of this Argo CD at the provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`

	// Secret with the client secret, in the namespace of the claim. While it is
	// missing or can't be used, the claim's condition SSOReady says so, and the one
	// from before stays in use.
	ClientSecretRef SecretKeyReference `json:"clientSecretRef"`

	// Scopes to ask for. Default: openid, profile, email, groups. openid must be
	// among them. At most 20.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`

	// Groups whose members have Argo CD's role admin. A group is a value of the
	// claim groups in the provider's tokens. At most 50.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	AdminGroups []string `json:"adminGroups,omitempty"`

	// Groups whose members have Argo CD's role readonly. At most 50. Finer rights
	// are values of the chart: spec.argocd.values.configs.rbac.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	ReadOnlyGroups []string `json:"readOnlyGroups,omitempty"`

	// Certificate of the CA that issued the provider's certificate, in PEM. Default: those that Argo CD's image trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	RootCA string `json:"rootCA,omitempty"`
}

// SecretKeyReference names a key of a Secret in the namespace of the claim.
type SecretKeyReference struct {
	// Name of the Secret, in the namespace of the claim. It needs the label
	// virtualargocd.io/credentials: "true".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a Secret in the namespace of the claim: lower case letters, digits, dots and dashes"
	Name string `json:"name"`

	// Key in the Secret. Default: clientSecret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="write a key of a Secret: letters, digits, dots, dashes and underscores"
	Key string `json:"key,omitempty"`
}
