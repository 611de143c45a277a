// Package part says what an optional part of a claim consists of.
package part

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// A Part of a claim is optional. Each field but Field may be its zero value: a part without
// Resolve has nothing to check, and one with a Condition but without Has or Observe reports none.
type Part struct {
	// Field of the spec that has the part.
	Field string
	// Secrets returns the names of the Secrets that the part's slice of the spec names.
	Secrets func(tenant.Ask) []string
	// Resolve checks that slice, and decides what follows from it.
	Resolve func(Candidate) error
	// Rows are the part's rows of the table of composed resources.
	Rows func(tenant.Tenant) []resource.Row
	// Condition is the type of the part's condition. Has reports whether the tenant has
	// it, and Observe makes it.
	Condition string
	Has       func(tenant.Tenant) bool
	Observe   func(tenant.Tenant, condition.Of) condition.Condition
	// Report writes the part's fields of the status.
	Report func(tenant.Tenant, *v1alpha1.Status)
}

// A Candidate is a tenant about which a decision is being made.
type Candidate struct {
	tenant.Given
	// Decision about the tenant, to which the parts add.
	Decision *tenant.Decision
	// Sensitive are the values that come from Secrets.
	Sensitive *credentials.Sensitive
	// ArgoCD is what others have written of the argo-cd chart's values.
	ArgoCD *values.Stack
}

// ReserveSecretKey returns the path of a key of Argo CD's own Secret in the values of its chart. by is the field that sets it: it is an
// error if something else does, or if the chart doesn't write that Secret.
func (c Candidate) ReserveSecretKey(by, key string) ([]string, error) {
	path := []string{"configs", "secret", "extra", key}
	return path, mistakes.Join(c.ArgoCD.Reserve(values.Input, by, values.Not(path...)), c.ArgoCD.Reserve(values.Claim, by, values.Be(true, "configs", "secret", "createSecret")))
}
