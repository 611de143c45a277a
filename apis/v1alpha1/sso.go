package v1alpha1

// SSOSpec describes single sign-on to Argo CD.
type SSOSpec struct {
	// OpenID Connect provider. Register <status.argocd.url>/auth/callback with it as
	// redirect URL, and http://localhost:8085/auth/callback for the argocd CLI.
	// +optional
	// +nullable
	OIDC *OIDCSpec `json:"oidc,omitempty"`

	// Disables the local user admin and publishes no password. Give the role admin to
	// somebody who can sign on, or nobody has it. Default: false.
	// +optional
	DisableAdmin bool `json:"disableAdmin,omitempty"`
}

// OIDCSpec is an OpenID Connect provider.
type OIDCSpec struct {
	// Name of the provider, for the button "Log in via <name>". Default: SSO.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`

	// URL of the provider, equal to the claim iss of its tokens, such as
	// https://id.example.org/realms/acme.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^ /?#@]+(/[^ ?#]*)?$')",message="write the https URL of the provider, such as https://id.example.org/realms/acme, without query or fragment"
	Issuer string `json:"issuer"`

	// Client ID of this Argo CD at the provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`

	// Secret with the client secret, in the namespace of the claim. While it is missing
	// or can't be used, the claim's condition SSOReady is False, and the previous client
	// secret stays in use.
	ClientSecretRef SecretKeyReference `json:"clientSecretRef"`

	// Scopes to request. They must include openid. At most 20. Default: openid, profile,
	// email, groups.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`

	// Groups whose members have Argo CD's role admin, as in the claim groups of the
	// provider's tokens. At most 50.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	AdminGroups []string `json:"adminGroups,omitempty"`

	// Groups whose members have Argo CD's role readonly. At most 50. Other rights are set
	// by values of the chart: spec.argocd.values.configs.rbac.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	ReadOnlyGroups []string `json:"readOnlyGroups,omitempty"`

	// Certificate of the CA that issued the provider's certificate, in PEM. Default: the
	// CAs that Argo CD's image trusts.
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
