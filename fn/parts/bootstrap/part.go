// Package bootstrap is the part of a claim with the first Application of its Argo CD.
package bootstrap

import (
	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Part is spec.bootstrap.
var Part = part.Part{
	Field: "spec.bootstrap", Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionBootstrapSynced, Has: has, Observe: observe, Report: report,
}

func resolve(of part.Candidate) (err error) {
	of.Decision.Application, err = manifest(of.Spec.Bootstrap)
	return err
}

func has(t tenant.Tenant) bool { return t.Application != nil }

func rows(tenant.Tenant) []resource.Row {
	return []resource.Row{{Name: tenant.Bootstrap, Has: has, Waits: resource.Not(argocd.Deployed), Ready: resource.Always, Build: application}}
}
