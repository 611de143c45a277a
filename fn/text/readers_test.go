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

// decoders are the functions that decode YAML, or a kubeconfig, without bounds. golangci-lint's forbidigo has the same list. Those of
// Kubernetes' codecs read YAML, too.
var decoders = regexp.MustCompile(`^((yaml|yamlv2|yamlv3|goyaml)\.(Unmarshal\w*|YAMLToJSON\w*|NewDecoder|NewYAML\w*)|clientcmd\.(Load\w*|NewClientConfigFromBytes|RESTConfigFromKubeConfig)` +
	`|runtime\.Decode\w*|(clientcmd)?latest\.Codec|\w*\.(UniversalDeserializer|UniversalDecoder|CodecForVersions|DecoderToVersion))$`)

// unbounded are the calls of a file, without its path, that decode without bounds.
func unbounded(file *ast.File) (calls []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		of, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		in, _ := of.X.(*ast.Ident)
		call := "." + of.Sel.Name
		if in != nil {
			call = in.Name + call
		}
		if decoders.MatchString(call) {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}

// TestOneReaderOfText: no package but fn/text decodes YAML.
func TestOneReaderOfText(t *testing.T) {
	seen := 0
	for _, root := range []string{"..", "../../proxy", "../../internal", "../../check", "../../tunnel", "../../apis"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, call := range unbounded(file) {
				if seen++; filepath.Dir(path) != "../text" {
					t.Errorf("%s calls %s: use fn/text", path, call)
				}
			}
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

// TestOtherReadersAreFound: Kubernetes' codecs are readers, too.
func TestOtherReadersAreFound(t *testing.T) {
	for _, call := range []string{
		"yaml.Unmarshal(raw, &v)", "clientcmd.Load(raw)", "runtime.Decode(clientcmdlatest.Codec, raw)", "runtime.DecodeInto(codec, raw, v)", "latest.Codec.Decode(raw, nil, nil)",
		"scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)", "codecs.UniversalDecoder()",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a\n\nfunc f() { "+call+" }\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if len(unbounded(file)) == 0 {
			t.Errorf("%s isn't found", call)
		}
	}
}
