// Package golden writes rendered objects into files that people can review, one file for each object, and reads them again.
//
// A file is YAML in which text that is encoded in an object stands decoded, with a tag that says how it is encoded there:
//
//	data: !base64                  # each value of this Secret is base64 in the object
//	  accepted.json: !json         # ... of a text that is this, as compact JSON
//	    version: 1
//	  token: !base64url-json       # ... of a text that is base64url of this, as compact JSON
//	    server: https://example.org
//
// The tags are json, jsonline (with a line break at the end), htmljson (with <, > and & escaped), yaml, base64 and base64url.
//
// Nothing is lost: Format makes sure that Parse returns the same object. So two files are equal only if the objects are.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// composite is the file of the composite resource, events that of what the function reported as events.
	composite = "xr.yaml"
	events    = "events.yaml"

	nameInComposition = "crossplane.io/composition-resource-name"
)

// Format returns objects as the content of files, by the files' names: composed resources by their names in the composition.
func Format(objects []*unstructured.Unstructured) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, o := range objects {
		name := fileOf(o)
		text, err := format(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch {
		case files[name] == nil:
			files[name] = text
		case name == events:
			files[name] = append(append(files[name], "---\n"...), text...)
		default:
			return nil, fmt.Errorf("two objects are named %s", name)
		}
	}
	return files, nil
}

func fileOf(o *unstructured.Unstructured) string {
	switch name := o.GetAnnotations()[nameInComposition]; {
	case name != "":
		return name + ".yaml"
	case isEvent(o):
		return events
	default:
		return composite
	}
}

func isEvent(o *unstructured.Unstructured) bool {
	return strings.HasPrefix(o.GetAPIVersion(), "render.crossplane.io/")
}

// Read returns the objects in a folder of such files, the composite resource first, without events.
func Read(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var xr, composed []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == events {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		o, err := Parse(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		case filepath.Base(file) == composite:
			xr = append(xr, o)
		default:
			composed = append(composed, o)
		}
	}
	if len(xr) == 0 {
		return nil, fmt.Errorf("%s has no %s", dir, composite)
	}
	return append(xr, composed...), nil
}

// format returns an object as the content of a file.
func format(o *unstructured.Unstructured) ([]byte, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	node, err := read(text)
	if err != nil {
		return nil, err
	}
	if data := field(node, "data"); o.GetKind() == "Secret" && data != nil {
		decodeData(data)
	}
	decode(node)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(node), e.Close()); err != nil {
		return nil, err
	}
	parsed, err := Parse(b.Bytes())
	if err != nil {
		return nil, err
	}
	if again, err := parsed.MarshalJSON(); err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf("it is read as another object: %s, %w", again, err)
	}
	return b.Bytes(), nil
}

// Parse returns the object of a file's content.
func Parse(text []byte) (*unstructured.Unstructured, error) {
	node, err := read(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := write(&b, node); err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, o.UnmarshalJSON(b.Bytes())
}

// read returns what is in a document of YAML, or of JSON, which is YAML.
func read(text []byte) (*yaml.Node, error) {
	document := &yaml.Node{}
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, errors.New("want one document")
	}
	return document.Content[0], nil
}

// field returns the value of a key; nil for none.
func field(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
