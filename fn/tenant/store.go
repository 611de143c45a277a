package tenant

import (
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
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

// Same reports whether two stores are the same to Kubernetes.
func (s Store) Same(other Store) bool {
	size := func(s Store) int64 {
		q, _ := values.ParseAmount(s.Size)
		return q.Value()
	}
	return s.Kind == other.Kind && s.Members == other.Members && s.StorageClass == other.StorageClass && size(s) == size(other)
}

// String reads like "etcd with 3 members on volumes of 5Gi, class fast".
func (s Store) String() string {
	text, volume := s.Kind, " on a volume"
	if s.Kind == plan.StoreEtcd {
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
