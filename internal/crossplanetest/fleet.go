package crossplanetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A Fleet is a control plane with several tenants and channels, which see each other's objects.
type Fleet struct {
	T testing.TB
	// Now is the time of the next call.
	Now     time.Time
	Cluster map[string]*structpb.Struct
	// Tenants and Channels are by the names of their composite resources. A tenant's claim has the same name.
	Tenants, Channels map[string]*Engine
	// Unwatched: Crossplane watches nothing that the function reads, as before 2.4.
	Unwatched bool
	// Broken says with which versions of the argo-cd chart and of Kubernetes Argo CD doesn't start.
	Broken map[string]bool
	// Stuck says why pods of a version of the argo-cd chart don't start while Helm waits for them.
	Stuck map[string]string
	// Cured are tenants whose Argo CD starts all the same.
	Cured map[string]bool
}

// NewFleet returns a control plane without tenants and channels.
func NewFleet(t testing.TB) *Fleet {
	f := &Fleet{T: t, Now: Start, Tenants: map[string]*Engine{}, Channels: map[string]*Engine{}, Broken: map[string]bool{}, Cured: map[string]bool{}, Stuck: map[string]string{}}
	f.Cluster = New(t, `{}`, "").Cluster
	f.SetInput(`{}`)
	return f
}

// SetInput sets the function's input in the Composition of tenants.
func (f *Fleet) SetInput(input string) {
	f.Cluster["Composition//virtual-argocd"] = resource.MustStructJSON(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition",
		"metadata":{"name":"virtual-argocd"},"spec":{"compositeTypeRef":{"kind":"XVirtualArgoCD"},"pipeline":[{"step":"a","input":` + input + `}]}}`)
	for _, e := range f.Tenants {
		e.Request.Input = resource.MustStructJSON(input)
	}
}

// NewXR returns the engine of a composite resource on this control plane. Add it to Tenants or Channels.
func (f *Fleet) NewXR(xr string) *Engine {
	e := NewXR(f.T, xr, "")
	e.Cluster, e.Unwatched = f.Cluster, f.Unwatched
	e.Now = func() time.Time { return f.Now }
	return e
}

// AddClaim adds a tenant; spec and labels are its claim's, as JSON.
func (f *Fleet) AddClaim(name, spec, labels string) *Engine {
	f.T.Helper()
	xr := strings.NewReplacer(`"name":"customer1"`, `"name":"`+name+`"`, `"name":"customer1-7rw8j"`, `"labels":`+labels+`,"name":"`+name+`"`, "1f0d7d2c", "uid-"+name).Replace(TenantXR(spec))
	f.Tenants[name] = f.NewXR(xr)
	return f.Tenants[name]
}

// SetChannel adds a channel with a spec, or replaces its spec.
func (f *Fleet) SetChannel(name, spec string) {
	f.T.Helper()
	xr := `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDChannel","metadata":{"name":"` + name + `","uid":"uid-` + name + `"},"spec":` + spec + `}`
	if f.Channels[name] == nil {
		f.Channels[name] = f.NewXR(xr)
		return
	}
	f.Channels[name].XR().Fields["spec"] = resource.MustStructJSON(xr).GetFields()["spec"]
}

// RemoveChannel deletes a channel with all that is composed for it.
func (f *Fleet) RemoveChannel(name string) {
	for _, o := range f.Channels[name].Request.GetObserved().GetResources() {
		delete(f.Cluster, Key(o.GetResource()))
	}
	delete(f.Channels, name)
}

// Step reconciles all channels and all tenants once. Then time passes.
func (f *Fleet) Step(d time.Duration) {
	f.T.Helper()
	for _, name := range slices.Sorted(maps.Keys(f.Channels)) {
		f.Channels[name].Reconcile()
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tenants)) {
		f.ReconcileTenant(name)
	}
	f.Now = f.Now.Add(d)
}

// ReconcileTenant does what Crossplane and the providers do with a tenant.
func (f *Fleet) ReconcileTenant(name string) {
	f.T.Helper()
	e := f.Tenants[name]
	e.Reconcile()
	if e.RunProviders(); !f.Cured[name] && (f.Broken[f.Version(name)] || f.Broken[f.Kubernetes(name)]) {
		e.SetReplicas("argocd-server", 0)
	}
	if why := f.Stuck[f.Version(name)]; why != "" {
		e.SetRollingOut(tenant.ArgoCDRelease)
		e.SetDeployed(tenant.ArgoCDRelease, "10.1.1")
		e.SetWorkload("argocd-redis", func(w *proxy.Workload) { w.Available, w.Why = false, why })
	}
}

// Settle takes several steps.
func (f *Fleet) Settle(steps int, d time.Duration) {
	f.T.Helper()
	for range steps {
		f.Step(d)
	}
}

// Offer is the spec of a channel that offers a version of the argo-cd chart.
func Offer(version, rollout string) string {
	return `{"offer":{"argocd":{"chartVersion":"` + version + `"}},"rollout":` + rollout + `}`
}

// InSteps is the rollout of a channel that gives an offer to one tenant of five first.
const InSteps = `{"steps":[{"percent":20,"minSuccessTime":"1h"},{"percent":100}],"maxConcurrency":2,"maxFailures":2}`
