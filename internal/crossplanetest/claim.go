package crossplanetest

import (
	"encoding/base64"
	"os"
	"strings"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// AddPlan adds a plan with a spec, or replaces it; labels are key=value, without the API group.
func (e *Engine) AddPlan(name, spec string, labels ...string) {
	e.T.Helper()
	o := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XArgoCDPlan","metadata":{"name":"` + name + `","labels":{}}}`)
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		Field(o, "metadata", "labels").Fields["virtualargocd.io/"+key] = structpb.NewStringValue(value)
	}
	o.Fields["spec"] = JSON(spec)
	e.Cluster["XArgoCDPlan//"+name] = o
}

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

// SetSpec replaces the claim's spec. The tenant keeps its reference to the claim.
func (e *Engine) SetSpec(spec string) {
	e.T.Helper()
	claim := Field(e.XR(), "spec").GetFields()["claimRef"]
	e.XR().Fields["spec"] = resource.MustStructJSON(TenantXR(spec)).GetFields()["spec"]
	if now := Field(e.XR(), "spec"); claim != nil && now != nil {
		now.Fields["claimRef"] = claim
	}
}

// SetClaimNamespace makes the tenant that of a claim in another namespace; "" for no claim.
func (e *Engine) SetClaimNamespace(namespace string) {
	e.T.Helper()
	spec := Field(e.XR(), "spec")
	if namespace == "" {
		delete(spec.GetFields(), "claimRef")
		return
	}
	Field(spec, "claimRef").Fields["namespace"] = structpb.NewStringValue(namespace)
}

// RotatePassword sets the annotation of the claim that asks for a new password of user admin; "" removes it.
func (e *Engine) RotatePassword(value string) {
	annotations := map[string]any{}
	if value != "" {
		annotations[localaccount.RotatePassword] = value
	}
	s, err := structpb.NewStruct(annotations)
	if err != nil {
		e.T.Fatal(err)
	}
	Field(e.XR(), "metadata").Fields["annotations"] = structpb.NewStructValue(s)
}

// AddPlanFile adds the plan in a file.
func (e *Engine) AddPlanFile(file string) {
	e.T.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		e.T.Fatal(err)
	}
	plan := map[string]any{}
	if err := text.Own(raw, &plan); err != nil {
		e.T.Fatal(err)
	}
	o, err := structpb.NewStruct(plan)
	if err != nil {
		e.T.Fatal(err)
	}
	e.Cluster[Key(o)] = o
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
