// Package install tests the rights and the package runtimes of examples/install.
package install

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
)

// examples returns the objects in files below examples.
func examples(t *testing.T, files ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("../../examples", file))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := manifests.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, objects...)
	}
	return out
}
