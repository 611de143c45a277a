package decode

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// spec reads what the tenant asks for. The schema has checked a claim that came
// by way of the API server; the checks here hold for a schema under another API
// group, too. Fields that are no part of the API are left to their owners: the
// spec of an XR has fields of Crossplane's beside ours.
func spec(xr Struct) (plan.Spec, error) {
	r := reader{}
	root := r.object(xr, "spec")
	argocd := r.object(root, "spec.argocd", "argocd")
	kubernetes := r.object(root, "spec.kubernetes", "kubernetes")
	vcluster := r.object(root, "spec.vcluster", "vcluster")
	s := plan.Spec{
		ArgoCDChartVersion:   r.text(argocd, "spec.argocd.chartVersion", "chartVersion"),
		ArgoCDValues:         r.values(argocd, "spec.argocd.values"),
		KubernetesVersion:    r.text(kubernetes, "spec.kubernetes.version", "version"),
		VClusterChartVersion: r.text(vcluster, "spec.vcluster.chartVersion", "chartVersion"),
		VClusterValues:       r.values(vcluster, "spec.vcluster.values"),
	}
	return s, r.err
}

// A reader reads fields and remembers the first that has the wrong type.
type reader struct{ err error }

func (r *reader) fail(field, want string, got *structpb.Value) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s is not %s: write %s", field, show(got), want, want)
	}
}

// object reads the object at key of o; with no key, at field itself.
func (r *reader) object(o Struct, field string, key ...string) Struct {
	if len(key) == 0 {
		key = []string{field}
	}
	v := o.Value(key...)
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue, *structpb.Value_StructValue:
	default:
		r.fail(field, "an object", v)
	}
	return Struct{v.GetStructValue()}
}

func (r *reader) text(o Struct, field, key string) string {
	v := o.Value(key)
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue, *structpb.Value_StringValue:
	default:
		r.fail(field, "text", v)
	}
	return v.GetStringValue()
}

func (r *reader) values(o Struct, field string) plan.Values {
	s := r.object(o, field, "values").s
	if s == nil || r.err != nil {
		return nil
	}
	if r.err = bound(field, s); r.err != nil {
		return nil
	}
	v, err := goMap(s)
	if err != nil {
		r.err = fmt.Errorf("%s.%w", field, err)
	}
	return v
}

// goMap is Struct.AsMap, but refuses numbers that JSON can't carry.
func goMap(s *structpb.Struct) (map[string]any, error) {
	out := make(map[string]any, len(s.GetFields()))
	for key, v := range s.GetFields() {
		at, err := goValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = at
	}
	return out, nil
}

func goValue(v *structpb.Value) (any, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return goMap(k.StructValue)
	case *structpb.Value_ListValue:
		out := make([]any, 0, len(k.ListValue.GetValues()))
		for _, at := range k.ListValue.GetValues() {
			g, err := goValue(at)
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
		return out, nil
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			return nil, fmt.Errorf("%v is not a number of JSON: write a finite number", k.NumberValue)
		}
		return k.NumberValue, nil
	case *structpb.Value_StringValue:
		return k.StringValue, nil
	case *structpb.Value_BoolValue:
		return k.BoolValue, nil
	}
	return nil, nil
}

// show prints a short form of a value for an error.
func show(v *structpb.Value) string {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return fmt.Sprintf("%.60q", k.StringValue)
	case *structpb.Value_NumberValue:
		return fmt.Sprintf("%v", k.NumberValue)
	case *structpb.Value_BoolValue:
		return fmt.Sprintf("%v", k.BoolValue)
	case *structpb.Value_ListValue:
		return "a list"
	case *structpb.Value_StructValue:
		return "an object"
	}
	return "null"
}
