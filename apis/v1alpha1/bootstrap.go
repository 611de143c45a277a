package v1alpha1

// BootstrapSpec is the first Application of this Argo CD, which may bring all
// others (app of apps).
type BootstrapSpec struct {
	// URL of the Git repository: https://host/path, ssh://user@host/path or
	// user@host:path. No password in it: credentials come from spec.repositories or
	// spec.credentialTemplates.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into a Secret that spec.repositories names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?|ssh)://[^ ]+|[^ /:@]+@[^ /:@]+:[^ ]+)$')",message="write the URL of a Git repository, such as https://git.example.org/team/apps.git, ssh://git@git.example.org/team/apps.git or git@git.example.org:team/apps.git"
	RepoURL string `json:"repoURL"`

	// Folder in the repository, such as customers/acme: manifests right in it, not in
	// folders below, or a kustomization, or a Helm chart. Default: ".", the
	// repository's root.
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

	// How the Application is synced. Default: automatically, deleting what is gone
	// from Git (prune) and undoing changes made by hand (selfHeal).
	// +optional
	// +nullable
	SyncPolicy *SyncPolicy `json:"syncPolicy,omitempty"`
}

// SyncPolicy says how an Application is synced.
type SyncPolicy struct {
	// Automatic syncing.
	// +optional
	// +nullable
	Automated *AutomatedSync `json:"automated,omitempty"`

	// Options of a sync, as in Argo CD: CreateNamespace=true, for instance. At
	// most 20.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=128
	SyncOptions []string `json:"syncOptions,omitempty"`
}

// AutomatedSync says how an Application is synced automatically.
type AutomatedSync struct {
	// Whether it is synced automatically at all; false leaves that to people.
	// Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Whether what is gone from Git is deleted. Default: true.
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// Whether changes made by hand are undone. Default: true.
	// +optional
	SelfHeal *bool `json:"selfHeal,omitempty"`
}

// BootstrapStatus is what Argo CD says of the first Application.
type BootstrapStatus struct {
	// Health: Healthy, Progressing, Degraded, Suspended, Missing or Unknown; empty
	// before Argo CD has looked.
	// +optional
	Health string `json:"health,omitempty"`

	// Sync: Synced, OutOfSync or Unknown; empty before Argo CD has looked.
	// +optional
	Sync string `json:"sync,omitempty"`

	// Commit that it was compared with.
	// +optional
	Revision string `json:"revision,omitempty"`

	// What Argo CD says is wrong, empty when nothing is.
	// +optional
	Message string `json:"message,omitempty"`
}
