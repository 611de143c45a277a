// Package manifests decodes YAML files with Kubernetes objects.
package manifests

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Decode returns the objects of all documents. Empty documents are none.
func Decode(r io.Reader) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(r, 4096); ; {
		o := &unstructured.Unstructured{}
		switch err := d.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(o.Object) > 0:
			out = append(out, o)
		}
	}
}
