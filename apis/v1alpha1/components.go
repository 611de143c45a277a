package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// ComponentSpec is a component that the tenant has beside Argo CD.
type ComponentSpec struct {
	// Name of the component in the platform's catalogue, such as workflows. A name that isn't
	// there, or that the plan doesn't allow, is refused; the message lists those that are.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write the name of a component, such as workflows"
	Name string `json:"name"`

	// Values of the component's chart, merged over the platform's: maps are merged, lists are
	// replaced. Only those that the platform's catalogue lets claims set; others are refused
	// with an error that names their path.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// PlanComponents are the components of a plan's tenants.
type PlanComponents struct {
	// Names of components that claims may name; none with []. A component that a tenant has
	// when it is taken out of the list stays until its claim leaves it out. Default: all of the
	// catalogue.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=16
	Allowed []string `json:"allowed,omitzero"`

	// Names of components that every tenant of the plan has. Claims may set their values.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=16
	Always []string `json:"always,omitempty"`
}

// ComponentValues are values of the chart of a component.
type ComponentValues struct {
	// Name of the component in the platform's catalogue, such as workflows.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Name string `json:"name"`

	// Values of its chart.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// ChannelComponent is a component as a channel offers it.
type ChannelComponent struct {
	// Name of the component in the platform's catalogue, such as workflows.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Name string `json:"name"`

	// Version of the component's chart, such as 1.0.18. A lower one than before is installed, too.
	// Default: the one in the input of the channel's Composition.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]*)?$')",message="write an exact version of the chart, such as 1.0.18, not a range"
	ChartVersion string `json:"chartVersion,omitempty"`

	// Values of the chart. They override those of the function's input, and are overridden
	// by those of the plan and the claim. Maps are merged, lists are replaced.
	// +optional
	// +nullable
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// ComponentState is the state of a component.
//
// +kubebuilder:validation:Enum=Waiting;Installing;Ready;Unavailable;Failed;Removing;Asleep
type ComponentState string

// States of components.
const (
	// ComponentWaiting means that the virtual cluster or Argo CD isn't there yet.
	ComponentWaiting ComponentState = "Waiting"
	// ComponentInstalling means that its chart, or a change of it, is being installed, or that
	// its workloads start.
	ComponentInstalling ComponentState = "Installing"
	// ComponentReady means that each of its workloads is available.
	ComponentReady ComponentState = "Ready"
	// ComponentUnavailable means that workloads that were available aren't now.
	ComponentUnavailable ComponentState = "Unavailable"
	// ComponentFailed means that its chart, or a change of it, can't be installed.
	ComponentFailed ComponentState = "Failed"
	// ComponentRemoving means that it is being uninstalled.
	ComponentRemoving ComponentState = "Removing"
	// ComponentAsleep means that the tenant is asleep.
	ComponentAsleep ComponentState = "Asleep"
)

// ComponentStatus is the state of a component.
type ComponentStatus struct {
	// Name of the component.
	// +optional
	Name string `json:"name,omitempty"`

	// Installed version of its chart; empty before it is installed.
	// +optional
	Version string `json:"version,omitempty"`

	// State of the component: Waiting (for the virtual cluster or Argo CD), Installing, Ready
	// (each of its workloads is available), Unavailable (they were, and aren't now), Failed (its
	// chart, or a change of it, can't be installed), Removing, or Asleep with the tenant.
	// +optional
	State ComponentState `json:"state,omitempty"`

	// What it waits for, or what is wrong; empty when nothing is.
	// +optional
	Message string `json:"message,omitempty"`
}
