package compose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

func deletionProtectionWanted(t Tenant) bool { return t.DeletionProtection }

// deletionProtection composes the Usage that refuses to delete the claim. It
// stands beside the claim, since a Usage without a user may only name what is in
// its own namespace. An XR without a claim has a ClusterUsage.
func deletionProtection(t Tenant) (Object, error) {
	xr := t.Observed.XR
	u := &usageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: plan.UsageProtection + "/v1beta1", Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed("deletion-protection")},
		Spec: usageSpec{
			Of: usedResource{xr.String("apiVersion"), xr.String("kind"), resourceName{xr.String("metadata", "name")}},
			// Whoever is refused reads this.
			Reason: "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again.",
			// An attempt that was refused must not be made up for once the protection ends.
			ReplayDeletion: false,
		},
	}
	if t.Claim.Name != "" {
		u.Kind, u.Namespace = "Usage", t.Claim.Namespace
		u.Spec.Of = usedResource{t.Claim.APIVersion, t.Claim.Kind, resourceName{t.Claim.Name}}
	}
	return Object{Typed: u}, nil
}
