// Package wire reads the protobuf messages of Crossplane's requests. It reads their objects in
// place, because converting each to a Go type takes longer than the rest of a call, and
// decodes what people have written strictly.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Struct is read-only access to an object of the request. Reading a field that it doesn't
// have, or that has another type, returns the zero value.
type Struct struct{ s *structpb.Struct }

// Of returns read-only access to an object.
func Of(s *structpb.Struct) Struct { return Struct{s} }

// Exists reports whether there is an object.
func (o Struct) Exists() bool { return o.s != nil }

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
	return o.Get(path[:last]...).s.GetFields()[path[last]]
}

// String returns the string at the path.
func (o Struct) String(path ...string) string { return o.Value(path...).GetStringValue() }

// Int returns the number at the path, or otherwise when there is none.
func (o Struct) Int(otherwise int64, path ...string) int64 {
	if n, ok := o.Value(path...).GetKind().(*structpb.Value_NumberValue); ok {
		return int64(n.NumberValue)
	}
	return otherwise
}

// Bool returns the Boolean at the path.
func (o Struct) Bool(path ...string) bool { return o.Value(path...).GetBoolValue() }

// Into decodes the object from JSON into a pointer.
func (o Struct) Into(v any) error {
	data, err := o.s.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// JSON returns the object as JSON.
func (o Struct) JSON() ([]byte, error) { return o.s.MarshalJSON() }

// Equal reports whether a value of a request equals one of Go: a map, list, text, number, bool or nil, as in chart values.
func Equal(is *structpb.Value, want any) bool {
	if object, ok := want.(map[string]any); ok {
		return is.GetStructValue() != nil && maps.EqualFunc(is.GetStructValue().GetFields(), object, Equal)
	}
	v, err := structpb.NewValue(want)
	return err == nil && proto.Equal(is, v)
}

// Has reports whether there is a value at the path that isn't null.
func (o Struct) Has(path ...string) bool { return o.Value(path...).AsInterface() != nil }

// Texts returns the texts in the map at a path.
func (o Struct) Texts(path ...string) map[string]string {
	out := map[string]string{}
	for key, v := range o.Get(path...).s.GetFields() {
		if _, ok := v.GetKind().(*structpb.Value_StringValue); ok {
			out[key] = v.GetStringValue()
		}
	}
	return out
}

// List returns the objects in the list at the path.
func (o Struct) List(path ...string) []Struct {
	var out []Struct
	for _, v := range o.Value(path...).GetListValue().GetValues() {
		out = append(out, Struct{v.GetStructValue()})
	}
	return out
}

// Strings returns the strings in the list at the path.
func (o Struct) Strings(path ...string) []string {
	var out []string
	for _, v := range o.Value(path...).GetListValue().GetValues() {
		out = append(out, v.GetStringValue())
	}
	return out
}

// A Condition of an observed object; the zero Condition where it has none of that type.
type Condition struct {
	Status, Reason, Message string
	// LastTransitionTime is when the status changed last, as the object has it.
	LastTransitionTime string
	// ObservedGeneration of the object; 0 for unknown.
	ObservedGeneration int64
}

// True reports whether the condition is true.
func (c Condition) True() bool { return c.Status == "True" }

// Unknown reports whether the condition exists, and is neither true nor false: Crossplane makes all conditions Unknown that a function
// sets when its call, or the application of its result, fails.
func (c Condition) Unknown() bool { return c.Status == "Unknown" }

// False reports whether the condition is known to be false.
func (c Condition) False() bool { return c.Status == "False" }

// Condition returns the condition of the supplied type.
func (o Struct) Condition(typ string) Condition {
	for _, c := range o.List("status", "conditions") {
		if c.String("type") == typ {
			return Condition{
				Status: c.String("status"), Reason: c.String("reason"), Message: c.String("message"),
				LastTransitionTime: c.String("lastTransitionTime"), ObservedGeneration: c.Int(0, "observedGeneration"),
			}
		}
	}
	return Condition{}
}

// Created returns when an object was created; the zero time where nobody knows.
func (o Struct) Created() time.Time {
	at, err := time.Parse(time.RFC3339, o.String("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Deleting reports whether an object is being deleted.
func (o Struct) Deleting() bool { return o.String("metadata", "deletionTimestamp") != "" }

// Throttled reports whether Crossplane's circuit breaker drops events of a composite resource, because there are too many: the last change may be
// among them.
func (o Struct) Throttled() bool { return o.Condition("Responsive").False() }

// Composed is an observed composed resource.
type Composed struct {
	Struct
	// Connection are its connection details, which are secret.
	Connection map[string][]byte
}

// Current reports whether the provider has seen the newest spec, so that the conditions are
// about it. A provider that doesn't report a generation is taken to have seen it.
func (c Composed) Current() bool {
	seen := c.Condition("Synced").ObservedGeneration
	return seen == 0 || seen >= c.Int(0, "metadata", "generation")
}

// Healthy reports whether a resource is synced and ready with its newest spec.
func (c Composed) Healthy() bool {
	return c.Condition("Ready").True() && !c.Condition("Synced").False() && c.Current()
}

// Required returns the objects of a kind that Crossplane has found for a requirement, and
// whether it has looked for them.
func Required(req *fnv1.RunFunctionRequest, requirement, apiVersion, kind string) ([]Struct, bool) {
	resources, read := req.GetRequiredResources()[requirement]
	var out []Struct
	for _, r := range resources.GetItems() {
		// A Composition can pass resources of any kind under the name of a requirement.
		if s := (Struct{r.GetResource()}); s.String("apiVersion") == apiVersion && s.String("kind") == kind {
			out = append(out, s)
		}
	}
	return out, read
}

// Named returns the first object with a name; none if no object has it.
func Named(all []Struct, name string) Struct {
	for _, o := range all {
		if o.String("metadata", "name") == name {
			return o
		}
	}
	return Struct{}
}

// RequiredObject returns the object of API version v1 with a kind, namespace and name that
// Crossplane has found for a requirement, and whether it has looked for it.
func RequiredObject(req *fnv1.RunFunctionRequest, requirement, kind, namespace, name string) (Struct, bool) {
	found, read := Required(req, requirement, "v1", kind)
	for _, o := range found {
		if namespace != "" && o.String("metadata", "namespace") == namespace && o.String("metadata", "name") == name {
			return o, read
		}
	}
	return Struct{}, read
}

// MaxSecretSize bounds a Secret of credentials, in bytes.
const MaxSecretSize = 256 << 10

// TooLarge reports whether a Secret is larger than MaxSecretSize. Parsing credentials takes
// many times their size.
func TooLarge(o Struct) bool {
	size := 0
	for key, v := range o.Get("data").s.GetFields() {
		size += len(key) + base64.StdEncoding.DecodedLen(len(v.GetStringValue()))
	}
	return size > MaxSecretSize
}

// SecretData returns the decoded data of a Secret. It skips what isn't base64, which no API
// server returns.
func SecretData(o Struct) map[string]string {
	out := map[string]string{}
	for key := range o.Get("data").s.GetFields() {
		if raw := o.SecretValue(key); raw != nil {
			out[key] = string(raw)
		}
	}
	return out
}

// SecretValue returns the decoded value at a key of a Secret: empty where there is none, nil
// for what isn't base64.
func (o Struct) SecretValue(key string) []byte {
	raw, err := base64.StdEncoding.DecodeString(o.String("data", key))
	if err != nil {
		return nil
	}
	return raw
}
