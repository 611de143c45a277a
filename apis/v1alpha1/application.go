package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The types of this file are those of an Application in Argo CD 3.6, with the same fields. A test compares them with the chart's CRD.
// Argo CD's own Go types would bring several hundred packages with them.

// ApplicationSource is where an Application comes from.
type ApplicationSource struct {
	// URL of the repository, without a password: https://host/path, ssh://user@host/path,
	// user@host:path or oci://host/path; with chart, that of a Helm repository. Credentials
	// come from spec.repositories or spec.credentialTemplates.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9+.-]+://[^/@]*:[^/@]*@')",message="write the URL without a password: it goes into a Secret that spec.repositories names"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:]]*$')",message="write a URL, such as https://git.example.org/team/apps.git"
	RepoURL string `json:"repoURL,omitempty"`

	// Folder in the repository, such as customers/acme. It contains manifests, a
	// kustomization or a Helm chart; manifests in subfolders are read with
	// directory.recurse.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",message="write a folder below the repository's root, such as customers/acme"
	Path string `json:"path,omitempty"`

	// Branch, tag or commit, or the version of a chart or of an OCI artifact.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	TargetRevision string `json:"targetRevision,omitempty"`

	// Name of a Helm chart in a Helm repository, in place of path.
	// +optional
	Chart string `json:"chart,omitempty"`

	// Name by which other sources refer to files of this one, as $<ref>/path. Only in
	// sources.
	// +optional
	Ref string `json:"ref,omitempty"`

	// Name of the source, for people. Only in sources.
	// +optional
	Name string `json:"name,omitempty"`

	// Prefix of the tags that targetRevision selects from.
	// +optional
	TagPrefix string `json:"tagPrefix,omitempty"`

	// Helm's options.
	// +optional
	// +nullable
	Helm *ApplicationSourceHelm `json:"helm,omitempty"`

	// Kustomize's options.
	// +optional
	// +nullable
	Kustomize *ApplicationSourceKustomize `json:"kustomize,omitempty"`

	// Options of a folder with manifests.
	// +optional
	// +nullable
	Directory *ApplicationSourceDirectory `json:"directory,omitempty"`

	// Options of a config management plugin.
	// +optional
	// +nullable
	Plugin *ApplicationSourcePlugin `json:"plugin,omitempty"`
}

// ApplicationSourceHelm are Helm's options.
type ApplicationSourceHelm struct {
	// Files of values, in order; $<ref>/path is a file of another source.
	// +optional
	// +nullable
	ValueFiles []string `json:"valueFiles,omitzero"`
	// Values, as YAML in a text.
	// +optional
	Values string `json:"values,omitempty"`
	// Values, as an object.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ValuesObject *runtime.RawExtension `json:"valuesObject,omitempty"`
	// Single values, which win over all others.
	// +optional
	// +nullable
	Parameters []HelmParameter `json:"parameters,omitzero"`
	// Single values that are files of the source.
	// +optional
	// +nullable
	FileParameters []HelmFileParameter `json:"fileParameters,omitzero"`
	// Name of the Helm release. Default: the Application's name.
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`
	// Version of Helm: v3.
	// +optional
	Version string `json:"version,omitempty"`
	// Whether the credentials are sent to all domains.
	// +optional
	PassCredentials bool `json:"passCredentials,omitempty"`
	// Whether valueFiles may be missing.
	// +optional
	IgnoreMissingValueFiles bool `json:"ignoreMissingValueFiles,omitempty"`
	// Whether CRDs are left out.
	// +optional
	SkipCrds bool `json:"skipCrds,omitempty"`
	// Whether tests are left out.
	// +optional
	SkipTests bool `json:"skipTests,omitempty"`
	// Whether values aren't checked against the chart's schema.
	// +optional
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`
	// Namespace that templates get. Default: the destination's.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Kubernetes version that templates get.
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
	// API versions that templates get.
	// +optional
	// +nullable
	APIVersions []string `json:"apiVersions,omitzero"`
}

// HelmParameter is one value.
type HelmParameter struct {
	// Path of the value.
	// +optional
	Name string `json:"name,omitempty"`
	// The value.
	// +optional
	Value string `json:"value,omitempty"`
	// Whether the value is text in any case.
	// +optional
	ForceString bool `json:"forceString,omitempty"`
}

// HelmFileParameter is one value that is a file.
type HelmFileParameter struct {
	// Path of the value.
	// +optional
	Name string `json:"name,omitempty"`
	// Path of the file.
	// +optional
	Path string `json:"path,omitempty"`
}

// ApplicationSourceKustomize are Kustomize's options.
type ApplicationSourceKustomize struct {
	// Prefix of all names.
	// +optional
	NamePrefix string `json:"namePrefix,omitempty"`
	// Suffix of all names.
	// +optional
	NameSuffix string `json:"nameSuffix,omitempty"`
	// Images to replace, such as nginx=registry.example.org/nginx:1.29.
	// +optional
	// +nullable
	Images []string `json:"images,omitzero"`
	// Numbers of replicas.
	// +optional
	// +nullable
	Replicas []KustomizeReplica `json:"replicas,omitzero"`
	// Patches.
	// +optional
	// +nullable
	Patches []KustomizePatch `json:"patches,omitzero"`
	// Components to include.
	// +optional
	// +nullable
	Components []string `json:"components,omitzero"`
	// Whether components may be missing.
	// +optional
	IgnoreMissingComponents bool `json:"ignoreMissingComponents,omitempty"`
	// Labels of all objects.
	// +optional
	// +nullable
	CommonLabels map[string]string `json:"commonLabels,omitzero"`
	// Annotations of all objects.
	// +optional
	// +nullable
	CommonAnnotations map[string]string `json:"commonAnnotations,omitzero"`
	// Whether commonLabels replace labels.
	// +optional
	ForceCommonLabels bool `json:"forceCommonLabels,omitempty"`
	// Whether commonAnnotations replace annotations.
	// +optional
	ForceCommonAnnotations bool `json:"forceCommonAnnotations,omitempty"`
	// Whether commonAnnotations may have variables of the build's environment.
	// +optional
	CommonAnnotationsEnvsubst bool `json:"commonAnnotationsEnvsubst,omitempty"`
	// Whether commonLabels are left out of selectors.
	// +optional
	LabelWithoutSelector bool `json:"labelWithoutSelector,omitempty"`
	// Whether commonLabels are also those of pod templates.
	// +optional
	LabelIncludeTemplates bool `json:"labelIncludeTemplates,omitempty"`
	// Namespace of all objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Version of Kustomize.
	// +optional
	Version string `json:"version,omitempty"`
	// Kubernetes version for charts.
	// +optional
	KubeVersion string `json:"kubeVersion,omitempty"`
	// API versions for charts.
	// +optional
	// +nullable
	APIVersions []string `json:"apiVersions,omitzero"`
}

// KustomizeReplica is a number of replicas.
type KustomizeReplica struct {
	// Name of the workload.
	Name string `json:"name"`
	// Number of its replicas.
	// +kubebuilder:validation:XIntOrString
	Count intstr.IntOrString `json:"count"`
}

// KustomizePatch is a patch.
type KustomizePatch struct {
	// File of the patch.
	// +optional
	Path string `json:"path,omitempty"`
	// The patch itself.
	// +optional
	Patch string `json:"patch,omitempty"`
	// Objects that are patched.
	// +optional
	// +nullable
	Target *KustomizeSelector `json:"target,omitempty"`
	// Options of the patch, such as allowNameChange.
	// +optional
	// +nullable
	Options map[string]bool `json:"options,omitzero"`
}

// KustomizeSelector selects objects.
type KustomizeSelector struct {
	// API group.
	// +optional
	Group string `json:"group,omitempty"`
	// API version.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name, as a regular expression.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace, as a regular expression.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Selector of annotations.
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	// Selector of labels.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// ApplicationSourceDirectory are the options of a folder with manifests.
type ApplicationSourceDirectory struct {
	// Whether subfolders are read.
	// +optional
	Recurse bool `json:"recurse,omitempty"`
	// Files to leave out, as a pattern such as {config.json,env-*}.
	// +optional
	Exclude string `json:"exclude,omitempty"`
	// Files to read, as a pattern.
	// +optional
	Include string `json:"include,omitempty"`
	// Whether files of any extension are read.
	// +optional
	DisableExtensionFilter bool `json:"disableExtensionFilter,omitempty"`
	// Jsonnet's options.
	// +optional
	// +nullable
	Jsonnet *ApplicationSourceJsonnet `json:"jsonnet,omitempty"`
}

// ApplicationSourceJsonnet are Jsonnet's options.
type ApplicationSourceJsonnet struct {
	// External variables.
	// +optional
	// +nullable
	ExtVars []JsonnetVar `json:"extVars,omitzero"`
	// Top-level arguments.
	// +optional
	// +nullable
	TLAs []JsonnetVar `json:"tlas,omitzero"`
	// Folders of libraries.
	// +optional
	// +nullable
	Libs []string `json:"libs,omitzero"`
}

// JsonnetVar is a variable.
type JsonnetVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Its value.
	Value string `json:"value"`
	// Whether the value is code.
	// +optional
	Code bool `json:"code,omitempty"`
}

// ApplicationSourcePlugin are the options of a config management plugin.
type ApplicationSourcePlugin struct {
	// Name of the plugin.
	// +optional
	Name string `json:"name,omitempty"`
	// Variables of its environment.
	// +optional
	// +nullable
	Env []EnvEntry `json:"env,omitzero"`
	// Its parameters.
	// +optional
	// +nullable
	Parameters []PluginParameter `json:"parameters,omitzero"`
}

// EnvEntry is a variable of an environment.
type EnvEntry struct {
	// Name of the variable.
	Name string `json:"name"`
	// Its value.
	Value string `json:"value"`
}

// PluginParameter is a parameter of a plugin: a text, a map or a list.
type PluginParameter struct {
	// Name of the parameter.
	// +optional
	Name string `json:"name,omitempty"`
	// A text.
	// +optional
	// +nullable
	String *string `json:"string,omitempty"`
	// A map of texts.
	// +optional
	// +nullable
	Map map[string]string `json:"map,omitzero"`
	// A list of texts.
	// +optional
	// +nullable
	Array []string `json:"array,omitzero"`
}

// SyncPolicy says how an Application is synced.
type SyncPolicy struct {
	// How the Application is synced automatically. Default: it isn't.
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

	// How often a failed sync is tried again.
	// +optional
	// +nullable
	Retry *RetryStrategy `json:"retry,omitempty"`

	// Metadata of the namespace that the sync option CreateNamespace=true creates.
	// +optional
	// +nullable
	ManagedNamespaceMetadata *ManagedNamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// AutomatedSync says how an Application is synced automatically.
type AutomatedSync struct {
	// Whether the Application is synced automatically. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Whether resources that are no longer in Git are deleted. Default: false.
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// Whether changes made in the cluster are reverted to what is in Git. Default: false.
	// +optional
	SelfHeal *bool `json:"selfHeal,omitempty"`

	// Whether all resources may be deleted by prune. Default: false.
	// +optional
	AllowEmpty *bool `json:"allowEmpty,omitempty"`
}

// RetryStrategy says how often something is tried again.
type RetryStrategy struct {
	// Number of times; below 0 for no limit. Default: 0.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// Times between.
	// +optional
	// +nullable
	Backoff *Backoff `json:"backoff,omitempty"`
	// Whether a newer revision is tried next.
	// +optional
	Refresh bool `json:"refresh,omitempty"`
}

// Backoff are the times between.
type Backoff struct {
	// First time, such as 5s or 2m. Default: 5s.
	// +optional
	Duration string `json:"duration,omitempty"`
	// Factor by which it grows. Default: 2.
	// +optional
	Factor *int64 `json:"factor,omitempty"`
	// Longest time. Default: 3m.
	// +optional
	MaxDuration string `json:"maxDuration,omitempty"`
}

// ManagedNamespaceMetadata is the metadata of a namespace.
type ManagedNamespaceMetadata struct {
	// Labels of the namespace.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitzero"`
	// Annotations of the namespace.
	// +optional
	// +nullable
	Annotations map[string]string `json:"annotations,omitzero"`
}
