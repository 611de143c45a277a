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

func rows(tenant.Tenant) []resource.Row {
	protected := func(t tenant.Tenant) bool { return t.DeletionProtection }
	// What is protected beside a claim: its namespace, and the XR.
	withClaim := func(name string) func(tenant.Tenant) bool {
		return func(t tenant.Tenant) bool {
			return t.DeletionProtection && (t.Claim.Name != "" && t.Claim.Namespace != "" || resource.Exists(name)(t))
		}
	}
	row := func(name string, has func(tenant.Tenant) bool, build func(tenant.Tenant) (resource.Object, error)) resource.Row {
		return resource.Row{Name: name, Has: has, Waits: resource.Never, Ready: resource.Always, Build: build}
	}
	return []resource.Row{
		row(tenant.DeletionProtection, protected, ofClaim),
		row(tenant.NamespaceProtection, withClaim(tenant.NamespaceProtection), ofNamespace),
		row(tenant.CompositeProtection, withClaim(tenant.CompositeProtection), ofComposite),
	}
}

// ofClaim composes the Usage that refuses to delete the claim. It
// stands beside the claim, since a Usage without a user may only name what is in
// its own namespace. An XR without a claim has a ClusterUsage.
func ofClaim(t tenant.Tenant) (resource.Object, error) {
	u := protectionOf(t, tenant.DeletionProtection, xrOf(t), "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again.")
	if t.Claim.Name != "" {
		u.Kind, u.Namespace = "Usage", t.Claim.Namespace
		u.Spec.Of = resource.Used(t.Claim.APIVersion, t.Claim.Kind, t.Claim.Name)
	}
	return resource.Object{Typed: u}, nil
}

// ofNamespace composes the ClusterUsage that refuses to delete the claim's
// namespace. Kubernetes would delete the Usage that protects the claim with all else
// in there. Each protected claim of a namespace has its own; Crossplane lets the
// namespace go with the last.
func ofNamespace(t tenant.Tenant) (resource.Object, error) {
	namespace := cmp.Or(t.Claim.Namespace, t.Composed(tenant.NamespaceProtection).String("spec", "of", "resourceRef", "name"))
	return resource.Object{Typed: protectionOf(t, tenant.NamespaceProtection, resource.Used("v1", "Namespace", namespace), reasonInClaim(t))}, nil
}

// ofComposite composes the ClusterUsage that refuses to delete the XR of a
// claim. It goes together with the claim's Usage when the claim is no longer
// protected. If the claim is deleted in between, Crossplane's deletion of the XR is
// refused, and tried again a second later.
func ofComposite(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: protectionOf(t, tenant.CompositeProtection, xrOf(t), reasonInClaim(t))}, nil
}

// protectionOf returns a ClusterUsage without a user. Whoever is refused reads the
// reason.
func protectionOf(t tenant.Tenant, name string, of resource.UsedResource, reason string) *resource.UsageObject {
	return &resource.UsageObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: resource.UsageAPIVersion, Kind: "ClusterUsage"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Names.Composed(name)},
		// An attempt that was refused must not be made up for once the protection ends.
		Spec: resource.UsageSpec{Of: of, Reason: reason, ReplayDeletion: false},
	}
}

func xrOf(t tenant.Tenant) resource.UsedResource {
	xr := t.Observed.XR
	return resource.Used(xr.String("apiVersion"), xr.String("kind"), xr.String("metadata", "name"))
}

func reasonInClaim(t tenant.Tenant) string {
	return fmt.Sprintf("spec.deletionProtection is true in %s %s of namespace %s: set it to false there, wait a few seconds, and delete again.",
		t.Claim.Kind, t.Claim.Name, t.Claim.Namespace)
}
