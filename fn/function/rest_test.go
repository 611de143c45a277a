package function_test

import (
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRests: Crossplane leaves a tenant alone that is ready, where it watches all that the
// function reads. Nothing else is left alone for long.
func TestRests(t *testing.T) {
	const repository = `{"repositories":[{"name":"a","url":"https://example.org/a","secretRef":{"name":"a"}}]}`
	condition := func(e *crossplanetest.Engine, typ, status string) {
		xr := crossplanetest.Field(e.XR(), "status")
		list := append(xr.GetFields()["conditions"].GetListValue().GetValues(), structpb.NewStructValue(resource.MustStructJSON(`{"type":"`+typ+`","status":"`+status+`"}`)))
		xr.Fields["conditions"] = structpb.NewListValue(&structpb.ListValue{Values: list})
	}
	cases := map[string]struct {
		spec string
		does func(*crossplanetest.Engine)
		want time.Duration
	}{
		"Ready":      {want: crossplanetest.TTLAtRest},
		"OneMore":    {does: func(e *crossplanetest.Engine) { e.Reconcile() }, want: crossplanetest.TTLAtRest},
		"Responsive": {does: func(e *crossplanetest.Engine) { condition(e, "Responsive", "True") }, want: crossplanetest.TTLAtRest},
		// The circuit breaker of Crossplane has dropped changes.
		"Unresponsive": {does: func(e *crossplanetest.Engine) { condition(e, "Responsive", "False") }, want: crossplanetest.TTL},
		"Degraded":     {does: func(e *crossplanetest.Engine) { e.SetReplicas("argocd-server", 0) }, want: crossplanetest.TTL},
		"JustMended": {does: func(e *crossplanetest.Engine) {
			e.SetReplicas("argocd-server", 0)
			e.Reconcile()
			e.SetReplicas("argocd-server", 1)
		}, want: crossplanetest.TTL},
		"RollsOut":        {does: func(e *crossplanetest.Engine) { e.SetRollingOut(tenant.ArgoCDRelease) }, want: crossplanetest.TTL},
		"Refused":         {does: func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"none"}`) }, want: crossplanetest.TTL},
		"NotWatched":      {does: func(e *crossplanetest.Engine) { e.Unwatched = true }, want: crossplanetest.TTL},
		"Secrets":         {spec: repository, want: crossplanetest.TTLAtRest},
		"SecretsNotThere": {spec: repository, does: func(e *crossplanetest.Engine) { clear(e.Cluster); e.ProtectHost() }, want: crossplanetest.TTLAtRest},
		"SecretsUnwatched": {spec: repository, does: func(e *crossplanetest.Engine) {
			e.Unwatched = true
		}, want: crossplanetest.TTLOfReferences},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.spec == "" {
				tc.spec = `{}`
			}
			e := crossplanetest.New(t, tc.spec, "")
			e.AddSecret("a", "Opaque", map[string]string{"username": "a", "password": "b"})
			e.Install()
			e.Reconcile()
			if tc.does != nil {
				tc.does(e)
			}
			if got := e.Call().GetMeta().GetTtl().AsDuration(); got != tc.want {
				t.Errorf("in phase %s Crossplane asks again after %s, want %s", e.Status("phase"), got, tc.want)
			}
		})
	}
	// A restart of Crossplane forgets what was asked for: the reconcile after it isn't the last for a while.
	e := crossplanetest.New(t, `{}`, "")
	e.Install()
	e.Asked, e.Request.RequiredResources = nil, nil
	for _, want := range []time.Duration{crossplanetest.TTL, crossplanetest.TTLAtRest} {
		if got := e.Call().GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("Crossplane asks again after %s, want %s", got, want)
		}
	}
	// What others in the pipeline have said stays.
	e.Request.Context = resource.MustStructJSON(`{"other":true}`)
	rsp, err := e.Function.RunFunction(t.Context(), e.Request)
	if err != nil || len(rsp.GetContext().GetFields()) != 2 || len(e.Request.GetContext().GetFields()) != 1 {
		t.Errorf("got context %v, %v; the request's is %v", rsp.GetContext(), err, e.Request.GetContext())
	}
}

// TestLooksAgain: a tenant that comes up goes on by itself where Crossplane tells of no changes; one that is Ready is left alone.
func TestLooksAgain(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	after := func(want time.Duration) {
		t.Helper()
		if got := e.Reconcile().GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("in phase %s Crossplane asks again after %s, want %s", e.Status("phase"), got, want)
		}
	}
	after(4 * time.Second)
	e.AwaitVCluster()
	after(10 * time.Second)
	e.Install()
	after(crossplanetest.TTLAtRest)
}
