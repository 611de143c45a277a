package compose

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deletionProtectionWanted(t Tenant) bool { return t.DeletionProtection }

// protectedWithClaim is for what is protected beside a claim: its namespace, and the XR.
func protectedWithClaim(name string) func(Tenant) bool {
	return func(t Tenant) bool {
		return t.DeletionProtection && (t.Claim.Name != "" && t.Claim.Namespace != "" || exists(name)(t))
	}
}

// deletionProtection composes the Usage that refuses to delete the claim. It
// stands beside the claim, since a Usage without a user may only name what is in
// its own namespace. An XR without a claim has a ClusterUsage.
func deletionProtection(t Tenant) (Object, error) {
	u := protectionOf(t, DeletionProtection, xrOf(t), "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again.")
	if t.Claim.Name != "" {
		u.Kind, u.Namespace = "Usage", t.Claim.Namespace
		u.Spec.Of = usedResource{t.Claim.APIVersion, t.Claim.Kind, resourceName{t.Claim.Name}}
	}
	return Object{Typed: u}, nil
}

// namespaceProtection composes the ClusterUsage that refuses to delete the claim's
// namespace. Kubernetes would delete the Usage that protects the claim with all else
// in there. Each protected claim of a namespace has its own; Crossplane lets the
// namespace go with the last.
func namespaceProtection(t Tenant) (Object, error) {
	namespace := cmp.Or(t.Claim.Namespace, t.observed(NamespaceProtection).String("spec", "of", "resourceRef", "name"))
	return Object{Typed: protectionOf(t, NamespaceProtection, usedResource{"v1", "Namespace", resourceName{namespace}}, reasonInClaim(t))}, nil
}

// compositeProtection composes the ClusterUsage that refuses to delete the XR of a
// claim. It goes together with the claim's Usage when the claim is no longer
// protected. If the claim is deleted in between, Crossplane's deletion of the XR is
// refused, and tried again a second later.
func compositeProtection(t Tenant) (Object, error) {
	return Object{Typed: protectionOf(t, CompositeProtection, xrOf(t), reasonInClaim(t))}, nil
}

// protectionOf returns a ClusterUsage without a user. Whoever is refused reads the
// reason.
func protectionOf(t Tenant, name string, of usedResource, reason string) *usageObject {
	return &usageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: usageAPIVersion, Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed(name)},
		// An attempt that was refused must not be made up for once the protection ends.
		Spec: usageSpec{Of: of, Reason: reason, ReplayDeletion: false},
	}
}

func xrOf(t Tenant) usedResource {
	xr := t.Observed.XR
	return usedResource{xr.String("apiVersion"), xr.String("kind"), resourceName{xr.String("metadata", "name")}}
}

func reasonInClaim(t Tenant) string {
	return fmt.Sprintf("spec.deletionProtection is true in %s %s of namespace %s: set it to false there, wait a few seconds, and delete again.",
		t.Claim.Kind, t.Claim.Name, t.Claim.Namespace)
}
