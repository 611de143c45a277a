package provider

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A Fault is something that goes wrong for a share of all tenants.
type Fault string

const (
	// NeverStarts keeps the pod of the control plane from being scheduled.
	NeverStarts Fault = "NeverStarts"
	// UpgradeFails keeps a change of argo-cd from becoming ready until Helm gives up. Then the provider rolls it back.
	UpgradeFails Fault = "UpgradeFails"
	// UpgradeDegrades makes Argo CD's API server fail after Helm has found a change of argo-cd ready, until the next change.
	UpgradeDegrades Fault = "UpgradeDegrades"
	// Silent keeps a virtual cluster from answering.
	Silent Fault = "Silent"
	// Slow makes everything in a virtual cluster take SlowBy times as long.
	Slow Fault = "Slow"
)

// SlowBy is how many times as long everything takes for tenants with the fault Slow.
const SlowBy = 4

// Faults say what goes wrong, and for which tenants. They can be changed at any time; the providers notice changes when they next
// observe a resource. The same seed selects the same tenants.
type Faults struct {
	seed uint64

	mu     sync.RWMutex
	shares map[Fault]float64
	// versions of argo-cd that have faults.
	versions map[Fault]string
	// given counts how many times a tenant was given a fault that it still has.
	given map[string]map[Fault]int
	// broken are workloads that tests have broken, by tenant and name.
	broken map[string]map[string]proxy.Workload
	// listeners are called with the tenant whose faults have changed, or "" for all tenants.
	listeners map[int]func(tenant string)
	listened  int
}

// NewFaults returns Faults that no tenant has yet.
func NewFaults(seed uint64) *Faults {
	return &Faults{
		seed: seed, shares: map[Fault]float64{}, versions: map[Fault]string{},
		given: map[string]map[Fault]int{}, broken: map[string]map[string]proxy.Workload{}, listeners: map[int]func(string){},
	}
}

// Set gives a fault to a share of all tenants, from 0 to 1.
func (f *Faults) Set(fault Fault, share float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shares[fault] = share
	f.tell("")
}

// SetVersion gives the fault UpgradeFails or UpgradeDegrades to every change to a version of the argo-cd chart, instead of the version
// that was set before. "" takes the fault away.
func (f *Faults) SetVersion(fault Fault, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions[fault] = version
	f.tell("")
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
func (f *Faults) Has(fault Fault, tenant string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%s/%s", f.seed, fault, tenant)
	// FNV spreads the end of its input over the lower bits.
	return f.given[tenant][fault] > 0 || float64(h.Sum64()&math.MaxUint16)/(math.MaxUint16+1) < f.shares[fault]
}

// hasAt reports whether a tenant has a fault that is about a change of argo-cd to a version of its chart.
func (f *Faults) hasAt(fault Fault, tenant, version string) bool {
	f.mu.RLock()
	is := f.versions[fault]
	f.mu.RUnlock()
	return is != "" && labelOf(is) == labelOf(version) || f.Has(fault, tenant)
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
