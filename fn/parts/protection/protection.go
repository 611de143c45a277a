// Package protection is the part of a claim that keeps it from being deleted.
package protection

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.deletionProtection.
var Part = part.Part{
	Field: "spec.deletionProtection",
	Resolve: func(of part.Candidate) error {
		of.Decision.DeletionProtection = of.Spec.DeletionProtection
		return nil
	},
	Rows: rows,
}

// rows are the rows of the Usages. An attempt to delete that was refused isn't made up for
// once the protection ends.
func rows(t tenant.Tenant) []resource.Row {
	o := t.Observed.XR
	xr := corev1.ObjectReference{APIVersion: o.String("apiVersion"), Kind: o.String("kind"), Name: o.String("metadata", "name")}
	claim := xr
	if t.Claim.Name != "" {
		claim = corev1.ObjectReference{APIVersion: t.Claim.APIVersion, Kind: t.Claim.Kind, Namespace: t.Claim.Namespace, Name: t.Claim.Name}
	}
	namespace := corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace"}
	namespace.Name = cmp.Or(t.Claim.Namespace, t.Composed(tenant.NamespaceProtection).String("spec", "of", "resourceRef", "name"))
	const inSpec = "spec.deletionProtection is true: set it to false, wait a few seconds, and delete again."
	inClaim := fmt.Sprintf("spec.deletionProtection is true in %s %s of namespace %s: set it to false there, wait a few seconds, and delete again.",
		t.Claim.Kind, t.Claim.Name, t.Claim.Namespace)
	hasClaim := t.Claim.Name != "" && t.Claim.Namespace != ""
	row := func(name string, of corev1.ObjectReference, reason string, has bool) resource.Row {
		usage := resource.Usage(t.Names.Composed(name), of, reason, false)
		return resource.Row{
			Name: name, Has: t.DeletionProtection && (has || t.Composed(name).Exists()), Ready: true,
			Build: func(tenant.Tenant) (resource.Object, error) { return resource.Object{Typed: usage}, nil },
		}
	}
	return []resource.Row{
		row(tenant.DeletionProtection, claim, inSpec, true),
		// Kubernetes would delete the Usage that protects the claim with all else in the claim's
		// namespace. Each protected claim of a namespace has a Usage of its own for that;
		// Crossplane lets the namespace go with the last.
		row(tenant.NamespaceProtection, namespace, inClaim, hasClaim),
		// This Usage goes together with the claim's when the claim is no longer protected. If the
		// claim is deleted in between, Crossplane's deletion of the XR is refused, and tried again
		// a second later.
		row(tenant.CompositeProtection, xr, inClaim, hasClaim),
	}
}
