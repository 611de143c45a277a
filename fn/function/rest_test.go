package function

import (
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestRests: Crossplane leaves a tenant alone that is ready, where it watches all that the
// function reads. Nothing else is left alone for long.
func TestRests(t *testing.T) {
	const repository = `{"repositories":[{"name":"a","url":"https://example.org/a","secretRef":{"name":"a"}}]}`
	condition := func(e *engine, typ, status string) {
		xr := field(e.xr(), "status")
		list := append(xr.GetFields()["conditions"].GetListValue().GetValues(), structpb.NewStructValue(resource.MustStructJSON(`{"type":"`+typ+`","status":"`+status+`"}`)))
		xr.Fields["conditions"] = structpb.NewListValue(&structpb.ListValue{Values: list})
	}
	cases := map[string]struct {
		spec string
		does func(*engine)
		want time.Duration
	}{
		"Ready":      {want: ttlAtRest},
		"OneMore":    {does: func(e *engine) { e.reconcile() }, want: ttlAtRest},
		"Responsive": {does: func(e *engine) { condition(e, "Responsive", "True") }, want: ttlAtRest},
		// The circuit breaker of Crossplane has dropped changes.
		"Unresponsive": {does: func(e *engine) { condition(e, "Responsive", "False") }, want: ttl},
		"Degraded":     {does: func(e *engine) { e.setReplicas("argocd-server", 0) }, want: ttl},
		"JustMended": {does: func(e *engine) {
			e.setReplicas("argocd-server", 0)
			e.reconcile()
			e.setReplicas("argocd-server", 1)
		}, want: ttl},
		"RollsOut":        {does: func(e *engine) { e.rolling(tenant.ArgoCDRelease) }, want: ttl},
		"Refused":         {does: func(e *engine) { e.spec(`{"plan":"none"}`) }, want: ttl},
		"NotWatched":      {does: func(e *engine) { e.unwatched = true }, want: ttl},
		"Secrets":         {spec: repository, want: ttlAtRest},
		"SecretsNotThere": {spec: repository, does: func(e *engine) { clear(e.cluster); e.protect() }, want: ttlAtRest},
		"SecretsUnwatched": {spec: repository, does: func(e *engine) {
			e.unwatched = true
		}, want: ttlOfReferences},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.spec == "" {
				tc.spec = `{}`
			}
			e := newEngine(t, tenantXR(tc.spec), "")
			e.secret("a", "Opaque", map[string]string{"username": "a", "password": "b"})
			e.install()
			e.reconcile()
			if tc.does != nil {
				tc.does(e)
			}
			if got := e.call().GetMeta().GetTtl().AsDuration(); got != tc.want {
				t.Errorf("in phase %s Crossplane asks again after %s, want %s", e.status("phase"), got, tc.want)
			}
		})
	}
	// A restart of Crossplane forgets what was asked for: the reconcile after it isn't the last for a while.
	e := newEngine(t, tenantXR(`{}`), "")
	e.install()
	e.asked, e.req.RequiredResources = nil, nil
	for _, want := range []time.Duration{ttl, ttlAtRest} {
		if got := e.call().GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("Crossplane asks again after %s, want %s", got, want)
		}
	}
	// What others in the pipeline have said stays.
	e.req.Context = resource.MustStructJSON(`{"other":true}`)
	rsp, err := e.f.RunFunction(t.Context(), e.req)
	if err != nil || len(rsp.GetContext().GetFields()) != 2 || len(e.req.GetContext().GetFields()) != 1 {
		t.Errorf("got context %v, %v; the request's is %v", rsp.GetContext(), err, e.req.GetContext())
	}
}
