package v1alpha1

// WebhookProvider is a kind of Git server that sends events.
//
// +kubebuilder:validation:Enum=azureDevOps;bitbucket;bitbucketServer;github;gitlab;gogs
type WebhookProvider string

// Git servers that send events.
const (
	WebhookAzureDevOps     WebhookProvider = "azureDevOps"
	WebhookBitbucket       WebhookProvider = "bitbucket"
	WebhookBitbucketServer WebhookProvider = "bitbucketServer"
	WebhookGitHub          WebhookProvider = "github"
	WebhookGitLab          WebhookProvider = "gitlab"
	WebhookGogs            WebhookProvider = "gogs"
)

// WebhookSpec is a kind of Git server whose events Argo CD accepts.
type WebhookSpec struct {
	// Kind of Git server: github, gitlab, bitbucket (Bitbucket Cloud), bitbucketServer, gogs or
	// azureDevOps.
	Provider WebhookProvider `json:"provider"`

	// Secret with what the events are checked with: the secret that is entered at the Git
	// server; for bitbucket the UUID of the webhook there; for azureDevOps the user name and
	// password, at the keys username and password. While it is missing or can't be used, the
	// claim's condition WebhooksReady is False, and what it gave before stays in use. A change
	// takes effect within a minute or so, without a restart of a pod.
	SecretRef SecretReference `json:"secretRef"`

	// Key in that Secret. Default: secret; uuid for bitbucket. Not for azureDevOps.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]*$')",message="write a key of a Secret: letters, digits, dots, dashes and underscores"
	SecretKey string `json:"secretKey,omitempty"`
}

// WebhooksStatus says where Git servers send events.
type WebhooksStatus struct {
	// URL to enter at the Git servers, with the hostname of status.argocd.url. The same path
	// works at each additional hostname of spec.ingress.
	// +optional
	URL string `json:"url,omitempty"`
}
