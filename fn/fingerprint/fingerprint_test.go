package fingerprint

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

func TestOf(t *testing.T) {
	offer := func(version, values string) v1alpha1.ChannelOffer {
		o := v1alpha1.ChannelOffer{ArgoCD: v1alpha1.ChannelChart{ChartVersion: version}}
		if values != "" {
			o.ArgoCD.Values = &runtime.RawExtension{Raw: []byte(values)}
		}
		return o
	}
	base := offer("10.1.1", `{"server":{"replicas":2,"env":[]}}`)
	for name, tc := range map[string]struct {
		reason string
		offer  v1alpha1.ChannelOffer
		same   bool
	}{
		"Same":         {"The same offer has the same digest.", base, true},
		"OtherOrder":   {"The order of keys and white space don't count.", offer("10.1.1", `{ "server": {"env": [], "replicas": 2.0} }`), true},
		"OtherVersion": {"A version does.", offer("10.1.2", `{"server":{"replicas":2,"env":[]}}`), false},
		"OtherValue":   {"A value does.", offer("10.1.1", `{"server":{"replicas":3,"env":[]}}`), false},
		"Emptied":      {"An empty value may say something to a chart.", offer("10.1.1", `{"server":{"replicas":2,"env":[]},"redis":{}}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := Of(tc.offer), Of(base)
			if (got == want) != tc.same || len(got) != length {
				t.Errorf("%s\ngot %s, and %s of the first", tc.reason, got, want)
			}
		})
	}
	if none, empty := Of(v1alpha1.ChannelOffer{}), Of(offer("", "{}")); empty != none {
		t.Errorf("empty values have the digest %s, and none %s", empty, none)
	}
	if got := Of(offer("", "{")); got != "" {
		t.Errorf("values that aren't JSON have the digest %s", got)
	}
}

// TestUnsetFields: a field that nobody has set is in no fingerprint, wherever it is, so a release with a new field begins no
// rollout.
func TestUnsetFields(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"input": reflect.TypeFor[inputv1alpha1.Input](), "plan": reflect.TypeFor[v1alpha1.PlanSpec](), "offer": reflect.TypeFor[v1alpha1.ChannelOffer](),
	} {
		if got, want := Of(reflect.Zero(typ).Interface()), Of(struct{}{}); got != want {
			t.Errorf("%s: without a field it has the fingerprint %s, want %s", name, got, want)
		}
		unset(t, name, typ, false, false)
	}
}

// unset checks our structs in a type: with no field set, none is in the fingerprint. What is optional may have fields that
// are required with it. In a list empty objects count.
func unset(t *testing.T, at string, typ reflect.Type, optional, listed bool) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer:
		unset(t, at, typ.Elem(), true, listed)
		return
	case reflect.Slice, reflect.Map:
		unset(t, at+"[]", typ.Elem(), true, true)
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.Contains(typ.PkgPath(), "virtual-argocd") {
		return
	}
	raw, err := json.Marshal(reflect.Zero(typ).Interface())
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	if !listed {
		withoutEmpty(fields)
	}
	for name, of := range fields {
		if _, object := of.(map[string]any); object || !optional {
			t.Errorf("%s.%s is in the fingerprint though nobody has set it: %s", at, name, raw)
		}
	}
	for f := range typ.Fields() {
		unset(t, at+"."+f.Name, f.Type, optional, listed)
	}
}
