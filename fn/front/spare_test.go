package front_test

import (
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// spareOf is a spare of plan small that runs; the plan must be there.
func spareOf(e *crossplanetest.Engine, name string) *structpb.Struct {
	p, err := decode.Plan(wire.Of(e.Cluster["XArgoCDPlan//small"]))
	if err != nil {
		e.T.Fatal(err)
	}
	return resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"` + name + `","uid":"uid-of-` + name + `","generation":1,
		"labels":{"virtualargocd.io/spare":"true","virtualargocd.io/pool":"p","virtualargocd.io/pool-plan":"small","virtualargocd.io/pool-plan-digest":"` + spare.Digest(p) + `"},
		"ownerReferences":[{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object","name":"` + name + `","uid":"uid-of-object"}]},
		"spec":{"plan":"small"},
		"status":{"phase":"Ready","argocd":{"url":"https://spare"},"conditions":[{"type":"Ready","status":"True","observedGeneration":1},{"type":"SpecAccepted","status":"True"}]}}`)
}

// TestTakingASpare: what a front's Object may do with a spare, and what the front shows of it, from the moment at which it chooses it until it has
// it for good.
func TestTakingASpare(t *testing.T) {
	e := newFront(t, `{"plan":"small","writeConnectionSecretToRef":{"name":"s"}}`, `,"creationTimestamp":"2026-01-01T00:00:00Z"`)
	e.AddPlan("small", `{}`)
	of := spareOf(e, "s-1")
	add(e, of)
	const at = tenant.FrontSparePrefix + "s-1"
	is := func(when string, ready bool, reason string, owned bool, policies ...string) {
		t.Helper()
		rsp := e.Reconcile()
		o := wire.Of(e.Observed(at))
		if got := o.Strings("spec", "managementPolicies"); !slices.Equal(got, policies) || len(rsp.GetDesired().GetResources()) != 1 {
			t.Errorf("%s: it may %v, and there are %d Objects", when, got, len(rsp.GetDesired().GetResources()))
		}
		if got := len(manifest(o).List("metadata", "ownerReferences")) == 1; got != owned {
			t.Errorf("%s: the spare has its owner: %t", when, got)
		}
		if got := manifest(o).Has("metadata", "annotations", v1alpha1.AnnotationClaimedAt); got == owned {
			t.Errorf("%s: it says since when it is the front's: %t", when, got)
		}
		if got := e.Condition(v1alpha1.ConditionTenantBound); got.GetReason() != reason {
			t.Errorf("%s: %s: %s", when, got.GetReason(), got.GetMessage())
		}
		if got := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_TRUE; got != ready {
			t.Errorf("%s: ready %t", when, got)
		}
		if url := e.Status("argocd", "url"); !ready && url != "" {
			t.Errorf("%s: it shows %s", when, url)
		}
	}
	is("Chosen", false, v1alpha1.ReasonTakingSpare, true, "Observe", "Update")
	if ttl := e.Response.GetMeta().GetTtl().AsDuration(); ttl > crossplanetest.TTL/6 {
		t.Errorf("it looks again in %s", ttl)
	}
	lost := e.Fork(t)
	meta, spec := crossplanetest.Field(of, "metadata"), crossplanetest.Field(of, "spec")
	spec.Fields["claimRef"] = crossplanetest.JSON(ref(front))
	meta.Fields["labels"] = crossplanetest.JSON(`{"crossplane.io/claim-namespace":"team","crossplane.io/claim-name":"a"}`)
	meta.Fields["generation"] = structpb.NewNumberValue(2)
	is("Written", false, v1alpha1.ReasonTakingSpare, false, "*")
	delete(meta.Fields, "ownerReferences")
	is("ItsOwn", false, v1alpha1.ReasonAvailable, false, "*")
	crossplanetest.Field(of, "status").Fields["argocd"] = crossplanetest.JSON(`{"url":"https://its-own"}`)
	for _, c := range crossplanetest.Field(of, "status").GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(2)
	}
	conditions := crossplanetest.Field(of, "status").GetFields()["conditions"].GetListValue()
	conditions.Values = append(conditions.Values, crossplanetest.JSON(`{"type":"IngressReady","status":"False","reason":"WaitingForHost"}`))
	is("WaitsForItsURL", false, v1alpha1.ReasonAvailable, false, "*")
	conditions.Values = conditions.Values[:len(conditions.Values)-1]
	is("Seen", true, v1alpha1.ReasonAvailable, false, "*")
	// Later changes of the spec are those of any tenant.
	meta.Fields["generation"] = structpb.NewNumberValue(3)
	is("Changed", true, v1alpha1.ReasonAvailable, false, "*")

	// Somebody else was faster.
	other := copyOf(of)
	crossplanetest.Field(other, "spec").Fields["claimRef"] = crossplanetest.JSON(`{"apiVersion":"` + front + `","kind":"VirtualArgoCD","namespace":"others","name":"a"}`)
	add(lost, other)
	second := lost.Fork(t)
	lost.Reconcile()
	if got := lost.Request.GetObserved().GetResources(); len(got) != 1 || nameIn(object(lost)) != own || !writes(object(lost)) {
		t.Errorf("it isn't installed: %v", got)
	}
	add(second, spareOf(second, "s-2"))
	second.Reconcile()
	if got := second.Request.GetObserved().GetResources(); len(got) != 1 || nameIn(wire.Of(second.Observed(tenant.FrontSparePrefix+"s-2"))) != "s-2" {
		t.Errorf("it doesn't take another one: %v", got)
	}
}

// copyOf is a copy of an object.
func copyOf(o *structpb.Struct) *structpb.Struct {
	data, err := o.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return resource.MustStructJSON(string(data))
}

func nameIn(o wire.Struct) string { return manifest(o).String("metadata", "name") }

// TestChoosesAgain: between two looks at the cluster, somebody else has taken the spare. Nothing is composed until the next call.
func TestChoosesAgain(t *testing.T) {
	e := newFront(t, `{"plan":"small"}`, "")
	e.AddPlan("small", `{}`)
	of := spareOf(e, "s-1")
	add(e, of)
	e.Call()
	taken := copyOf(of)
	crossplanetest.Field(taken, "spec").Fields["claimRef"] = crossplanetest.JSON(`{"apiVersion":"` + front + `","kind":"VirtualArgoCD","namespace":"others","name":"a"}`)
	e.Request.RequiredResources["tenant/s-1"].Items[0].Resource = taken
	rsp, err := e.Function.RunFunction(t.Context(), e.Request)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rsp.GetConditions() {
		if c.GetType() == v1alpha1.ConditionTenantBound && (c.GetReason() != v1alpha1.ReasonTakingSpare || !strings.Contains(c.GetMessage(), "another one is chosen")) {
			t.Errorf("it says %v", c)
		}
	}
	if len(rsp.GetDesired().GetResources()) != 0 || rsp.GetMeta().GetTtl().AsDuration() > crossplanetest.TTL/6 {
		t.Errorf("it composes %v, and looks again in %s", rsp.GetDesired().GetResources(), rsp.GetMeta().GetTtl().AsDuration())
	}
}

// TestFewCalls: Crossplane gives up on a function that asks for more in each of five calls.
func TestFewCalls(t *testing.T) {
	e := newFront(t, `{"writeConnectionSecretToRef":{"name":"s"}}`, "")
	e.AddPlan("small", `{}`, "default-plan=true")
	add(e, spareOf(e, "s-1"))
	for calls := 1; ; calls++ {
		if e.Asked != nil {
			e.SupplyRequired()
		}
		rsp, err := e.Function.RunFunction(t.Context(), e.Request)
		if err != nil || calls > 5 {
			t.Fatalf("after %d calls it still asks for more, or %v", calls, err)
		}
		if e.Asked != nil && len(rsp.GetRequirements().GetResources()) == len(e.Asked.GetResources()) {
			if rsp.GetDesired().GetResources()[tenant.FrontSparePrefix+"s-1"] == nil {
				t.Errorf("it takes no spare: %v", rsp.GetDesired().GetResources())
			}
			return
		}
		e.Asked, e.Request.Context = rsp.GetRequirements(), rsp.GetContext()
	}
}
