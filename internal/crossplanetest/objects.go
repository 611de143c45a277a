package crossplanetest

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Field is the object at a path in another one; nil where there is none.
func Field(s *structpb.Struct, path ...string) *structpb.Struct {
	for _, key := range path {
		s = s.GetFields()[key].GetStructValue()
	}
	return s
}

// Key is kind/namespace/name of an object.
func Key(o *structpb.Struct) string {
	meta := Field(o, "metadata").GetFields()
	return o.GetFields()["kind"].GetStringValue() + "/" + meta["namespace"].GetStringValue() + "/" + meta["name"].GetStringValue()
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

// Base64 encodes a text as the data of Secrets is.
func Base64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// Must returns v. It panics for an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// SetCondition sets a condition of an object. An empty status is False.
func SetCondition(s *structpb.Struct, typ, status, reason, message string) {
	if status == "" {
		status = "False"
	}
	if s.Fields["status"].GetStructValue() == nil {
		s.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	st := s.Fields["status"].GetStructValue()
	kept := []*structpb.Value{}
	for _, c := range st.GetFields()["conditions"].GetListValue().GetValues() {
		if c.GetStructValue().GetFields()["type"].GetStringValue() != typ {
			kept = append(kept, c)
		}
	}
	c, _ := structpb.NewStruct(map[string]any{"type": typ, "status": status, "reason": reason, "message": message})
	st.Fields["conditions"] = structpb.NewListValue(&structpb.ListValue{Values: append(kept, structpb.NewStructValue(c))})
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

// cloneObjects returns objects that nobody else changes.
func cloneObjects(objects map[string]*structpb.Struct) map[string]*structpb.Struct {
	out := map[string]*structpb.Struct{}
	for key, o := range objects {
		out[key] = proto.Clone(o).(*structpb.Struct)
	}
	return out
}
