package serve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/serve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// deepest is nearly as deep as the JSON of an object is that Kubernetes takes, which has 10,000 levels.
const deepest = 9_980

func maps(n int) *structpb.Value {
	v := structpb.NewNumberValue(1)
	for range n {
		v = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": v}})
	}
	return v
}

func lists(n int) *structpb.Value {
	v := structpb.NewListValue(&structpb.ListValue{})
	for range n {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}

// deepen puts a value into the values of a spec.
func deepen(object *structpb.Struct, v *structpb.Value) {
	crossplanetest.Field(object, "spec").Fields["argocd"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"values": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": v}}),
	}})
}

// rawCodec leaves messages as the bytes that they are.
type rawCodec struct{ as }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*(v.(*[]byte)) = append([]byte(nil), data...)
	return nil
}

// over calls the function as Crossplane does: in bytes, with the limits that Crossplane has for the answer.
func over(t *testing.T, conn *grpc.ClientConn, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	var answer []byte
	if err := conn.Invoke(t.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, crossplanetest.Must(proto.Marshal(req)), &answer); err != nil {
		t.Fatalf("the request isn't answered: %v", err)
	}
	rsp := &fnv1.RunFunctionResponse{}
	if err := proto.Unmarshal(answer, rsp); err != nil {
		t.Fatalf("Crossplane can't decode the answer: %v", err)
	}
	return rsp
}

func ours(t *testing.T) *grpc.ClientConn {
	t.Helper()
	_, conn := served(t, function.New(logging.NewNopLogger(), func() time.Time { return crossplanetest.Start }), logging.NewNopLogger(), serve.Memory(16<<20), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	return conn
}

var depths = map[string]*structpb.Value{
	"Maps": maps(3_400), "MapsJustUnderTheUsual": maps(3_328), "Lists": lists(5_200), "DeepestMaps": maps(deepest), "DeepestLists": lists(deepest),
}

// TestDeepClaim: whatever depth the values of a claim have, they are refused with the usual message, and the tenant stays as it was accepted. What
// the platform does goes on: it suspends the tenant.
func TestDeepClaim(t *testing.T) {
	conn := ours(t)
	for name, v := range depths {
		t.Run(name, func(t *testing.T) {
			const tooDeep = "spec.argocd.values: values are nested deeper than 32 levels: write flatter values"
			e := crossplanetest.New(t, `{}`, "")
			deepen(e.XR(), v)
			if said := crossplanetest.Fatal(over(t, conn, e.Request)); !strings.Contains(said, tooDeep) {
				t.Errorf("new: %q", said)
			}
			e = crossplanetest.New(t, `{}`, "").Install()
			had := len(e.Response.GetDesired().GetResources())
			deepen(e.XR(), v)
			for _, reason := range []string{"", "abuse"} {
				if reason != "" {
					crossplanetest.Field(e.XR(), "spec").Fields["suspension"] = structpb.NewStructValue(resource.MustStructJSON(`{"reason":"` + reason + `"}`))
				}
				rsp := over(t, conn, e.Request)
				accepted := (&crossplanetest.Engine{T: t, Response: rsp}).Condition(v1alpha1.ConditionSpecAccepted)
				if crossplanetest.Fatal(rsp) != "" || len(rsp.GetDesired().GetResources()) < had || accepted.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || !strings.Contains(accepted.GetMessage(), tooDeep) {
					t.Errorf("suspended for %q: fatal %q, %d resources of %d, %v", reason, crossplanetest.Fatal(rsp), len(rsp.GetDesired().GetResources()), had, accepted)
				}
				status := wire.Of(rsp.GetDesired().GetComposite().GetResource()).Get("status")
				if suspended := strings.Contains(status.String("message"), "suspended"); suspended != (reason != "") {
					t.Errorf("suspended for %q: %q", reason, status.String("message"))
				}
			}
		})
	}
}

// TestDeepFront: nor do the values of a namespaced VirtualArgoCD keep it from what is decided about it, or the tenant behind it, which refuses
// them with the usual message.
func TestDeepFront(t *testing.T) {
	conn := ours(t)
	for name, v := range depths {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.NewXR(t, `{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a","uid":"u"},"spec":{"suspension":{"reason":"abuse"}}}`, "")
			e.Reconcile()
			deepen(e.XR(), v)
			o := wire.Of(over(t, conn, e.Request).GetDesired().GetResources()[tenant.FrontTenant].GetResource())
			spec := o.Get("spec", "forProvider", "manifest", "spec")
			if spec.String("suspension", "reason") != "abuse" {
				t.Fatalf("the suspension doesn't arrive: %v", o)
			}
			xr := crossplanetest.New(t, `{}`, "")
			crossplanetest.Field(xr.XR(), "spec").Fields["argocd"] = spec.Value("argocd")
			if said := crossplanetest.Fatal(over(t, conn, xr.Request)); !strings.Contains(said, "spec.argocd.values: values are nested deeper than 32 levels") {
				t.Errorf("the tenant: %q", said)
			}
		})
	}
}

// TestDeepSpare: a composite resource that calls itself a spare keeps nobody from getting a tenant, whatever is in it.
func TestDeepSpare(t *testing.T) {
	conn := ours(t)
	for name, v := range depths {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.NewXR(t, `{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a","uid":"u"},"spec":{}}`, "")
			other := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"b-1","labels":{"` + v1alpha1.LabelSpare + `":"true"}},"spec":{}}`)
			deepen(other, v)
			e.Cluster[crossplanetest.Key(other)] = other
			e.Reconcile()
			rsp := over(t, conn, e.Request)
			if o := rsp.GetDesired().GetResources()[tenant.FrontTenant]; o == nil {
				t.Errorf("it gets no tenant: %v", rsp)
			}
		})
	}
}

// TestStackOfTheDeepest: what a goroutine's stack takes for a request is reckoned with.
func TestStackOfTheDeepest(t *testing.T) {
	f := function.New(logging.NewNopLogger(), func() time.Time { return crossplanetest.Start })
	for name, v := range depths {
		for kind, e := range map[string]*crossplanetest.Engine{
			"Claim": crossplanetest.New(t, `{}`, "").Install(),
			"Front": crossplanetest.NewXR(t, `{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a","uid":"u"},"spec":{}}`, ""),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				e.Reconcile()
				deepen(e.XR(), v)
				serve.CheckStack(t, crossplanetest.Must(proto.Marshal(e.Request)), func(req *fnv1.RunFunctionRequest) {
					if _, err := f.RunFunction(t.Context(), req); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
