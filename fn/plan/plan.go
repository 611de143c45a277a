// Package plan holds the platform's size of a tenant, an EnvironmentConfig: whom it is for,
// and the chart values that its fields set.
package plan

import (
	"cmp"
	"maps"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Default is the name of the plan of claims that name none, where the platform
// has said of no other that it is. Where there is none of that name either, it has
// the built-in defaults.
const Default = "standard"

// Stores of a virtual cluster's state.
const (
	StoreSQLite = "sqlite"
	StoreEtcd   = "etcd"
)

// A Plan is the platform's size of a tenant, an EnvironmentConfig.
type Plan struct {
	// Name of the plan.
	Name string `json:"name"`
	// Data of the plan.
	Data v1alpha1.PlanData `json:"data"`
}

// Over lays the plan's settings over the platform's input.
func (c Plan) Over(in v1alpha1.Input) v1alpha1.Input {
	d := c.Data
	in.Ingress.Domain = cmp.Or(d.Ingress.Domain, in.Ingress.Domain)
	in.Ingress.ClassName = cmp.Or(d.Ingress.ClassName, in.Ingress.ClassName)
	in.Ingress.TLS.Issuer = cmp.Or(d.Ingress.TLS.Issuer, in.Ingress.TLS.Issuer)
	if len(d.Ingress.Hosts) > 0 {
		in.Ingress.Hosts = d.Ingress.Hosts
	}
	if len(d.Ingress.Annotations) > 0 {
		annotations := maps.Clone(in.Ingress.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, d.Ingress.Annotations)
		in.Ingress.Annotations = annotations
	}
	s := d.VCluster.Storage
	in.Storage.Size = cmp.Or(string(s.Size), in.Storage.Size)
	in.Storage.StorageClass = cmp.Or(s.StorageClass, in.Storage.StorageClass)
	if s.Size != "" {
		in.Storage.Ephemeral = false
	}
	return in
}

// At is the path of a field of the plan.
func (c Plan) At(field string) string { return "plan " + c.Name + ": data." + field }
