package v1alpha1

// BootstrapSpec is the first Application of this Argo CD, which may create all
// others (app of apps). It has either one source, whose fields are here or in source,
// or several in sources.
//
// +kubebuilder:validation:XValidation:rule="(has(self.repoURL) ? 1 : 0) + (has(self.source) ? 1 : 0) + (has(self.sources) ? 1 : 0) == 1",message="write one of repoURL, source and sources"
type BootstrapSpec struct {
	// Path is "." where it is missing here, the root of the repository, and
	// targetRevision HEAD.
	ApplicationSource `json:",inline"`

	// Source of the Application, as Argo CD has it, with the same fields as the ones
	// beside this field: repoURL, path, targetRevision, chart, helm, kustomize, directory
	// and plugin.
	// +optional
	// +nullable
	Source *ApplicationSource `json:"source,omitempty"`

	// Sources of the Application, as Argo CD has them, with the same fields, and ref and
	// name. At most 20.
	// +optional
	// +nullable
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	Sources []ApplicationSource `json:"sources,omitempty"`

	// Argo CD project of the Application. Default: default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",message="write the name of an Argo CD project: lower case letters, digits, dots and dashes"
	Project string `json:"project,omitempty"`

	// How the Application is synced, as Argo CD has it: with an empty one, people sync it.
	// Default: automatically, with prune, which deletes what is no longer in Git, and
	// selfHeal. status.bootstrap.automated says what is in effect.
	// +optional
	// +nullable
	SyncPolicy *SyncPolicy `json:"syncPolicy,omitempty"`
}

// BootstrapStatus is what Argo CD reports about the first Application.
type BootstrapStatus struct {
	// How the Application is synced automatically, with the defaults; missing where people
	// sync it.
	// +optional
	// +nullable
	Automated *AutomatedStatus `json:"automated,omitempty"`

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

// AutomatedStatus says how the first Application is synced automatically.
type AutomatedStatus struct {
	// Whether resources that are no longer in Git are deleted.
	// +optional
	Prune bool `json:"prune"`

	// Whether changes made in the cluster are reverted to what is in Git.
	// +optional
	SelfHeal bool `json:"selfHeal"`
}
