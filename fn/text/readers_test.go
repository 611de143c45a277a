package text_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decoders are the functions that decode YAML, or a kubeconfig, without bounds. golangci-lint's forbidigo has the same list.
var decoders = regexp.MustCompile(`^((yaml|yamlv2|yamlv3|goyaml)\.(Unmarshal\w*|YAMLToJSON\w*|NewDecoder|NewYAML\w*)|clientcmd\.(Load\w*|NewClientConfigFromBytes|RESTConfigFromKubeConfig))$`)

// TestOneReaderOfText: no package but fn/text decodes YAML.
func TestOneReaderOfText(t *testing.T) {
	seen := 0
	for _, root := range []string{"..", "../../proxy", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				of, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if in, ok := of.X.(*ast.Ident); ok && decoders.MatchString(in.Name+"."+of.Sel.Name) {
					if seen++; filepath.Dir(path) != "../text" {
						t.Errorf("%s calls %s.%s: use fn/text", path, in.Name, of.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("no decoder was found, not even in fn/text: too little was tested")
	}
}
