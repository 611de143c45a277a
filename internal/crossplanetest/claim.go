package crossplanetest

import (
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
)

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
