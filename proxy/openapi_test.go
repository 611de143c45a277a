package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An API server calls its list of documents text.
func TestOpenAPIv3(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=A"}}}`)
	})
	paths, err := v.client.OpenAPIV3().Paths()
	if err != nil || paths["api/v1"] == nil {
		t.Errorf("got %v, %v", paths, err)
	}
	for _, elsewhere := range []string{"/api/v1/namespaces/a/pods?watch=true", "/openapi/v3/../../api", "/openapi/v3/%2e%2e/%2e%2e/api", "/openapi/v3", "/openapi/v3x/api", "%zz", ""} {
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			answerAs(w, mediaText, `{"paths":{"api/v1":{"serverRelativeURL":"`+elsewhere+`"}}}`)
		})
		if _, err := v.client.OpenAPIV3().Paths(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace("has the path "+elsewhere)) {
			t.Errorf("%s: got %v", elsewhere, err)
		}
	}
}

// Helm asks for version 2 only where version 3 can't be read.
func TestOpenAPIv2(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, config(nil)) })
	_, err := v.client.OpenAPISchema()
	if err == nil || !strings.Contains(err.Error(), "isn't asked for /openapi/v2") || v.asked.Load() != 0 {
		t.Errorf("the server was asked %d times: %v", v.asked.Load(), err)
	}
	if _, err := v.getConfig(); err != nil {
		t.Error(err)
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

const leanNetworking = `{
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

// TestLeanDocument: a provider gets only what it needs of an OpenAPI document.
func TestLeanDocument(t *testing.T) {
	t.Parallel()
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerAs(w, mediaJSON, networking) })
	status, got := v.send(t, http.MethodGet, "/openapi/v3/apis/networking.k8s.io/v1?hash=A")
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, got)
	}
	if diff := cmp.Diff(decoded(t, leanNetworking), decoded(t, got)); diff != "" {
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
		"Values":   {schema(`"enum": [` + strings.Repeat("0,", DefaultLimits.Values) + `0]`), fmt.Sprintf("values that a provider needs, more than %d", DefaultLimits.Values)},
		"Referred": {strings.Replace(schema(`"$ref": "#/components/schemas/b"`), `"a":`, `"b": {"enum": [`+strings.Repeat("0,", DefaultLimits.Values)+`0]}, "a":`, 1), "values that a provider needs"},
		"Length":   {schema(`"pattern": "` + strings.Repeat("a", int(DefaultLimits.Answer)) + `"`), fmt.Sprintf("more than %d bytes", DefaultLimits.Answer)},
		"NoObject": {`[]`, "can't be read"},
		"NoJSON":   {`{"components": {"schemas": {"a": `, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := serveWithin(t, DefaultLimits, func(w http.ResponseWriter, _ *http.Request) { answerAs(w, mediaJSON, tc.document) })
			if status, got := v.send(t, http.MethodGet, "/openapi/v3/api/v1"); status != http.StatusBadGateway || !strings.Contains(got, tc.want) {
				t.Errorf("want %q, got %d %.200s", tc.want, status, got)
			}
		})
	}
}
