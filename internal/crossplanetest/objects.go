package crossplanetest

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// SecretKey is what stands at a key of a composed Secret.
func (e *Engine) SecretKey(name, key string) []byte {
	e.T.Helper()
	raw, err := base64.StdEncoding.DecodeString(Field(e.Observed(name), "data").GetFields()[key].GetStringValue())
	if err != nil {
		e.T.Fatal(err)
	}
	return raw
}

// Key is kind/namespace/name of an object.
func Key(o *structpb.Struct) string {
	meta := Field(o, "metadata").GetFields()
	return o.GetFields()["kind"].GetStringValue() + "/" + meta["namespace"].GetStringValue() + "/" + meta["name"].GetStringValue()
}

// Base64 encodes a text as the data of Secrets is.
func Base64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// Must returns v. It panics for an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// SecretValues are the chart values in the composed Secret that come from Secrets of the claim: all but the password of redis.
func (e *Engine) SecretValues() map[string]any {
	e.T.Helper()
	values := ValuesOf(e.T, e.Observed(tenant.ValuesSecret))
	delete(values, "extraObjects")
	return values
}

// ValuesOf are the chart values in a composed Secret.
func ValuesOf(t testing.TB, secret *structpb.Struct) map[string]any {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(Field(secret, "data").GetFields()["values.yaml"].GetStringValue())
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{}
	if err := text.Own(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Field is the object at a path in another one; nil where there is none.
func Field(s *structpb.Struct, path ...string) *structpb.Struct {
	for _, key := range path {
		s = s.GetFields()[key].GetStructValue()
	}
	return s
}

// SetReady sets Crossplane's own condition, with the time at which it changed.
func SetReady(xr *structpb.Struct, ready bool, now time.Time) {
	status, at := "False", now.UTC().Format(time.RFC3339)
	if ready {
		status = "True"
	}
	if was := wire.Of(xr).Condition("Ready"); was.Status == status {
		at = was.LastTransitionTime
	}
	SetCondition(xr, "Ready", status, "", "")
	setTransition(xr, "Ready", at)
}

// setTransition sets when a condition changed last.
func setTransition(xr *structpb.Struct, typ, at string) {
	for _, c := range Field(xr, "status").GetFields()["conditions"].GetListValue().GetValues() {
		if s := c.GetStructValue(); s.GetFields()["type"].GetStringValue() == typ {
			s.Fields["lastTransitionTime"] = structpb.NewStringValue(at)
		}
	}
}

// JSON decodes JSON. What isn't JSON becomes a text.
func JSON(s string) *structpb.Value {
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		if pb, err := structpb.NewValue(v); err == nil {
			return pb
		}
	}
	return structpb.NewStringValue(s)
}

// ArgoCDValue is a value in the Release of Argo CD; nil where there is none.
func (e *Engine) ArgoCDValue(path ...string) any {
	return Field(e.Observed(tenant.ArgoCDRelease), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}
