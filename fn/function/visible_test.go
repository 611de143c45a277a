package function_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// unseen are characters that a terminal obeys, and one that turns the direction of what follows, and of a line's end.
const unseen = "a\u202e\u009b31m\x1b[2Jb\nc\u2028d"

// onlyVisible: what people read of a tenant is on one line, and has no characters that they don't see.
func onlyVisible(t testing.TB, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	check := func(where, text string) {
		t.Helper()
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("%s has characters that nobody sees: %q", where, text)
		}
	}
	for _, c := range rsp.GetConditions() {
		check(c.GetType(), c.GetMessage())
	}
	for _, r := range rsp.GetResults() {
		check("the event "+r.GetReason(), r.GetMessage())
	}
	var walk func(where string, v *structpb.Value)
	walk = func(where string, v *structpb.Value) {
		check(where, v.GetStringValue())
		for i, below := range v.GetListValue().GetValues() {
			walk(fmt.Sprintf("%s[%d]", where, i), below)
		}
		for key, below := range v.GetStructValue().GetFields() {
			check(where, key)
			walk(where+"."+key, below)
		}
	}
	walk("status", rsp.GetDesired().GetComposite().GetResource().GetFields()["status"])
}

// soil writes characters that nobody sees into each text of a value, and into those of JSON in it.
func soil(v *structpb.Value) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if is := kind.StringValue; strings.HasPrefix(is, "{") || strings.HasPrefix(is, "[") {
			of := crossplanetest.JSON(is)
			soil(of)
			kind.StringValue = string(crossplanetest.Must(of.MarshalJSON()))
		} else if is != "True" && is != "False" {
			kind.StringValue += unseen
		}
	case *structpb.Value_ListValue:
		for _, below := range kind.ListValue.GetValues() {
			soil(below)
		}
	case *structpb.Value_StructValue:
		for key, below := range kind.StructValue.GetFields() {
			if key != "type" && key != "kind" && key != "apiVersion" && key != "metadata" {
				soil(below)
			}
		}
	}
}

// TestOnlyVisible: whatever a tenant has objects of its virtual cluster say, and has providers repeat, people read it as text. What stays the same
// is told once.
func TestOnlyVisible(t *testing.T) {
	t.Parallel()
	for name, e := range tenants(t) {
		for _, resource := range slices.Sorted(maps.Keys(e.Request.GetObserved().GetResources())) {
			soiled := map[string]func(o *structpb.Struct){
				"Status": func(o *structpb.Struct) { soil(o.GetFields()["status"]) },
				"Synced": func(o *structpb.Struct) { crossplanetest.SetCondition(o, "Synced", "False", "ReconcileError", unseen) },
				"Ready":  func(o *structpb.Struct) { crossplanetest.SetCondition(o, "Ready", "False", "Unavailable", unseen) },
			}
			for how, write := range soiled {
				t.Run(name+"/"+resource+"/"+how, func(t *testing.T) {
					req := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
					write(req.GetObserved().GetResources()[resource].GetResource())
					onlyVisible(t, answer(t, e, req))
				})
			}
		}
	}
	for name, spec := range map[string]string{
		"Plan": `{"plan":%q}`, "Channel": `{"channel":%q}`, "Field": `{%q:1}`, "Value": `{"argocd":{"values":{%q:{"a":1}}}}`, "Version": `{"argocd":{"chartVersion":%q}}`,
		"Host": `{"ingress":{"host":%q}}`, "Cluster": `{"clusters":[{"name":%q}]}`, "Secret": `{"clusters":[{"name":"a","secretRef":{"name":%q}}]}`, "Repository": `{"repositories":[{"url":%q}]}`,
		"Bootstrap": `{"bootstrap":{"repoURL":%q}}`, "Component": `{"components":[{"name":%q}]}`, "TimeZone": `{"maintenance":{"begin":"10:00","end":"12:00","timeZone":%q}}`, "Account": `{"argocd":{"accounts":[{"name":%q}]}}`,
		"Suspension": `{"suspension":{"reason":%q}}`,
	} {
		t.Run("Claim/"+name, func(t *testing.T) {
			text := strings.NewReplacer(`"`, "").Replace(string(crossplanetest.Must(structpb.NewStringValue(unseen).MarshalJSON())))
			e := crossplanetest.New(t, strings.ReplaceAll(spec, "%q", `"`+text+`"`), "")
			e.Reconcile()
			onlyVisible(t, e.Response)
			e = crossplanetest.New(t, `{}`, "").Install()
			e.SetSpec(strings.ReplaceAll(spec, "%q", `"`+text+`"`))
			e.Reconcile()
			onlyVisible(t, e.Response)
			before := len(e.Events)
			if e.Reconcile(); len(e.Events) > before {
				t.Errorf("what is no news is an event: %v", e.Events[before:])
			}
		})
	}
}
