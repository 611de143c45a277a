package v1alpha1

// AccountCapability is what a local account is for.
//
// +kubebuilder:validation:Enum=apiKey;login
type AccountCapability string

// Capabilities of accounts.
const (
	// AccountAPIKey lets an account have API tokens.
	AccountAPIKey AccountCapability = "apiKey"
	// AccountLogin lets an account log in with a password.
	AccountLogin AccountCapability = "login"
)

// AccountSpec is a local account of Argo CD.
type AccountSpec struct {
	// Name of the account: letters, digits, dashes and underscores, at most 32. admin is
	// Argo CD's own.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$') && self != 'admin'",message="write letters, digits, dashes and underscores, such as ci; admin is Argo CD's own"
	Name string `json:"name"`

	// What the account is for: apiKey for tokens, login for a password. A password is set
	// by `argocd account update-password`, or by a key accounts.<name>.password in
	// spec.argocd.secretKeys. Default: apiKey.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Capabilities []AccountCapability `json:"capabilities,omitempty"`

	// Whether the account can be used. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Role of the account: admin, readonly, or one of those that the policies in
	// spec.argocd.values.configs.rbac have, without the prefix role:. Default: none, so
	// that the account has the rights of policy.default and of the policies that name it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$')",message="write admin, readonly, or the name of a role without the prefix role:"
	Role string `json:"role,omitempty"`

	// API tokens. At most 5. Each is delivered in the connection Secret of the claim,
	// spec.writeConnectionSecretToRef, under the key token.<account>.<token>, once Argo CD
	// accepts it. Removing or renaming an entry revokes the token. While an
	// account has tokens here, those that are made by `argocd account generate-token` for
	// it are removed again.
	// +optional
	// +nullable
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5
	Tokens []AccountTokenSpec `json:"tokens,omitempty"`
}

// AccountTokenSpec is an API token, which is delivered in the connection Secret of the claim,
// under the key token.<account>.<name>.
type AccountTokenSpec struct {
	// Name of the token, unique in the account. A DNS label of at most 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label, such as deploy"
	Name string `json:"name"`

	// How long a token is valid, from 1h to 8784h (366 days). After half of that time the
	// connection Secret gets a new one, and the previous one stays valid until it expires.
	// Default: 2160h (90 days).
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(h|m|s))+$') || duration(self) >= duration('1h') && duration(self) <= duration('8784h')",message="write from 1h to 8784h, such as 2160h"
	ExpiresIn Duration `json:"expiresIn,omitempty"`
}
