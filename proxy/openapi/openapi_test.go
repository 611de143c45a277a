package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// kinds are those that the tests keep.
var kinds = []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}}

// TestCheckList: a document of the list has a path below that of the list, and nowhere else.
func TestCheckList(t *testing.T) {
	list := func(path string) []byte { return []byte(`{"paths":{"api/v1":{"serverRelativeURL":"` + path + `"}}}`) }
	if err := CheckList(list("/openapi/v3/api/v1?hash=A")); err != nil {
		t.Error(err)
	}
	for _, elsewhere := range []string{"/api/v1/namespaces/a/pods?watch=true", "/openapi/v3/../../api", "/openapi/v3/%2e%2e/%2e%2e/api", "/openapi/v3", "/openapi/v3x/api", "%zz", ""} {
		if err := CheckList(list(elsewhere)); err == nil || !strings.Contains(err.Error(), strings.TrimSpace("has the path "+elsewhere)) {
			t.Errorf("%s: got %v", elsewhere, err)
		}
	}
}

// networking is the OpenAPI document of a version with one kind that provider-kubernetes needs, and one that it doesn't.
const networking = `{
	"openapi": "3.0.0",
	"info": {"title": "Kubernetes"},
	"Components": {"schemas": {"Other": {"x-kubernetes-group-version-kind": [{"group": "networking.k8s.io", "version": "v1", "kind": "Other"}]}}},
	"paths": {
		"/apis/networking.k8s.io/v1/ingresses": {"get": {"parameters": [{"name": "watch", "in": "query"}]}},
		"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}": {
			"parameters": [{"name": "name", "in": "path"}],
			"get": {"description": "read the specified Ingress"},
			"patch": {
				"description": "partially update the specified Ingress",
				"parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
				"x-kubernetes-group-version-kind": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}
			}
		}
	},
	"components": {
		"securitySchemes": {"BearerToken": {"type": "apiKey"}},
		"schemas": {
			"Ingress": {
				"properties": {"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/IngressSpec"}]}},
				"x-kubernetes-group-version-kind": [{"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}]
			},
			"IngressSpec": {"properties": {"$ref": {"type": "string"}, "rule": {"$ref": "#/components/schemas/Rule"}, "none": {"$ref": "#/components/schemas/None"}}},
			"Rule": {"maximum": 9223372036854775807, "properties": {"and": {"$ref": "#/components/schemas/Rule"}, "elsewhere": {"$ref": "https://example.org#/components/schemas/NetworkPolicy"}}},
			"NetworkPolicy": {
				"properties": {"spec": {"$ref": "#/components/schemas/NetworkPolicySpec"}},
				"x-kubernetes-group-version-kind": [{"group": "networking.k8s.io", "version": "v1", "kind": "NetworkPolicy"}]
			},
			"NetworkPolicySpec": {"type": "object"}
		}
	}
}`

const prunedNetworking = `{
	"openapi": "3.0.0",
	"paths": {
		"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}": {
			"patch": {
				"parameters": [{"name": "fieldValidation", "in": "query"}],
				"x-kubernetes-group-version-kind": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}
			}
		}
	},
	"components": {
		"schemas": {
			"Ingress": {
				"properties": {"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/IngressSpec"}]}},
				"x-kubernetes-group-version-kind": [{"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}]
			},
			"IngressSpec": {"properties": {"$ref": {"type": "string"}, "rule": {"$ref": "#/components/schemas/Rule"}, "none": {"$ref": "#/components/schemas/None"}}},
			"Rule": {"maximum": 9223372036854775807, "properties": {"and": {"$ref": "#/components/schemas/Rule"}, "elsewhere": {"$ref": "https://example.org#/components/schemas/NetworkPolicy"}}}
		}
	}
}`

// TestPruneDocument: a provider gets only what it uses of an OpenAPI document.
func TestPruneDocument(t *testing.T) {
	t.Parallel()
	got, err := Prune(limits.Default, []byte(networking), kinds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, prunedNetworking), decoded(t, string(got))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// decoded decodes JSON, with numbers as they are written.
func decoded(t *testing.T, text string) any {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var out any
	if err := in.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestHostileDocuments: of an OpenAPI document, a provider gets no more than of an object, because provider-kubernetes keeps it.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	schema := func(of string) string {
		return `{"components": {"schemas": {"a": {"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "ConfigMap"}], ` + of + `}}}}`
	}
	for name, tc := range map[string]struct{ document, want string }{
		"Values":   {schema(`"enum": [` + strings.Repeat("0,", limits.Default.Values) + `0]`), fmt.Sprintf("values that a provider needs, more than %d", limits.Default.Values)},
		"Referred": {strings.Replace(schema(`"$ref": "#/components/schemas/b"`), `"a":`, `"b": {"enum": [`+strings.Repeat("0,", limits.Default.Values)+`0]}, "a":`, 1), "values that a provider needs"},
		"Length":   {schema(`"pattern": "` + strings.Repeat("a", int(limits.Default.Response)) + `"`), fmt.Sprintf("more than %d bytes", limits.Default.Response)},
		"NoObject": {`[]`, "can't be read"},
		"NoJSON":   {`{"components": {"schemas": {"a": `, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Prune(limits.Default, []byte(tc.document), kinds); !limits.IsExceeded(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v, %.200s", tc.want, err, got)
			}
		})
	}
}
