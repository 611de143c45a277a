package crossplanetest

import (
	"encoding/base64"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// AddSecret adds a Secret to Namespace that claims may use, or replaces it.
func (e *Engine) AddSecret(name, typ string, data map[string]string) {
	e.T.Helper()
	encoded := map[string]any{}
	for key, v := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	s, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": typ,
		"metadata": map[string]any{"namespace": Namespace, "name": name, "labels": map[string]any{tenant.LabelCredentials: "true", tenant.LabelSecretName: name}}, "data": encoded,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Cluster["Secret/"+Namespace+"/"+name] = s
}

// LabelSecret sets the label of a Secret in Namespace that lets claims use it, and removes the one that says its name. A nil value removes
// both.
func (e *Engine) LabelSecret(name string, value any) {
	e.T.Helper()
	labels, err := structpb.NewStruct(map[string]any{"app": "x", tenant.LabelCredentials: value})
	if err != nil {
		e.T.Fatal(err)
	}
	if value == nil {
		delete(labels.Fields, tenant.LabelCredentials)
	}
	Field(e.Cluster["Secret/"+Namespace+"/"+name], "metadata").Fields["labels"] = structpb.NewStructValue(labels)
}

// AnnotateSecret adds labels and annotations to a Secret in Namespace.
func (e *Engine) AnnotateSecret(name string, labels, annotations map[string]string) {
	e.T.Helper()
	meta := Field(e.Cluster["Secret/"+Namespace+"/"+name], "metadata")
	for key, add := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		if meta.Fields[key] == nil {
			meta.Fields[key] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		for k, v := range add {
			meta.Fields[key].GetStructValue().Fields[k] = structpb.NewStringValue(v)
		}
	}
}
