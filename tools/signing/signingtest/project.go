package signingtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// project is the smallest one that packages are built from.
var project = map[string]string{
	"VERSION":                      "v0.3.1\n",
	"go.mod":                       "module example.org/function\n\ngo 1.24\n",
	"tools/go.mod":                 "module example.org/tools\n\ngo 1.24\n\nrequire golang.org/x/crypto/x509roots/fallback v0.1.0\n",
	"fn/main.go":                   "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n",
	"package/crossplane.yaml":      "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-virtual-argocd}\n",
	"crossplane.yaml":              "kind: Configuration\nspec: {dependsOn: [{package: " + xpkg.PublishedRegistry + "/" + xpkg.FunctionName + "}]}\n",
	"apis/definition.yaml":         "kind: CompositeResourceDefinition\n",
	"compositions/thing.yaml":      "kind: Composition\n",
	"examples/claims/example.yaml": "kind: XThing\n",
}

// NewProject writes it to a folder.
func NewProject(t *testing.T) xpkg.Project {
	t.Helper()
	root := t.TempDir()
	for path, content := range project {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return xpkg.Project{Root: root, Out: filepath.Join(root, "_output")}
}
