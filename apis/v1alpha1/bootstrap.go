package v1alpha1

// BootstrapSpec is the first Application of this Argo CD, which may create all
// others (app of apps).
type BootstrapSpec struct {
	// URL of the Git repository: https://host/path, ssh://user@host/path or
	// user@host:path, without a password. Credentials come from spec.repositories or
	// spec.credentialTemplates.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into a Secret that spec.repositories names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh)://[^ ]+|[^ /:@]+@[^ /:@]+:[^ ]+)$')",message="write the URL of a Git repository, such as https://git.example.org/team/apps.git, ssh://git@git.example.org/team/apps.git or git@git.example.org:team/apps.git"
	RepoURL string `json:"repoURL"`

	// Folder in the repository, such as customers/acme. It contains manifests, a
	// kustomization or a Helm chart; manifests in subfolders are not read. Default:
	// ".", the root of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",message="write a folder below the repository's root, such as customers/acme"
	Path string `json:"path,omitempty"`

	// Branch, tag or commit. Default: HEAD, the repository's default branch.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	TargetRevision string `json:"targetRevision,omitempty"`

	// Argo CD project of the Application. Default: default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// How the Application is synced. Default: automatically, with prune and selfHeal.
	// +optional
	// +nullable
	SyncPolicy *SyncPolicy `json:"syncPolicy,omitempty"`
}

// SyncPolicy says how an Application is synced.
type SyncPolicy struct {
	// How the Application is synced automatically.
	// +optional
	// +nullable
	Automated *AutomatedSync `json:"automated,omitempty"`

	// Sync options of Argo CD, such as CreateNamespace=true. At most 20.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=128
	SyncOptions []string `json:"syncOptions,omitempty"`
}

// AutomatedSync says how an Application is synced automatically.
type AutomatedSync struct {
	// Whether the Application is synced automatically. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Whether resources that are no longer in Git are deleted. Default: true.
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// Whether changes made in the cluster are reverted to what is in Git. Default:
	// true.
	// +optional
	SelfHeal *bool `json:"selfHeal,omitempty"`
}

// BootstrapStatus is what Argo CD reports about the first Application.
type BootstrapStatus struct {
	// Health of the Application: Healthy, Progressing, Degraded, Suspended, Missing or
	// Unknown; empty before Argo CD has checked it.
	// +optional
	Health string `json:"health,omitempty"`

	// Sync status of the Application: Synced, OutOfSync or Unknown; empty before Argo
	// CD has checked it.
	// +optional
	Sync string `json:"sync,omitempty"`

	// Commit that Argo CD has compared the Application with.
	// +optional
	Revision string `json:"revision,omitempty"`

	// What is wrong, in Argo CD's words; empty when nothing is.
	// +optional
	Message string `json:"message,omitempty"`
}
