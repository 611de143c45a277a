package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// An Object of a release.
type Object struct {
	APIVersion, Kind, Namespace, Name string
}

// Bounds of what is read of a record for the objects of a release: those of Argo CD's chart are some 60 in 5 MB, most of which are
// CustomResourceDefinitions.
const (
	maxUnpacked = 12 << 20
	// maxObjects are also those that can't be read: decoding takes time.
	maxObjects = 500
	// maxHead is how many bytes the version, the kind and the metadata of an object may have.
	maxHead = 16 << 10
)

var errNoManifest = errors.New("the record has no manifest")

// Objects returns the objects in the manifest of a record of Helm (base64 of gzip), without those of hooks. What can't be read of the manifest
// isn't among them. A tenant can write such a record.
func Objects(record []byte) ([]Object, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(record)))
	if err != nil {
		return nil, err
	}
	manifest, err := manifestOf(json.NewDecoder(io.LimitReader(z, maxUnpacked)))
	if err != nil {
		return nil, err
	}
	return objectsOf(manifest), nil
}

// manifestOf returns the manifest in a record. The chart and its templates, which come before it, aren't kept.
func manifestOf(d *json.Decoder) (string, error) {
	if _, err := d.Token(); err != nil {
		return "", err
	}
	for depth := 0; depth >= 0; {
		token, err := d.Token()
		if err != nil {
			return "", err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		case "manifest":
			if depth > 0 {
				continue
			}
			// It may also be the value of a member that comes before.
			if manifest, err := d.Token(); err != nil {
				return "", err
			} else if text, ok := manifest.(string); ok && strings.Contains(text, "\n") {
				return text, nil
			}
		}
	}
	return "", errNoManifest
}

// objectsOf returns the objects in a manifest. Of each it decodes the version, the kind and the metadata alone: lines that begin with one of
// these keys, and the indented ones that follow. In YAML, only the members of the object itself aren't indented.
func objectsOf(manifest string) []Object {
	var out []Object
	head, within, decoded := strings.Builder{}, false, 0
	end := func() {
		if head.Len() > 0 {
			decoded++
		}
		if o, ok := objectOf(head.String()); ok {
			out = append(out, o)
		}
		head.Reset()
		within = false
	}
	for line := range strings.Lines(manifest) {
		if strings.HasPrefix(line, "---") {
			if end(); decoded == maxObjects {
				return out
			}
			continue
		}
		if line[0] != ' ' && line[0] != '\n' && line[0] != '#' {
			within = strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "kind:") || strings.HasPrefix(line, "metadata:")
		}
		if within && head.Len() <= maxHead {
			head.WriteString(line)
		}
	}
	end()
	return out
}

// objectOf returns the object with a version, a kind and metadata, in YAML; false if it can't be read.
func objectOf(head string) (Object, bool) {
	if head == "" || len(head) > maxHead {
		return Object{}, false
	}
	o, err := text.Object([]byte(head))
	if err != nil {
		return Object{}, false
	}
	of := func(from map[string]any, key string) string {
		value, _ := from[key].(string)
		return value
	}
	meta, _ := o["metadata"].(map[string]any)
	out := Object{APIVersion: of(o, "apiVersion"), Kind: of(o, "kind"), Namespace: of(meta, "namespace"), Name: of(meta, "name")}
	return out, out.APIVersion != "" && out.Kind != "" && out.Name != ""
}
