package compose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const usageAPIVersion = "protection.crossplane.io/v1beta1"

// A usageObject is a Usage or ClusterUsage of Crossplane's. Their Go types need a newer
// crossplane-runtime than the providers' do.
type usageObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec usageSpec `json:"spec"`
}

type usageSpec struct {
	Of             usedResource `json:"of"`
	Reason         string       `json:"reason"`
	ReplayDeletion bool         `json:"replayDeletion"`
}

type usedResource struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"`
	ResourceRef resourceName `json:"resourceRef"`
}

type resourceName struct {
	Name string `json:"name"`
}

// usage composes the Usage that refuses to delete the tenant's namespace by hand. When
// the tenant is deleted the Usage goes, too, and Kubernetes tries to delete the namespace
// again until that succeeds.
func usage(t Tenant) (Object, error) {
	return Object{Typed: &usageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: usageAPIVersion, Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed("namespace"), Finalizers: []string{"usage.apiextensions.crossplane.io"}},
		Spec: usageSpec{
			Of:     usedResource{objectType.APIVersion, objectType.Kind, resourceName{t.Names.Composed("namespace")}},
			Reason: "The namespace holds the virtual cluster. Delete the claim: both go.",
			// Nothing that was refused stays behind.
			ReplayDeletion: true,
		},
	}}, nil
}
