package crossplanetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Start is the time of the first call, unless a test sets Engine.Now.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// An Engine does what Crossplane and the providers do with a response, one reconcile after the other.
type Engine struct {
	T testing.TB
	// Function is called at the time Now.
	Function *function.Function
	Now      func() time.Time
	log      log
	// Request is the next request, with what is observed, and Response the last response.
	Request  *fnv1.RunFunctionRequest
	Response *fnv1.RunFunctionResponse
	// Asked is what the function has asked for.
	Asked *fnv1.Requirements
	// Events are those of all responses, as "reason: message". ClaimEvents returns those that reach the claim.
	Events []string
	// Cluster holds what Crossplane may be asked for, by the object's Key.
	Cluster map[string]*structpb.Struct
	// Stale, unless it is nil, is what Crossplane reads in place of Cluster: a cache that lags behind.
	Stale map[string]*structpb.Struct
	// Unwatched: Crossplane doesn't watch what the function asks for, as before 2.4.
	Unwatched bool
	// Ingresses is the number of Ingresses of the tenant's own on the host.
	Ingresses int
	// IngressDeleted: Argo CD's Ingress was deleted on the host. Otherwise it was created at IngressCreated; zero for long ago.
	IngressDeleted bool
	IngressCreated time.Time
	// Generations: the Release of Argo CD has a generation, which its provider reports. DeployedAccounts are then the values of accounts
	// that Helm has deployed.
	Generations      bool
	DeployedAccounts map[string]any
}

// New returns the engine of a new tenant: claim customer1 of Namespace with a spec, and the function's input, both as JSON. Without an
// input the function has its defaults.
func New(t testing.TB, spec, input string) *Engine {
	t.Helper()
	return NewXR(t, TenantXR(spec), input)
}

// NewXR returns the engine of a composite resource.
func NewXR(t testing.TB, xr, input string) *Engine {
	t.Helper()
	e := &Engine{T: t, Now: func() time.Time { return Start }, Cluster: map[string]*structpb.Struct{}, Request: &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "test", Capabilities: []fnv1.Capability{
			fnv1.Capability_CAPABILITY_CAPABILITIES, fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		}},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: resource.MustStructJSON(xr)}, Resources: map[string]*fnv1.Resource{}},
	}}
	e.renew()
	e.ProtectHost()
	if input != "" {
		e.Request.Input = resource.MustStructJSON(input)
	}
	return e
}

// renew gives the engine a function of its own.
func (e *Engine) renew() {
	e.log = newLog()
	e.Function = function.New(e.log, func() time.Time { return e.Now() })
}

// Fork returns another engine with the same tenant, which goes on by itself, for a test of its own.
func (e *Engine) Fork(t testing.TB) *Engine { return e.forkIn(t, cloneObjects(e.Cluster)) }

// forkIn returns another engine with the same tenant, which goes on in a cluster.
func (e *Engine) forkIn(t testing.TB, cluster map[string]*structpb.Struct) *Engine {
	other := *e
	other.T, other.Cluster = t, cluster
	other.renew()
	other.Request = proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
	other.Events = slices.Clone(e.Events)
	return &other
}

// Namespace is the namespace of the claim of each tenant in these tests.
const Namespace = "team-a"

// TenantXR is the composite resource of a claim with a spec.
func TenantXR(spec string) string {
	if fields, ok := strings.CutPrefix(spec, "{"); ok {
		claim := `{"claimRef":{"apiVersion":"virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","namespace":"` + Namespace + `","name":"customer1"}`
		if fields != "}" {
			claim += ","
		}
		spec = claim + fields
	}
	return `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"customer1-7rw8j","uid":"1f0d7d2c","generation":1},"spec":` + spec + `}`
}

// XR is the composite resource.
func (e *Engine) XR() *structpb.Struct { return e.Request.GetObserved().GetComposite().GetResource() }

// Install reconciles a tenant until it is Ready and nothing changes any more.
func (e *Engine) Install() *Engine {
	e.T.Helper()
	for range 12 {
		was := e.Response
		e.Reconcile()
		e.RunProviders()
		// The function is a pure one: nothing would change from here on.
		if e.Status("phase") == "Ready" && proto.Equal(was, e.Response) {
			break
		}
	}
	if got := e.Status("phase"); got != "Ready" {
		e.T.Fatalf("tenant is %s after installation: %s", got, e.Status("message"))
	}
	return e
}

// Cycle lets Crossplane and the providers work in turn, and Crossplane once more.
func (e *Engine) Cycle(times int) {
	e.T.Helper()
	for range times {
		e.Reconcile()
		e.RunProviders()
	}
	e.Reconcile()
}

// AwaitVCluster reconciles a tenant until the Release of vcluster is composed.
func (e *Engine) AwaitVCluster() {
	e.T.Helper()
	for range 8 {
		if _, ok := e.Request.GetObserved().GetResources()[tenant.VClusterRelease]; ok {
			return
		}
		e.RunProviders()
		e.Reconcile()
	}
	e.T.Fatalf("the virtual cluster isn't installed: %s", e.Status("message"))
}
