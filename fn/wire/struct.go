// Package wire reads and writes the protobuf of Crossplane's requests: their objects in
// place, since turning each into a Go type first costs more than all the rest, and what
// people have written strictly into the API's Go types.
package wire

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Struct is read-only access to an object of the request. The zero Struct is
// an object with no fields, and reading what isn't there gives zero values.
type Struct struct{ s *structpb.Struct }

// Of returns read-only access to an object.
func Of(s *structpb.Struct) Struct { return Struct{s} }

// Exists reports whether there is an object.
func (o Struct) Exists() bool { return o.s != nil }

// Fields returns the object's fields.
func (o Struct) Fields() map[string]*structpb.Value { return o.s.GetFields() }

// Get returns the object at the path.
func (o Struct) Get(path ...string) Struct {
	s := o.s
	for _, key := range path {
		s = s.GetFields()[key].GetStructValue()
	}
	return Struct{s}
}

// Value returns the value at the path, nil when there is none.
func (o Struct) Value(path ...string) *structpb.Value {
	last := len(path) - 1
	return o.Get(path[:last]...).Fields()[path[last]]
}

// String returns the text at the path.
func (o Struct) String(path ...string) string { return o.Value(path...).GetStringValue() }

// Int returns the number at the path, or otherwise when there is none.
func (o Struct) Int(otherwise int64, path ...string) int64 {
	if n, ok := o.Value(path...).GetKind().(*structpb.Value_NumberValue); ok {
		return int64(n.NumberValue)
	}
	return otherwise
}

// Bool returns the boolean at the path.
func (o Struct) Bool(path ...string) bool { return o.Value(path...).GetBoolValue() }

// Into decodes the object into a pointer to one of Go's types, as from JSON.
func (o Struct) Into(v any) error {
	data, err := o.s.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Equal reports whether the object has these fields, and no others.
func (o Struct) Equal(s *structpb.Struct) bool { return proto.Equal(o.s, s) }

// Has reports whether there is a value at the path that isn't null.
func (o Struct) Has(path ...string) bool {
	v := o.Value(path...)
	_, null := v.GetKind().(*structpb.Value_NullValue)
	return v != nil && !null
}

// List returns the objects in the list at the path.
func (o Struct) List(path ...string) []Struct {
	values := o.Value(path...).GetListValue().GetValues()
	out := make([]Struct, 0, len(values))
	for _, v := range values {
		out = append(out, Struct{v.GetStructValue()})
	}
	return out
}

// Strings returns the texts in the list at the path.
func (o Struct) Strings(path ...string) []string {
	values := o.Value(path...).GetListValue().GetValues()
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, v.GetStringValue())
	}
	return out
}

// A Condition of an observed object.
type Condition struct {
	Status, Reason, Message string
	// ObservedGeneration of the object; 0 when the condition doesn't say.
	ObservedGeneration int64
}

// True reports whether the condition holds.
func (c Condition) True() bool { return c.Status == "True" }

// False reports whether the condition is known not to hold.
func (c Condition) False() bool { return c.Status == "False" }

// Condition returns the condition of the supplied type.
func (o Struct) Condition(typ string) Condition {
	for _, c := range o.Value("status", "conditions").GetListValue().GetValues() {
		if s := (Struct{c.GetStructValue()}); s.String("type") == typ {
			return Condition{Status: s.String("status"), Reason: s.String("reason"), Message: s.String("message"), ObservedGeneration: s.Int(0, "observedGeneration")}
		}
	}
	return Condition{}
}
