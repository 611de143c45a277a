package provider

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A Fault is something that goes wrong for a share of all tenants.
type Fault string

const (
	// NeverStarts keeps the pod of the control plane from being scheduled.
	NeverStarts Fault = "NeverStarts"
	// UpgradeFails keeps a change of argo-cd from becoming ready. Helm waits until the fault is gone, or gives up. Then the provider
	// rolls the change back.
	UpgradeFails Fault = "UpgradeFails"
	// UpgradeRefused makes the virtual cluster refuse a change of argo-cd, so that Helm fails at once.
	UpgradeRefused Fault = "UpgradeRefused"
	// UpgradeDegrades makes Argo CD's API server fail after Helm has found a change of argo-cd ready, until the fault is gone or there is
	// another change. Changes from before the fault aren't affected.
	UpgradeDegrades Fault = "UpgradeDegrades"
	// Silent keeps a virtual cluster from answering.
	Silent Fault = "Silent"
	// Slow makes everything in a virtual cluster take SlowBy times as long.
	Slow Fault = "Slow"
)

// noSuchTag is the only image tag that doesn't exist in the simulation.
const noSuchTag = "no-such-tag"

// faultIn returns the fault that the values of argo-cd cause when a release is changed to them; "" for none. Only another change ends it. With an
// image tag that doesn't exist, Argo CD's API server doesn't become ready. Helm waits for it, unless all of its replicas may be unavailable.
func faultIn(values map[string]any) Fault {
	tag, _, _ := unstructured.NestedString(values, "server", "image", "tag")
	unavailable, _, _ := unstructured.NestedString(values, "server", "deploymentStrategy", "rollingUpdate", "maxUnavailable")
	switch {
	case tag != noSuchTag:
		return ""
	case unavailable == "100%":
		return UpgradeDegrades
	}
	return UpgradeFails
}

// SlowBy is how many times as long everything takes for tenants with the fault Slow.
const SlowBy = 4

// Faults say what goes wrong, and for which tenants. They can be changed at any time; the providers notice changes when they next
// observe a resource. The same seed selects the same tenants.
type Faults struct {
	seed uint64

	mu     sync.RWMutex
	shares map[Fault]share
	// given counts how many times a tenant was given a fault that it still has.
	given map[string]map[Fault]int
	// broken are workloads that tests have broken, by tenant and name.
	broken map[string]map[string]proxy.Workload
	// listeners are called with the tenant whose faults have changed, or "" for all tenants.
	listeners map[int]func(tenant string)
	listened  int
}

// A share of all tenants, from 0 to 1, has a fault: only at changes to one version of the argo-cd chart, unless version is empty.
type share struct {
	of      float64
	version string
}

// NewFaults returns Faults that no tenant has yet.
func NewFaults(seed uint64) *Faults {
	return &Faults{
		seed: seed, shares: map[Fault]share{},
		given: map[string]map[Fault]int{}, broken: map[string]map[string]proxy.Workload{}, listeners: map[int]func(string){},
	}
}

// Set gives a fault to a share of all tenants, from 0 to 1, instead of the share that was set before. A fault of changes of argo-cd can be
// limited to those to one version of its chart; "" stands for all versions.
func (f *Faults) Set(fault Fault, of float64, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shares[fault] = share{of, version}
	f.tell("")
}

// ShareWith returns the smallest share of all tenants that contains n of the given tenants.
func (f *Faults) ShareWith(fault Fault, n int, tenants []string) float64 {
	all := make([]float64, 0, len(tenants))
	for _, id := range tenants {
		all = append(all, f.position(fault, id))
	}
	slices.Sort(all)
	return math.Nextafter(all[n-1], 1)
}

// Give gives a fault to one tenant.
func (f *Faults) Give(fault Fault, tenant string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.given[tenant] == nil {
		f.given[tenant] = map[Fault]int{}
	}
	f.given[tenant][fault]++
	f.tell(tenant)
}

// Take undoes one Give. A tenant has a fault until it was taken as often as it was given.
func (f *Faults) Take(fault Fault, tenant string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.given[tenant][fault] > 0 {
		f.given[tenant][fault]--
		f.tell(tenant)
	}
}

// Has reports whether a tenant has a fault. A tenant that has it at a share also has it at each higher one.
func (f *Faults) Has(fault Fault, tenant string) bool { return f.HasAt(fault, tenant, "") }

// HasAt reports whether a tenant has a fault at a change of argo-cd to a version of its chart.
func (f *Faults) HasAt(fault Fault, tenant, version string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := f.shares[fault]
	at := s.version == "" || labelOf(s.version) == labelOf(version)
	return f.given[tenant][fault] > 0 || at && f.position(fault, tenant) < s.of
}

// position returns the position of a tenant among all that may have a fault, from 0 to 1.
func (f *Faults) position(fault Fault, tenant string) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%s/%s", f.seed, fault, tenant)
	// FNV spreads the end of its input over the lower bits.
	return float64(h.Sum64()&math.MaxUint16) / (math.MaxUint16 + 1)
}

// atChange returns the fault that a tenant has at a change of argo-cd to a version of its chart; "" for none.
func (f *Faults) atChange(tenant, version string) Fault {
	for _, fault := range []Fault{UpgradeRefused, UpgradeFails, UpgradeDegrades} {
		if f.HasAt(fault, tenant, version) {
			return fault
		}
	}
	return ""
}

// Break makes one of a tenant's workloads look as given: unavailable, missing or without replicas.
func (f *Faults) Break(tenant string, w proxy.Workload) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken[tenant] == nil {
		f.broken[tenant] = map[string]proxy.Workload{}
	}
	f.broken[tenant][w.Name] = w
	f.tell(tenant)
}

// Mend undoes the Break of one workload.
func (f *Faults) Mend(tenant, workload string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.broken[tenant], workload)
	f.tell(tenant)
}

// Heal undoes every Break and every Give of a tenant.
func (f *Faults) Heal(tenant string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.broken, tenant)
	delete(f.given, tenant)
	f.tell(tenant)
}

// listen has told called with each tenant whose faults change, or with "" if those of all tenants may have, until the caller calls stop.
// told is called with the lock held.
func (f *Faults) listen(told func(tenant string)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listened++
	n := f.listened
	f.listeners[n] = told
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, n)
	}
}

// tell calls the listeners. The caller holds the lock.
func (f *Faults) tell(tenant string) {
	for _, told := range f.listeners {
		told(tenant)
	}
}

func (f *Faults) brokenOf(tenant string) map[string]proxy.Workload {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return maps.Clone(f.broken[tenant])
}

// takes returns how long something takes for a tenant if it takes d for tenants that aren't slow.
func (f *Faults) takes(tenant string, d time.Duration) time.Duration {
	if f.Has(Slow, tenant) {
		return SlowBy * d
	}
	return d
}
