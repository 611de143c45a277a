package crossplanetest

import (
	"encoding/base64"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// Observed is a composed resource, which must exist, by its name in the composition.
func (e *Engine) Observed(name string) *structpb.Struct {
	e.T.Helper()
	o, ok := e.Request.GetObserved().GetResources()[name]
	if !ok {
		e.T.Fatalf("composed resource %q doesn't exist", name)
	}
	return o.GetResource()
}

// Has reports whether a resource is composed.
func (e *Engine) Has(name string) bool {
	_, ok := e.Request.GetObserved().GetResources()[name]
	return ok
}

// SecretKey is what stands at a key of a composed Secret.
func (e *Engine) SecretKey(name, key string) []byte {
	e.T.Helper()
	raw, err := base64.StdEncoding.DecodeString(Field(e.Observed(name), "data").GetFields()[key].GetStringValue())
	if err != nil {
		e.T.Fatal(err)
	}
	return raw
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

// ArgoCDValue is a value in the Release of Argo CD; nil where there is none.
func (e *Engine) ArgoCDValue(path ...string) any {
	return Field(e.Observed(tenant.ArgoCDRelease), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

// NamespaceAnnotation is an annotation of the tenant's namespace, by which the admission policies know what the tenant may do.
func (e *Engine) NamespaceAnnotation(annotation string) string {
	return Field(e.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations").GetFields()[annotation].GetStringValue()
}
