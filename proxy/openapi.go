package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
)

// Paths of OpenAPI documents. Those of version 3 are JSON; that of version 2 is protobuf, which
// takes a hundred times as much memory once it is decoded.
const (
	openAPIv2 = "/openapi/v2"
	openAPIv3 = "/openapi/v3"
)

// isOpenAPI reports whether answers to this path are OpenAPI documents.
func isOpenAPI(path string) bool { return strings.HasPrefix(path, "/openapi/") }

// isDocumentOfVersion reports whether answers to this path are OpenAPI documents of one group and version, and not their list.
func isDocumentOfVersion(path string) bool { return isOpenAPI(path) && path != openAPIv3 }

// checkOpenAPI refuses a list of OpenAPI documents in which one has another path, because a
// provider would ask for that. It decodes the list as client-go does.
func checkOpenAPI(answer []byte) error {
	list := struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}{}
	if json.Unmarshal(answer, &list) != nil {
		return &overLimit{"its list of OpenAPI documents can't be read"}
	}
	for _, document := range list.Paths {
		u, err := url.Parse(document.ServerRelativeURL)
		if err != nil || !strings.HasPrefix(path.Clean(u.Path), openAPIv3+"/") {
			return &overLimit{"its list of OpenAPI documents has the path " + podtrouble.Short(document.ServerRelativeURL)}
		}
	}
	return nil
}

// schemas is where an OpenAPI document refers to its schemas.
const schemas = "#/components/schemas/"

// A document is what the providers need of the OpenAPI document of a group and version. Helm looks for a parameter of the kinds
// that it applies, and provider-kubernetes reads the schemas of the kinds of its Objects.
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

// LeanDocument returns an OpenAPI document of a group and version with only what the providers need. provider-kubernetes keeps
// the schemas, once for each virtual cluster: all of Argo CD's would take six times as much memory as that of Applications.
func (l Limits) LeanDocument(answer []byte) ([]byte, error) {
	unreadable := &overLimit{"its OpenAPI document can't be read"}
	d, in := document{}, json.NewDecoder(bytes.NewReader(answer))
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
	all, needed := d.Components.Schemas, map[string]any{}
	var need func(part any)
	need = func(part any) {
		switch part := part.(type) {
		case []any:
			for _, item := range part {
				need(item)
			}
		case map[string]any:
			for key, value := range part {
				name, refers := "", false
				if reference, isText := value.(string); isText && key == "$ref" {
					name, refers = strings.CutPrefix(reference, schemas)
				}
				if !refers {
					need(value)
					continue
				}
				if schema, found := all[name]; found && needed[name] == nil {
					needed[name] = schema
					need(schema)
				}
			}
		}
	}
	for name, schema := range all {
		if ofWatchable(schema) {
			needed[name] = schema
			need(schema)
		}
	}
	d.Components.Schemas = needed
	out, err := encode(d)
	if err != nil {
		return nil, unreadable
	}
	if int64(len(out)) > l.Answer {
		return nil, tooLong(l.Answer)
	}
	if n := count(out).values; n > l.Values {
		return nil, &overLimit{fmt.Sprintf("its OpenAPI document has %d values that a provider needs, more than %d", n, l.Values)}
	}
	return out, nil
}

// ofWatchable reports whether a schema is that of a kind of which provider-kubernetes needs objects.
func ofWatchable(schema any) bool {
	of, _ := schema.(map[string]any)
	kinds, _ := of["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(kinds, func(is any) bool {
		kind, _ := is.(map[string]any)
		return slices.ContainsFunc(watchables, func(k *watchable) bool {
			gvk := k.GroupVersionKind()
			return kind["group"] == gvk.Group && kind["version"] == gvk.Version && kind["kind"] == gvk.Kind
		})
	})
}
