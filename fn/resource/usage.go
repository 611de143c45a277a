package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UsageAPIVersion is the API version of Usages.
const UsageAPIVersion = "protection.crossplane.io/v1beta1"

// A UsageObject is a Usage or ClusterUsage of Crossplane's. Their Go types need a newer
// crossplane-runtime than the providers' do.
type UsageObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UsageSpec `json:"spec"`
}

// UsageSpec is what a Usage says.
type UsageSpec struct {
	Of             UsedResource `json:"of"`
	Reason         string       `json:"reason"`
	ReplayDeletion bool         `json:"replayDeletion"`
}

// UsedResource names what a Usage is for.
type UsedResource struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"`
	ResourceRef resourceName `json:"resourceRef"`
}

type resourceName struct {
	Name string `json:"name"`
}

// Used names the object that a Usage is for.
func Used(apiVersion, kind, name string) UsedResource {
	return UsedResource{APIVersion: apiVersion, Kind: kind, ResourceRef: resourceName{Name: name}}
}
