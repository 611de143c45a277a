package wire

import (
	"encoding/base64"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

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

// TooLarge reports whether a Secret holds more than credentials would. What reads
// them takes many times their size.
func TooLarge(o Struct) bool {
	size := 0
	for key, v := range o.Get("data").Fields() {
		size += len(key) + base64.StdEncoding.DecodedLen(len(v.GetStringValue()))
	}
	return size > MaxSecretSize
}

// SecretData is what stands in a Secret, decoded. What isn't base64 can't come
// from an API server, and reads as absent.
func SecretData(o Struct) map[string]string {
	fields := o.Get("data").Fields()
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

// MaxSecretSize bounds a Secret of credentials, in bytes.
const MaxSecretSize = 256 << 10
