package v1alpha1

// RepositoryType says what is in a repository.
//
// +kubebuilder:validation:Enum=git;helm;oci
type RepositoryType string

// Types of repositories.
const (
	// RepositoryGit holds manifests in Git.
	RepositoryGit RepositoryType = "git"
	// RepositoryHelm holds Helm charts: an index, or an OCI registry.
	RepositoryHelm RepositoryType = "helm"
	// RepositoryOCI holds manifests in an OCI registry.
	RepositoryOCI RepositoryType = "oci"
)

// RepositorySpec is a repository that Applications come from. Its credentials are
// in a Secret, never here.
type RepositorySpec struct {
	// Name of the repository, unique among the repositories of the claim. A DNS
	// label, 63 characters at most.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label, such as apps"
	Name string `json:"name"`

	// URL of the repository, as Applications write it: https://host/path,
	// ssh://user@host/path or user@host:path for Git, https://host/path or
	// oci://host/path for Helm charts, oci://host/path for OCI. No password in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into the Secret that secretRef names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh|oci)://[^ ]+|[^ /:@]+@[^ /:@]+:[^ ]+)$')",message="write a URL such as https://git.example.org/team/apps.git, ssh://git@git.example.org/team/apps.git or git@git.example.org:team/apps.git"
	URL string `json:"url"`

	// git, helm or oci. Default: git.
	// +optional
	Type RepositoryType `json:"type,omitempty"`

	// Argo CD project that the repository belongs to. Default: every project may
	// use it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// Secret with the credentials; a public repository needs none. It has the keys
	// of Argo CD's own repository Secrets, for one of these ways in:
	//
	// username and password (a token goes into password);
	//
	// bearerToken;
	//
	// sshPrivateKey, for an SSH URL, without a passphrase;
	//
	// githubAppID, githubAppInstallationID and githubAppPrivateKey, with
	// githubAppEnterpriseBaseUrl for a GitHub Enterprise;
	//
	// tlsClientCertData and tlsClientCertKey, also beside another way in.
	//
	// Secrets of the types kubernetes.io/basic-auth, kubernetes.io/ssh-auth and
	// kubernetes.io/tls do as well, with their own keys. Options: insecure,
	// enableLfs, forceHttpBasicAuth and insecureOCIForceHttp ("true" or "false"),
	// proxy and noProxy; and knownHosts, lines as in a known_hosts file, for an SSH
	// server that Argo CD doesn't know. The authority of an https server with a
	// certificate that not everybody trusts goes into
	// spec.argocd.values.configs.tls.certificates, under the server's name.
	//
	// A change of the Secret is in use within a minute or so. While the Secret is
	// missing or can't be used, the claim's condition RepositoriesConnected says
	// so, and the credentials from before stay in use.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// CredentialTemplateSpec are credentials for every repository whose URL begins in
// one way.
type CredentialTemplateSpec struct {
	// Name of the template, unique among the credential templates of the claim. A
	// DNS label, 63 characters at most.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS label, such as git-server"
	Name string `json:"name"`

	// How the URLs of the repositories begin, such as
	// https://git.example.org/team or git@git.example.org:team. The longest that
	// fits counts. No password in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into the Secret that secretRef names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh|oci)://[^ ]+|[^ /:@]+@[^ /:@]+:?[^ ]*)$')",message="write how the URLs begin, such as https://git.example.org/team, ssh://git@git.example.org or git@git.example.org:team"
	URL string `json:"url"`

	// git, helm or oci. Default: git.
	// +optional
	Type RepositoryType `json:"type,omitempty"`

	// Secret with the credentials, with the same keys as that of a repository.
	SecretRef SecretReference `json:"secretRef"`
}
