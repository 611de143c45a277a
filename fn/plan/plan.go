// Package plan holds the platform's size of a tenant, an XArgoCDPlan: whom it is for,
// and the chart values that its fields set.
package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	apiv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// Default is the name of the plan for claims that name none, unless the platform has marked
// another one as the default. Without a plan of that name, the built-in defaults apply.
const Default = "standard"

// Stores of a virtual cluster's state.
const (
	StoreSQLite = "sqlite"
	StoreEtcd   = "etcd"
)

// A Plan is the platform's size of a tenant, an XArgoCDPlan.
type Plan struct {
	Name string               `json:"name"`
	Spec apiv1alpha1.PlanSpec `json:"data"`
}

// Content returns the plan without what takes effect at once, which is in no revision.
func (c Plan) Content() Plan { return c.Now(Plan{}) }

// Now returns the plan with what takes effect at once as it is in another: whom it is for, its channel, when its tenants may change, are
// asleep and expire, and their backups.
func (c Plan) Now(is Plan) Plan {
	c.Spec.Namespaces, c.Spec.Channel, c.Spec.Maintenance = is.Spec.Namespaces, is.Spec.Channel, is.Spec.Maintenance
	c.Spec.Backup, c.Spec.Hibernation, c.Spec.ExpireAfter = is.Spec.Backup, is.Spec.Hibernation, is.Spec.ExpireAfter
	return c
}

// Over returns the platform's input with the settings of the plan over its own.
func (c Plan) Over(in v1alpha1.Input) v1alpha1.Input {
	d := c.Spec
	in.Ingress.Domain = cmp.Or(d.Ingress.Domain, in.Ingress.Domain)
	in.Ingress.ClassName = cmp.Or(d.Ingress.ClassName, in.Ingress.ClassName)
	in.Ingress.TLS.Issuer = cmp.Or(d.Ingress.TLS.Issuer, in.Ingress.TLS.Issuer)
	if len(d.Ingress.TLS.ClusterIssuers) > 0 {
		in.Ingress.TLS.ClusterIssuers = d.Ingress.TLS.ClusterIssuers
	}
	if len(d.Ingress.Hosts) > 0 {
		in.Ingress.Hosts = d.Ingress.Hosts
	}
	if d.Ingress.Gateway != nil {
		in.Ingress.Gateway = d.Ingress.Gateway
	}
	annotations := map[string]string{}
	maps.Copy(annotations, in.Ingress.Annotations)
	maps.Copy(annotations, d.Ingress.Annotations)
	in.Ingress.Annotations = annotations
	s := d.VCluster.Storage
	in.Storage.Size = cmp.Or(string(s.Size), in.Storage.Size)
	in.Storage.StorageClass = cmp.Or(s.StorageClass, in.Storage.StorageClass)
	in.Storage.Ephemeral = in.Storage.Ephemeral && s.Size == ""
	return in
}

// At is a field of the plan.
func (c Plan) At(field string) mistakes.Field {
	return mistakes.Field{Owner: mistakes.Plan, Path: "plan " + c.Name + ": spec." + field}
}

// maxNamespaces is how many entries a list of namespaces may have.
const maxNamespaces = 256

// namespacePattern is a namespace in which each * stands for any characters.
var namespacePattern = regexp.MustCompile(`^[a-z0-9*]([-a-z0-9*]{0,61}[a-z0-9*])?$`)

// IsFor reports whether claims of a namespace may have the plan. A composite resource
// without a claim has no namespace, and may have any plan.
func (c Plan) IsFor(namespace string) (bool, error) {
	ok, err := Lists(c.At("namespaces").Path, c.Spec.Namespaces, namespace)
	return ok, mistakes.By(mistakes.Plan, err)
}

// Lists reports whether a namespace is in a list of namespaces and patterns. Every namespace is in an empty list, and the empty
// namespace is in every list. It returns an error that names the field if the list is too long or has an invalid entry.
func Lists(field string, patterns []string, namespace string) (bool, error) {
	if len(patterns) > maxNamespaces {
		return false, fmt.Errorf("%s: has %d entries: write %d at most", field, len(patterns), maxNamespaces)
	}
	var found []error
	for i, pattern := range patterns {
		if !namespacePattern.MatchString(pattern) {
			found = append(found, fmt.Errorf("%s: %.80q is neither a namespace nor a pattern: write one such as team-a or premium-*, in lower case letters, digits, dashes and *", fmt.Sprintf("%s[%d]", field, i), pattern))
		}
	}
	if err := mistakes.Join(found...); err != nil {
		return false, err
	}
	return Has(patterns, namespace), nil
}

// Has reports whether a namespace is in a list as Lists does, and doesn't check the list.
func Has(patterns []string, namespace string) bool {
	return namespace == "" || len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		// Only a malformed pattern is an error of Match, and valid ones have no special character but *.
		matches, _ := path.Match(pattern, namespace)
		return matches
	})
}
