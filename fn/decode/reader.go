package decode

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

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

// flag reads a switch.
func (r *reader) flag(o Struct, field, key string) bool {
	v := o.Value(key)
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue, *structpb.Value_BoolValue:
	default:
		r.fail(field, "true or false", v)
	}
	return v.GetBoolValue()
}

// optionalFlag reads a switch; nil when it isn't set.
func (r *reader) optionalFlag(o Struct, field, key string) *bool {
	on := r.flag(o, field, key)
	if !o.Has(key) {
		return nil
	}
	return &on
}

// list reads the list at key of o.
func (r *reader) list(o Struct, field, key string, most int) []*structpb.Value {
	v := o.Value(key)
	switch v.GetKind().(type) {
	case nil, *structpb.Value_NullValue, *structpb.Value_ListValue:
	default:
		r.fail(field, "a list", v)
	}
	items := v.GetListValue().GetValues()
	if len(items) > most && r.err == nil {
		r.err = fmt.Errorf("%s: has %d entries: write %d at most", field, len(items), most)
	}
	return items
}

// objects reads the list of objects at key of o, one by one with the path of each.
func (r *reader) objects(o Struct, field, key string, most int, each func(item Struct, field string)) {
	for i, v := range r.list(o, field, key, most) {
		at := fmt.Sprintf("%s[%d]", field, i)
		if _, ok := v.GetKind().(*structpb.Value_StructValue); !ok {
			r.fail(at, "an object", v)
		}
		if r.err != nil {
			return
		}
		each(Struct{v.GetStructValue()}, at)
	}
}

// texts reads the list of texts at key of o.
func (r *reader) texts(o Struct, field, key string, most int) []string {
	var out []string
	for _, v := range r.list(o, field, key, most) {
		if _, ok := v.GetKind().(*structpb.Value_StringValue); !ok {
			r.fail(field, "a list of texts", v)
		}
		out = append(out, v.GetStringValue())
	}
	return out
}

// textMap reads the map of texts at key of o.
func textMap[V ~string](r *reader, o Struct, field, key string) map[string]V {
	s := r.object(o, field, key).s
	if len(s.GetFields()) == 0 || r.err != nil {
		return nil
	}
	if r.err = bound(field, s); r.err != nil {
		return nil
	}
	out := make(map[string]V, len(s.GetFields()))
	for at, v := range s.GetFields() {
		if _, ok := v.GetKind().(*structpb.Value_StringValue); !ok {
			r.fail(field+"."+at, "text", v)
		}
		out[at] = V(v.GetStringValue())
	}
	return out
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
