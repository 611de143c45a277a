package v1alpha1

// RepositoryType says what is in a repository.
//
// +kubebuilder:validation:Enum=git;helm;oci
type RepositoryType string

// Types of repositories.
const (
	// RepositoryGit holds manifests in Git.
	RepositoryGit RepositoryType = "git"
	// RepositoryHelm holds Helm charts, with an index or in an OCI registry.
	RepositoryHelm RepositoryType = "helm"
	// RepositoryOCI holds manifests in an OCI registry.
	RepositoryOCI RepositoryType = "oci"
)

// RepositorySpec is a repository that Applications come from. Its credentials are
// in a Secret, never here.
type RepositorySpec struct {
	// Name of the repository, unique among the repositories of the claim. A DNS label of
	// at most 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label, such as apps"
	Name string `json:"name"`

	// URL of the repository, as Applications write it, without a password. For Git:
	// https://host/path, ssh://user@host/path or user@host:path. For Helm charts:
	// https://host/path or oci://host/path. For OCI: oci://host/path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into the Secret that secretRef names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh|oci)://[^ ]+|[^ /:@]+@[^ /:@]+:[^ ]+)$')",message="write a URL such as https://git.example.org/team/apps.git, ssh://git@git.example.org/team/apps.git or git@git.example.org:team/apps.git; for Helm charts one such as https://charts.example.org or oci://registry.example.org/charts"
	URL string `json:"url"`

	// Type of the repository: git, helm or oci. Default: what the Secret has at the key
	// type, or git.
	// +optional
	Type RepositoryType `json:"type,omitempty"`

	// Argo CD project that the repository belongs to. Default: what the Secret has at the
	// key project, or every project may use it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// Secret with the credentials; a public repository needs none. Argo CD's own
	// repository Secrets work as they are; their keys are listed in
	// https://github.com/virtual-argocd/virtual-argocd/blob/main/docs/api.md#repositories.
	// They have one of these methods:
	//
	// username and password (a token goes into password);
	//
	// bearerToken;
	//
	// sshPrivateKey, for an SSH URL, without a passphrase;
	//
	// githubAppID, githubAppInstallationID and githubAppPrivateKey, with
	// githubAppEnterpriseBaseUrl for GitHub Enterprise;
	//
	// gcpServiceAccountKey;
	//
	// azureServicePrincipalClientId, azureServicePrincipalTenantId and
	// azureServicePrincipalClientSecret;
	//
	// tlsClientCertData and tlsClientCertKey, also in addition to another method.
	//
	// Secrets of the types kubernetes.io/basic-auth, kubernetes.io/ssh-auth and
	// kubernetes.io/tls, with their own keys, are accepted, too, and knownHosts with
	// lines of a known_hosts file, for an SSH server that Argo CD doesn't know. What the
	// Secret says of url, type, enableOCI and project must not contradict this entry. The
	// CA certificate of an https server with a private CA goes into spec.trustedCertificates.
	//
	// A change of the Secret takes effect within a minute or so. While the Secret is
	// missing or can't be used, the claim's condition RepositoriesConnected is False, and
	// the previous credentials stay in use.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// CredentialTemplateSpec are credentials for all repositories with the same URL prefix.
type CredentialTemplateSpec struct {
	// Name of the template, unique among the credential templates of the claim. A DNS
	// label of at most 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label, such as git-server"
	Name string `json:"name"`

	// Prefix of the URLs of the repositories, such as https://git.example.org/team or
	// git@git.example.org:team, without a password. The longest prefix that matches a
	// URL applies.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into the Secret that secretRef names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh|oci)://[^ ]+|[^ /:@]+@[^ /:@]+:?[^ ]*)$')",message="write how the URLs begin, such as https://git.example.org/team, ssh://git@git.example.org or git@git.example.org:team; for Helm charts https://charts.example.org or oci://registry.example.org"
	URL string `json:"url"`

	// Type of the repositories: git, helm or oci. Default: what the Secret has at the key
	// type, or git.
	// +optional
	Type RepositoryType `json:"type,omitempty"`

	// Secret with the credentials. It has the same keys as the Secret of a repository.
	SecretRef SecretReference `json:"secretRef"`
}
