package decode

import (
	"errors"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// FuzzDecode: any request decodes or is refused with an error that names a
// field, and what is decoded is bounded.
func FuzzDecode(f *testing.F) {
	input := &structpb.Struct{Fields: map[string]*structpb.Value{"apiVersion": structpb.NewStringValue("input.virtualargocd.io/v1alpha1"), "kind": structpb.NewStringValue("Input")}}
	for _, spec := range []string{`{}`, `{"spec":{"argocd":{"values":{"a":[1,null,{"b":true}]}}}}`, `{"spec":[]}`, `{"spec":{"plan":"standard","argocd":{"value":1}}}`, `{"spec":{"vcluster":{"values":7}}}`, `{"spec":{"kubernetes":"v1.36.0"}}`} {
		xr := &structpb.Struct{}
		if err := xr.UnmarshalJSON([]byte(spec)); err != nil {
			f.Fatal(err)
		}
		xr.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue("a")}})
		misspelled := examplePlan()
		misspelled.Items[0].Resource.Fields["spec"].GetStructValue().Fields["argocd"].GetStructValue().Fields["has"] = structpb.NewBoolValue(true)
		for _, plans := range []*fnv1.Resources{examplePlan(), misspelled} {
			raw, err := proto.Marshal(&fnv1.RunFunctionRequest{
				Input: input, Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}}, RequiredResources: map[string]*fnv1.Resources{"plan/standard": plans, "default-plan": {}},
			})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req := &fnv1.RunFunctionRequest{}
		if proto.Unmarshal(raw, req) != nil {
			t.Skip("not a request")
		}
		r, err := Request(req, Observe(req))
		if err != nil {
			if draft := (&Draft{}); errors.As(err, &draft) {
				err = draft.Wrong
			}
			if msg := err.Error(); !strings.HasPrefix(msg, "spec") && !strings.HasPrefix(msg, "input") && !strings.HasPrefix(msg, "plan") && !errors.Is(err, ErrUnread) && !strings.HasPrefix(msg, "metadata.name") {
				t.Errorf("the error names no field: %v", err)
			}
			for _, mistake := range mistakes.Each(err) {
				if owner := mistakes.OwnerOf(mistake); !errors.Is(err, ErrUnread) && owner != ownerBy(mistake.Error()) {
					t.Errorf("owner %d of %v", owner, mistake)
				}
			}
			return
		}
		if r.Plan.Name == "" {
			t.Error("decoded a tenant with no plan")
		}
		if r.XRName == "" {
			t.Error("decoded an XR with no name")
		}
		for _, v := range []map[string]any{r.Spec.ArgoCDValues, r.Spec.VClusterValues} {
			if d := depth(v); d > wire.MaxValuesDepth {
				t.Errorf("values of depth %d were let in", d)
			}
		}
	})
}

// examplePlan is a plan as Crossplane hands it over.
func examplePlan() *fnv1.Resources {
	o := &structpb.Struct{}
	const text = `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDPlan","metadata":{"name":"standard"},
		"spec":{"argocd":{"ha":true,"server":{"replicas":2}},"quota":{"limits.cpu":4},"values":{"argocd":{"a":{"b":[1,null]}}}}}`
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return &fnv1.Resources{Items: []*fnv1.Resource{{Resource: o}}}
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, at := range v {
			deepest = max(deepest, 1+depth(at))
		}
	case []any:
		for _, at := range v {
			deepest = max(deepest, 1+depth(at))
		}
	}
	return deepest
}

func TestInput(t *testing.T) {
	cases := map[string]struct {
		input string
		want  string // part of the error, "" for none
	}{
		"None":             {`{}`, ""},
		"AllDefaults":      {`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"}`, ""},
		"WithMetadata":     {`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","metadata":{"name":"a"}}`, ""},
		"UnknownField":     {`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"verson":"1"}}}`, `charts.argocd.verson`},
		"NoKind":           {`{"storage":{}}`, "write input.virtualargocd.io/v1alpha1, kind Input"},
		"ValuesNotAObject": {`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":[]}`, "charts"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON([]byte(tc.input)); err != nil {
				t.Fatal(err)
			}
			_, err := Input(s)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want error with %q, got: %v", tc.want, err)
			}
		})
	}
}

// ownerBy returns whose mistake a message is about, by the field that it begins with.
func ownerBy(message string) mistakes.Owner {
	for prefix, owner := range map[string]mistakes.Owner{"input": mistakes.Input, "plan ": mistakes.Plan, "channel ": mistakes.Channel} {
		if strings.HasPrefix(message, prefix) {
			return owner
		}
	}
	return mistakes.Claim
}
