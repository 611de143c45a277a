// Package protection is the part of a claim that keeps it from being deleted.
package protection

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.deletionProtection.
var Part = part.Part{Field: "spec.deletionProtection", Resolve: resolve, Rows: rows}

func resolve(of part.Candidate) error {
	of.Decision.DeletionProtection = of.Spec.DeletionProtection
	return nil
}

func rows(t tenant.Tenant) []resource.Row {
	xr := resource.Used(t.Observed.XR.String("apiVersion"), t.Observed.XR.String("kind"), t.Observed.XR.String("metadata", "name"))
	// The Usage that refuses to delete the claim. It stands beside the claim, since a Usage
	// without a user may only name what is in its own namespace. An XR without a claim has a
	// ClusterUsage.
	ofClaim := usage(t, tenant.DeletionProtection, xr, "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again.")
	if t.Claim.Name != "" {
		ofClaim.Kind, ofClaim.Namespace = "Usage", t.Claim.Namespace
		ofClaim.Spec.Of = resource.Used(t.Claim.APIVersion, t.Claim.Kind, t.Claim.Name)
	}
	inClaim := fmt.Sprintf("spec.deletionProtection is true in %s %s of namespace %s: set it to false there, wait a few seconds, and delete again.",
		t.Claim.Kind, t.Claim.Name, t.Claim.Namespace)
	// The ClusterUsage that refuses to delete the claim's namespace. Kubernetes would delete
	// the Usage that protects the claim with all else in there. Each protected claim of a
	// namespace has its own; Crossplane lets the namespace go with the last.
	namespace := cmp.Or(t.Claim.Namespace, t.Composed(tenant.NamespaceProtection).String("spec", "of", "resourceRef", "name"))
	ofNamespace := usage(t, tenant.NamespaceProtection, resource.Used("v1", "Namespace", namespace), inClaim)
	// The ClusterUsage that refuses to delete the XR of a claim. It goes together with the
	// claim's Usage when the claim is no longer protected. If the claim is deleted in between,
	// Crossplane's deletion of the XR is refused, and tried again a second later.
	ofComposite := usage(t, tenant.CompositeProtection, xr, inClaim)

	hasClaim := t.Claim.Name != "" && t.Claim.Namespace != ""
	row := func(name string, has bool, u *resource.UsageObject) resource.Row {
		has = t.DeletionProtection && (has || t.Composed(name).Exists())
		return resource.Row{Name: name, Has: has, Ready: true, Build: func(tenant.Tenant) (resource.Object, error) { return resource.Object{Typed: u}, nil }}
	}
	return []resource.Row{
		row(tenant.DeletionProtection, true, ofClaim),
		row(tenant.NamespaceProtection, hasClaim, ofNamespace),
		row(tenant.CompositeProtection, hasClaim, ofComposite),
	}
}

// usage returns a ClusterUsage without a user. Whoever is refused reads the reason.
func usage(t tenant.Tenant, name string, of resource.UsedResource, reason string) *resource.UsageObject {
	return &resource.UsageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.UsageAPIVersion, Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed(name)},
		// An attempt that was refused must not be made up for once the protection ends.
		Spec: resource.UsageSpec{Of: of, Reason: reason, ReplayDeletion: false},
	}
}
