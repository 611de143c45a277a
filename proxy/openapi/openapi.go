// Package openapi reduces the OpenAPI documents of a virtual API server to what the providers use.
//
// provider-kubernetes 1.2.1 keeps a parser of the whole document for each ProviderConfig and group version that it has met
// (pkg/kube/client/ssa/cache/extractor), once for each virtual cluster. It uses the schemas of the kinds of its Objects alone: all schemas of
// argoproj.io take six times as much memory as that of Applications. Upstream, a parser of the schemas that are used, or one that clusters
// with the same ETag share, would replace Prune.
package openapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// Paths of OpenAPI documents. Those of version 3 are JSON; that of version 2 is protobuf, which takes a hundred times as much memory once it
// is decoded.
const (
	PathV2 = "/openapi/v2"
	// PathV3 is that of the list of documents.
	PathV3 = "/openapi/v3"
)

// IsPath reports whether a path is that of an OpenAPI document, or of the list of them.
func IsPath(path string) bool { return strings.HasPrefix(path, "/openapi/") }

// IsDocument reports whether a path is that of the OpenAPI document of one group and version.
func IsDocument(path string) bool { return IsPath(path) && path != PathV3 }

// CheckList refuses a list of OpenAPI documents in which one has another path than below PathV3, because a provider would request that. It
// decodes the list as client-go does.
func CheckList(response []byte) error {
	list := struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}{}
	if json.Unmarshal(response, &list) != nil {
		return limits.Exceeded("its list of OpenAPI documents can't be read")
	}
	for _, document := range list.Paths {
		u, err := url.Parse(document.ServerRelativeURL)
		if err != nil || !strings.HasPrefix(path.Clean(u.Path), PathV3+"/") {
			return limits.Exceeded("its list of OpenAPI documents has the path %s", podtrouble.Short(document.ServerRelativeURL))
		}
	}
	return nil
}

// references begins the references of an OpenAPI document to its schemas.
const references = "#/components/schemas/"

// A document is what the providers use of the OpenAPI document of a group and version. Helm looks for a parameter of PATCH requests for the
// kinds that it applies, and provider-kubernetes reads the schemas of the kinds of its Objects.
type document struct {
	OpenAPI string              `json:"openapi"`
	Paths   map[string]pathItem `json:"paths"`

	Components struct {
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`
}

type pathItem struct {
	Patch *operation `json:"patch,omitempty"`
}

type operation struct {
	Kind       *metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind,omitempty"`
	Parameters []parameter              `json:"parameters"`
}

type parameter struct {
	Name string `json:"name"`
	In   string `json:"in"`
}

// Prune returns an OpenAPI document of a group and version with what the providers use alone: the parameters of PATCH requests, and the
// schemas of these kinds with those that they refer to. That may not exceed the limits of an ordinary response.
func Prune(l limits.Limits, response []byte, kinds []schema.GroupVersionKind) ([]byte, error) {
	unreadable := limits.Exceeded("its OpenAPI document can't be read")
	d, in := document{}, json.NewDecoder(bytes.NewReader(response))
	// A large number stays as it is.
	in.UseNumber()
	if in.Decode(&d) != nil {
		return nil, unreadable
	}
	for path, item := range d.Paths {
		if item.Patch == nil {
			delete(d.Paths, path)
		}
	}
	kept := schemas{all: d.Components.Schemas, kept: map[string]any{}}
	for name, s := range kept.all {
		if isOf(s, kinds) {
			kept.keep(name)
		}
	}
	d.Components.Schemas = kept.kept
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// Escaped, a character would take six times as many bytes.
	e.SetEscapeHTML(false)
	if e.Encode(d) != nil {
		return nil, unreadable
	}
	if int64(out.Len()) > l.Response {
		return nil, limits.TooLarge(l.Response)
	}
	if n := limits.Count(out.Bytes()).Values; n > l.Values {
		return nil, limits.Exceeded("its OpenAPI document has %d values that a provider needs, more than %d", n, l.Values)
	}
	return out.Bytes(), nil
}

// schemas of a document by their names, and those that are kept.
type schemas struct{ all, kept map[string]any }

// keep keeps a schema, and all that it refers to.
func (s schemas) keep(name string) {
	if is, found := s.all[name]; found && s.kept[name] == nil {
		s.kept[name] = is
		s.keepReferred(is)
	}
}

// keepReferred keeps the schemas that a part of another refers to.
func (s schemas) keepReferred(part any) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			s.keepReferred(item)
		}
	case map[string]any:
		for key, value := range part {
			reference, isText := value.(string)
			if name, refers := strings.CutPrefix(reference, references); isText && refers && key == "$ref" {
				s.keep(name)
				continue
			}
			s.keepReferred(value)
		}
	}
}

// isOf reports whether a schema is that of one of these kinds.
func isOf(s any, kinds []schema.GroupVersionKind) bool {
	of, _ := s.(map[string]any)
	list, _ := of["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(list, func(is any) bool {
		kind, _ := is.(map[string]any)
		return slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool {
			return kind["group"] == k.Group && kind["version"] == k.Version && kind["kind"] == k.Kind
		})
	})
}
