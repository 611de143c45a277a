// Package wire reads and writes the protobuf of Crossplane's requests: their objects in
// place, since turning each into a Go type first costs more than all the rest, and what
// people have written strictly into the API's Go types.
package wire

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
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

// JSON returns the object as JSON.
func (o Struct) JSON() ([]byte, error) { return o.s.MarshalJSON() }

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
	// LastTransitionTime is when the status changed last, as the object has it.
	LastTransitionTime string
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
			return Condition{
				Status: s.String("status"), Reason: s.String("reason"), Message: s.String("message"),
				LastTransitionTime: s.String("lastTransitionTime"), ObservedGeneration: s.Int(0, "observedGeneration"),
			}
		}
	}
	return Condition{}
}

// Composed is an observed composed resource.
type Composed struct {
	Struct
	// Connection are its connection details: never to leave but as such.
	Connection map[string][]byte
}

// Deployed reports whether Helm's last change of a Release has succeeded.
func (c Composed) Deployed() bool { return c.String("status", "atProvider", "state") == "deployed" }

// Installed returns the version of a Release's chart that Helm has installed: the one in
// its spec, once Helm's record says the same, and otherwise the one from before. The
// record alone proves nothing: it is within the tenant's reach.
func (c Composed) Installed(before string) string {
	if v := c.String("spec", "forProvider", "chart", "version"); c.Deployed() && c.String("status", "atProvider", "version") == v && v != "" {
		return v
	}
	return before
}

// Current reports whether the provider has seen the newest spec: while it rolls
// out a change, the conditions are about what was before. Providers that don't
// say which generation they saw are believed.
func (c Composed) Current() bool {
	seen := c.Condition("Synced").ObservedGeneration
	return seen == 0 || seen >= c.Int(0, "metadata", "generation")
}

// TakenBack reports whether a Release stays as it was before a change that failed: its
// provider may make it, and may not change it.
func (c Composed) TakenBack() bool {
	policies := c.Strings("spec", "managementPolicies")
	return slices.Contains(policies, "Create") && !slices.Contains(policies, "Update")
}

// Healthy reports whether a provider reports a resource synced and ready, as it
// is wanted now.
func (c Composed) Healthy() bool {
	synced := c.Condition("Synced")
	// After an upgrade provider-helm leaves Ready as it was found before, False, until it
	// looks again: ten minutes later.
	upgraded := synced.True() && c.Deployed()
	return (upgraded || c.Condition("Ready").True()) && !synced.False() && c.Current()
}

// Required returns the objects of a kind that Crossplane has found for a
// requirement, and whether it has looked.
func Required(req *fnv1.RunFunctionRequest, requirement, apiVersion, kind string) ([]Struct, bool) {
	resources, read := req.GetRequiredResources()[requirement]
	var out []Struct
	for _, r := range resources.GetItems() {
		// A Composition may hand over resources under any name it likes.
		if s := (Struct{r.GetResource()}); s.String("apiVersion") == apiVersion && s.String("kind") == kind {
			out = append(out, s)
		}
	}
	return out, read
}

// RequiredObject returns the object of API version v1 with that kind, namespace and name
// that Crossplane has found for a requirement, and whether it has looked.
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

// TooLarge reports whether a Secret holds more than credentials would. What reads
// them takes many times their size.
func TooLarge(o Struct) bool {
	size := 0
	for key, v := range o.Get("data").s.GetFields() {
		size += len(key) + base64.StdEncoding.DecodedLen(len(v.GetStringValue()))
	}
	return size > MaxSecretSize
}

// SecretData is what stands in a Secret, decoded. What isn't base64 can't come
// from an API server, and reads as absent.
func SecretData(o Struct) map[string]string {
	fields := o.Get("data").s.GetFields()
	out := make(map[string]string, len(fields))
	for key := range fields {
		if raw := o.SecretValue(key); raw != nil {
			out[key] = string(raw)
		}
	}
	return out
}

// SecretValue returns the decoded value at a key of a Secret: empty where there is
// none, nil for what isn't base64.
func (o Struct) SecretValue(key string) []byte {
	raw, err := base64.StdEncoding.DecodeString(o.String("data", key))
	if err != nil {
		return nil
	}
	return raw
}
