// Package parts lists the optional parts of a claim. A new part is a folder and an entry.
package parts

import (
	"slices"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/accounts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/backup"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/bootstrap"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/certificates"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/clusters"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/components"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/ingress"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/notifications"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/protection"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/pullsecrets"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/repositories"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/secretkeys"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/sso"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/webhooks"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

var all = []part.Part{protection.Part, clusters.Part, repositories.Part, bootstrap.Part, ingress.Part, sso.Part, secretkeys.Part, accounts.Part, notifications.Part, webhooks.Part, pullsecrets.Part, certificates.Part, backup.Part, backup.RestorePart, hibernation.Part, components.Part}

// SecretNames returns the names of the Secrets that a spec names, sorted.
func SecretNames(s tenant.Ask) []string {
	var names []string
	for _, p := range all {
		if p.Secrets != nil {
			names = append(names, p.Secrets(s)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Resolve checks the parts of the spec, and decides what follows from them. Its error has the mistakes of all parts.
func Resolve(c part.Candidate) error {
	var found []error
	for _, p := range all {
		if p.Resolve != nil {
			found = append(found, p.Resolve(c))
		}
	}
	return mistakes.Join(found...)
}

// Rows returns the rows of all parts.
func Rows(t tenant.Tenant) []resource.Row {
	var rows []resource.Row
	for _, p := range all {
		if p.Rows != nil {
			rows = append(rows, p.Rows(t)...)
		}
	}
	return rows
}

// Conditions returns those of the parts that the tenant has. Crossplane can't take a
// condition away again, so one whose part is gone says that.
func Conditions(t tenant.Tenant) []condition.Condition {
	var out, gone []condition.Condition
	for _, p := range all {
		switch {
		case p.Condition == "" || p.Has == nil || p.Observe == nil:
		case p.Has(t):
			out = append(out, p.Observe(t, condition.Of(p.Condition)))
		case t.Observed.XR.Condition(p.Condition).Status != "":
			gone = append(gone, condition.Condition{Type: p.Condition, True: true, Reason: v1alpha1.ReasonNotInSpec, Message: "The claim has no " + p.Field + " any more"})
		}
	}
	return append(out, gone...)
}

// Report writes the parts' fields of the status.
func Report(t tenant.Tenant, s *v1alpha1.Status) {
	for _, p := range all {
		if p.Report != nil {
			p.Report(t, s)
		}
	}
}
