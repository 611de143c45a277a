package plan

import (
	"cmp"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// A Store is where a virtual cluster keeps its state. It stays as it was made.
type Store struct {
	// Kind is StoreSQLite or StoreEtcd.
	Kind string
	// Members of etcd.
	Members int64
	// Size and StorageClass of the volume, or of each member's; no size for one that
	// goes with the pod.
	Size         string
	StorageClass string
}

// membersForSeveral is how many members etcd has under several control planes.
const membersForSeveral = 3

// newStore is the store of a new tenant of the plan.
func newStore(c Chosen, in v1alpha1.Input) Store {
	s := Store{Kind: cmp.Or(c.Data.VCluster.BackingStore, StoreSQLite), Size: in.Storage.Size, StorageClass: in.Storage.StorageClass}
	if in.Storage.Ephemeral {
		s.Size, s.StorageClass = "", ""
	}
	if s.Kind == StoreEtcd {
		s.Members = 1
		if c.Data.VCluster.Replicas > 1 {
			s.Members = membersForSeveral
		}
	}
	return s
}

// setStore decides on the store. One that is there stays: what the platform changes
// about stores is for new tenants. A claim that changes to a plan with another one
// is refused; one that names none keeps its own when the platform's default moves.
func (p *Plan) setStore(r Request, in v1alpha1.Input) error {
	if in.Storage.Size != "" {
		if q, ok := parseAmount(in.Storage.Size); !ok || q.Sign() <= 0 {
			return fmt.Errorf("input.storage.size: %q is not an amount: write one such as 2Gi", in.Storage.Size)
		}
	}
	p.Store = newStore(r.Plan, in)
	was := r.Running.Store
	if was == nil || p.Store.same(*was) {
		return nil
	}
	if r.Spec.Plan == "" {
		p.Store = *was
		if was.Kind != StoreEtcd {
			p.ControlPlanes = 1
		}
		return nil
	}
	if r.Running.Plan == "" || r.Running.Plan == r.Plan.Name {
		p.Store = *was
		if r.Plan.Data.VCluster.Replicas > 1 && was.Kind != StoreEtcd {
			return fmt.Errorf("%s: is %d, and this virtual cluster was made with %s: choose another plan for this claim, or claim another Argo CD with this one", r.Plan.at("vcluster.replicas"), r.Plan.Data.VCluster.Replicas, was)
		}
		return nil
	}
	return fmt.Errorf("spec.plan: %s has %s, and this virtual cluster was made with %s: Kubernetes can't change that in place, neither grow nor shrink it; choose a plan with the same, such as %s, or claim another Argo CD with plan %s",
		r.Plan.Name, p.Store, was, r.Running.Plan, r.Plan.Name)
}

// same tells whether two stores are the same to Kubernetes.
func (s Store) same(other Store) bool {
	size := func(s Store) int64 {
		q, _ := parseAmount(s.Size)
		return q.Value()
	}
	return s.Kind == other.Kind && s.Members == other.Members && s.StorageClass == other.StorageClass && size(s) == size(other)
}

// String reads like "etcd with 3 members on volumes of 5Gi, class fast".
func (s Store) String() string {
	text, volume := s.Kind, " on a volume"
	if s.Kind == StoreEtcd {
		text = fmt.Sprintf("etcd with %d members", s.Members)
		volume = " on volumes"
		if s.Members == 1 {
			text, volume = "etcd", " on a volume"
		}
	}
	if s.Size == "" {
		return text + " without a volume"
	}
	text += volume + " of " + s.Size
	if s.StorageClass != "" {
		text += ", class " + s.StorageClass
	}
	return text
}

// values of the vcluster chart that make the store.
func (s Store) values(replicas int64) values.Values {
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
	v := values.Values{"statefulSet": values.Values{"persistence": values.Values{"volumeClaim": claim}}}
	if s.Kind == StoreEtcd {
		v = values.Values{
			// The control plane keeps nothing itself: it is a Deployment then.
			"statefulSet": values.Values{"persistence": values.Values{"volumeClaim": none}, "highAvailability": values.Values{"replicas": float64(max(replicas, 1))}},
			"backingStore": values.Values{"etcd": values.Values{"deploy": values.Values{"enabled": true, "statefulSet": values.Values{
				"highAvailability": values.Values{"replicas": float64(s.Members)},
				"persistence":      values.Values{"volumeClaim": claim},
			}}}},
		}
	}
	return v
}
