package vcluster

import (
	"cmp"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// newStore is the store of a new tenant of the plan.
func newStore(g tenant.Given) tenant.Store {
	of, volume := g.Plan.Spec.VCluster, g.Platform.Storage
	s := tenant.Store{Kind: cmp.Or(of.BackingStore, plan.StoreSQLite), Size: volume.Size, StorageClass: volume.StorageClass}
	if volume.Ephemeral {
		s.Size, s.StorageClass = "", ""
	}
	if s.Kind == plan.StoreEtcd {
		s.Members = 1
		if of.Replicas > 1 {
			s.Members = 3
		}
	}
	return s
}

// SetStore decides on the store. One that is there stays: what the platform changes
// about stores is for new tenants. A claim that changes to a plan with another one
// is refused; one that names none keeps its own when the platform's default moves.
func SetStore(d *tenant.Decision, g tenant.Given) error {
	d.Store = newStore(g)
	was := g.Running.Store
	switch {
	case was == nil || d.Store.Same(*was) || g.Unassigned:
	case g.Spec.Plan == "":
		d.Store = *was
		if was.Kind != plan.StoreEtcd {
			d.ControlPlanes = 1
		}
	case g.Running.Plan == "" || g.Running.Plan == g.Plan.Name:
		d.Store = *was
		if g.Plan.Spec.VCluster.Replicas > 1 && was.Kind != plan.StoreEtcd {
			return g.Plan.At("vcluster.replicas").Errorf("is %d, and this virtual cluster was made with %s: choose another plan for this claim, or claim another Argo CD with this one", g.Plan.Spec.VCluster.Replicas, was)
		}
	default:
		return fmt.Errorf("spec.plan: %s has %s, and this virtual cluster was made with %s: Kubernetes can't change that in place, neither grow nor shrink it; choose a plan with the same, such as %s, or claim another Argo CD with plan %s",
			g.Plan.Name, d.Store, was, g.Running.Plan, g.Plan.Name)
	}
	return nil
}

// storeValues returns the values of the vcluster chart that make the store.
func storeValues(s tenant.Store, replicas int64) values.Values {
	claim := values.Values{"enabled": true, "size": s.Size,
		// A volume that outlives its virtual cluster brings it back damaged when
		// one of the same name is installed again.
		"retentionPolicy": "Delete",
	}
	if s.StorageClass != "" {
		claim["storageClass"] = s.StorageClass
	}
	none := values.Values{"enabled": false}
	if s.Size == "" {
		claim = none
	}
	if s.Kind != plan.StoreEtcd {
		return values.Values{"statefulSet": values.Values{"persistence": values.Values{"volumeClaim": claim}}}
	}
	return values.Values{
		// The control plane has no volume of its own, and is a Deployment.
		"statefulSet": values.Values{"persistence": values.Values{"volumeClaim": none}, "highAvailability": values.Values{"replicas": float64(max(replicas, 1))}},
		"backingStore": values.Values{"etcd": values.Values{"deploy": values.Values{"enabled": true, "statefulSet": values.Values{
			"highAvailability": values.Values{"replicas": float64(s.Members)},
			"persistence":      values.Values{"volumeClaim": claim},
		}}}},
	}
}

// StoreOf returns what a Release keeps the virtual cluster's state in; nil when the Release
// isn't there to tell.
func StoreOf(release wire.Composed) *tenant.Store {
	control := release.Get("spec", "forProvider", "values", "controlPlane")
	if !control.Exists() {
		return nil
	}
	s := &tenant.Store{Kind: plan.StoreSQLite}
	claim := control.Get("statefulSet", "persistence", "volumeClaim")
	if etcd := control.Get("backingStore", "etcd", "deploy"); etcd.Bool("enabled") {
		s.Kind = plan.StoreEtcd
		s.Members = etcd.Int(1, "statefulSet", "highAvailability", "replicas")
		claim = etcd.Get("statefulSet", "persistence", "volumeClaim")
	}
	if claim.Bool("enabled") {
		s.Size, s.StorageClass = claim.String("size"), claim.String("storageClass")
	}
	return s
}
