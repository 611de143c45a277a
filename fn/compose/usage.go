package compose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// A usageObject is a Usage of Crossplane's. protection.crossplane.io
// (ClusterUsage) and apiextensions.crossplane.io (Usage) have the same spec;
// their Go types need a newer crossplane-runtime than the providers' do.
type usageObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec usageSpec `json:"spec"`
}

type usageSpec struct {
	Of             usedResource  `json:"of"`
	By             *usedResource `json:"by,omitempty"`
	Reason         string        `json:"reason"`
	ReplayDeletion bool          `json:"replayDeletion"`
}

type usedResource struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"`
	ResourceRef resourceName `json:"resourceRef"`
}

type resourceName struct {
	Name string `json:"name"`
}

func usageWanted(t Tenant) bool {
	// What is observed stays: the API group may be changed for new tenants alone.
	return t.UsageAPI != plan.UsageNone || exists(Usage)(t)
}

// usage composes the Usage that refuses to delete the tenant's namespace while
// its virtual cluster is there, by hand for instance. When the tenant is deleted
// the namespace's owners (see outlives) already give that order. Crossplane
// makes the Release an owner of the Usage, so that both end together.
func usage(t Tenant) (Object, error) {
	return Object{Typed: &usageObject{
		TypeMeta:   usageType(t),
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed("namespace"), OwnerReferences: outlives(t, VCluster)},
		Spec: usageSpec{
			Of:     usedResource{objectType.APIVersion, objectType.Kind, resourceName{t.Names.Composed("namespace")}},
			By:     &usedResource{releaseType.APIVersion, releaseType.Kind, resourceName{t.Names.Composed("vcluster")}},
			Reason: "The namespace holds what Helm needs to uninstall the virtual cluster. Delete the claim: both go, in order.",
			// Nothing that was refused stays behind.
			ReplayDeletion: true,
		},
	}}, nil
}

func usageType(t Tenant) metav1.TypeMeta {
	if u := t.observed(Usage); u.Exists() {
		return metav1.TypeMeta{APIVersion: u.String("apiVersion"), Kind: u.String("kind")}
	}
	if t.UsageAPI == plan.UsageAPIExtensions {
		return metav1.TypeMeta{APIVersion: plan.UsageAPIExtensions + "/v1beta1", Kind: "Usage"}
	}
	return metav1.TypeMeta{APIVersion: plan.UsageProtection + "/v1beta1", Kind: "ClusterUsage"}
}
