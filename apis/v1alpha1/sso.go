package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// SSOSpec describes single sign-on to Argo CD.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.oidc) && has(self.dex))",message="write oidc or dex: Argo CD ignores Dex beside oidc"
type SSOSpec struct {
	// OpenID Connect provider. Register <status.argocd.url>/auth/callback with it as
	// redirect URL, and http://localhost:8085/auth/callback for the argocd CLI.
	// +optional
	// +nullable
	OIDC *OIDCSpec `json:"oidc,omitempty"`

	// Dex, which Argo CD runs in the virtual cluster, for providers such as GitHub, SAML
	// and LDAP. Register <status.argocd.url>/api/dex/callback with them. Not beside oidc.
	// +optional
	// +nullable
	Dex *DexSpec `json:"dex,omitempty"`

	// Disables the local user admin and publishes no password. Give the role admin to
	// somebody who can sign on, or nobody has it. Default: false.
	// +optional
	DisableAdmin bool `json:"disableAdmin,omitempty"`
}

// OIDCSpec is an OpenID Connect provider, with all of Argo CD's oidc.config.
//
// +kubebuilder:validation:XValidation:rule="has(self.clientSecretRef) || has(self.enablePKCEAuthentication) && self.enablePKCEAuthentication",message="write clientSecretRef, or enablePKCEAuthentication: true for a client without a secret"
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
	// secret stays in use. Required, except with enablePKCEAuthentication.
	// +optional
	// +nullable
	ClientSecretRef *SecretKeyReference `json:"clientSecretRef,omitempty"`

	// Whether people sign on with PKCE, which needs no client secret. Default: false.
	// +optional
	EnablePKCEAuthentication bool `json:"enablePKCEAuthentication,omitempty"`

	// Client ID of the argocd CLI at the provider, if it has one of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CLIClientID string `json:"cliClientID,omitempty"`

	// Audiences of tokens that are accepted, in addition to the client IDs.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	AllowedAudiences []string `json:"allowedAudiences,omitempty"`

	// Whether tokens without an audience are accepted. Default: Argo CD's.
	// +optional
	SkipAudienceCheckWhenTokenHasNoAudience *bool `json:"skipAudienceCheckWhenTokenHasNoAudience,omitempty"`

	// Claims to request for the ID token, such as groups. Default: groups, as an essential
	// one, for Microsoft Entra ID; none for others.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxProperties=20
	RequestedIDTokenClaims map[string]IDTokenClaim `json:"requestedIDTokenClaims,omitempty"`

	// Whether groups are read from the provider's userinfo endpoint. Default: false.
	// +optional
	EnableUserInfoGroups bool `json:"enableUserInfoGroups,omitempty"`

	// Path of the userinfo endpoint, such as /userinfo.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	UserInfoPath string `json:"userInfoPath,omitempty"`

	// URL of the userinfo endpoint without its path. Default: the issuer.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	UserInfoBaseURL string `json:"userInfoBaseURL,omitempty"`

	// How long what the userinfo endpoint says is kept, such as 5m.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	UserInfoCacheExpiration string `json:"userInfoCacheExpiration,omitempty"`

	// URL that people are sent to when they log out. It may have {{token}} and
	// {{logoutRedirectURL}} in it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LogoutURL string `json:"logoutURL,omitempty"`

	// Domain that Microsoft Entra ID takes people to, to sign on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DomainHint string `json:"domainHint,omitempty"`

	// How long before its end a token is refreshed, such as 5m.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	RefreshTokenThreshold string `json:"refreshTokenThreshold,omitempty"`

	// Settings for Microsoft Entra ID.
	// +optional
	// +nullable
	Azure *AzureOIDCSpec `json:"azure,omitempty"`

	// Scopes to request. They must include openid. At most 20. Default: openid, profile,
	// email and, except for Microsoft Entra ID, Google, GitLab, Amazon Cognito, Slack,
	// LinkedIn and Apple, which refuse it, groups.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`

	// Groups whose members have Argo CD's role admin, as in the claim groups of the
	// provider's tokens, such as object IDs for Microsoft Entra ID. At most 50.
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

// AzureOIDCSpec are settings for Microsoft Entra ID.
type AzureOIDCSpec struct {
	// Whether Argo CD proves who it is with the identity of its pods. It isn't possible in
	// a virtual cluster: leave it out.
	// +optional
	UseWorkloadIdentity bool `json:"useWorkloadIdentity,omitempty"`
}

// IDTokenClaim is a claim to request.
type IDTokenClaim struct {
	// Whether people can't sign on without it.
	// +optional
	Essential bool `json:"essential,omitempty"`

	// The value to request.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value,omitempty"`

	// The values to request.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values,omitempty"`
}

// DexSpec is how Dex signs people on.
type DexSpec struct {
	// Connectors of Dex. At most 20.
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Connectors []DexConnector `json:"connectors"`

	// Groups whose members have Argo CD's role admin, as Dex has them, such as
	// <organization>:<team> of GitHub. At most 50.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	AdminGroups []string `json:"adminGroups,omitempty"`

	// Groups whose members have Argo CD's role readonly. At most 50.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=256
	ReadOnlyGroups []string `json:"readOnlyGroups,omitempty"`
}

// DexConnector is a connector of Dex, as Dex's documentation has it.
type DexConnector struct {
	// Type of the connector, such as github, saml, ldap or oidc.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type"`

	// ID of the connector, unique in the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// Name of the connector, for the button.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// Dex's own configuration of the connector. Fields that Dex's connectors don't have
	// are refused. A text $<name>:<key> stands for a key of a
	// Secret in the namespace of the claim, with the label virtualargocd.io/credentials:
	// "true". While such a Secret is missing, the claim's condition SSOReady is False, and
	// what it gave before stays in use.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
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
