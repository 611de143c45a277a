package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	gast "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// project matches addresses of files of the project, and of headings in them.
var project = regexp.MustCompile(`https://(?:github\.com/virtual-argocd/virtual-argocd/(?:blob|tree)|raw\.githubusercontent\.com/virtual-argocd/virtual-argocd)/main/([A-Za-z0-9_./-]*[A-Za-z0-9_/-])(?:#([A-Za-z0-9_-]+))?`)

// page matches a name of a page of ours.
var page = regexp.MustCompile(`(?:[A-Za-z0-9_./:-]*/)?[A-Za-z0-9_-]+\.md\b|\bREADME\b`)

// folder matches a name of a file in a folder of ours.
var folder = regexp.MustCompile(`\b(?:docs|examples)/[a-z]\S*`)

// makeAddresses are files whose texts become addresses, or names of files to write.
var makeAddresses = []string{"internal/pages/pages.go", "tools/signing/provenance.go", "tools/schema/reference.go"}

// TestPages: every address of a page of ours exists, and the heading that it names, wherever it is: in messages, alerts, policies,
// examples and documents.
func TestPages(t *testing.T) {
	p := pages{}
	count := 0
	for _, file := range files(t) {
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range project.FindAllStringSubmatch(string(raw), -1) {
			count++
			if err := p.has(m[1], m[2]); err != nil {
				t.Errorf("%s: %s: %v", file, m[0], err)
			}
		}
		if filepath.Ext(file) != ".md" {
			continue
		}
		for _, link := range links(raw) {
			to, err := url.Parse(link)
			if err != nil || to.IsAbs() {
				continue
			}
			count++
			at := path.Join(path.Dir(file), to.Path)
			if to.Path == "" {
				at = file
			}
			if err := p.has(at, to.Fragment); err != nil {
				t.Errorf("%s: %s: %v", file, link, err)
			}
		}
	}
	for name, address := range constantsOf(t, "internal/pages/pages.go") {
		m := project.FindStringSubmatch(address)
		// The others are what these begin with.
		if m == nil || !token.IsExported(name) {
			continue
		}
		count++
		if err := p.has(m[1], m[2]); err != nil {
			t.Errorf("pages.%s: %v", name, err)
		}
	}
	if count < 200 {
		t.Errorf("found %d addresses and links", count)
	}
}

// TestNoPathsInMessages: what people see who have no copy of this repository names pages by their address.
func TestNoPathsInMessages(t *testing.T) {
	count := 0
	for _, file := range files(t) {
		switch {
		case strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") || strings.HasPrefix(file, "lab/") && !strings.HasPrefix(file, "lab/platform/"):
		case filepath.Ext(file) == ".go":
			for at, literal := range literals(t, file) {
				count++
				found := without(literal)
				// The lab and the tools run in a copy of the repository.
				if found == "" && !strings.HasPrefix(file, "lab/") && !strings.HasPrefix(file, "tools/") {
					found = folder.FindString(project.ReplaceAllString(literal, ""))
				}
				if found != "" && !slices.Contains(makeAddresses, file) {
					t.Errorf("%s: a text names %s: write its address, from package pages", at, found)
				}
			}
		case filepath.Ext(file) == ".yaml" && (strings.HasPrefix(file, "examples/") || strings.HasPrefix(file, "compositions/") || strings.HasPrefix(file, "apis/")):
			raw, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			count++
			if found := without(string(raw)); found != "" {
				t.Errorf("%s names %s: write its address", file, found)
			}
		}
	}
	if count < 1000 {
		t.Errorf("found %d texts", count)
	}
}

// without returns a page that a text names in another way than by its address; "" for none.
func without(s string) string { return page.FindString(project.ReplaceAllString(s, "")) }

func TestWithout(t *testing.T) {
	for in, want := range map[string]string{
		"see docs/api.md for those": "docs/api.md",
		"see the README":            "README",
		"see https://github.com/virtual-argocd/virtual-argocd/blob/main/docs/api.md#spec for those": "",
		"see https://github.com/virtual-argocd/virtual-argocd/blob/main/docs/api.md. Then":          "",
		"see https://github.com/someone/else/blob/main/README.md":                                   "//github.com/someone/else/blob/main/README.md",
		"an amd64 and a .mdx": "",
	} {
		if got := without(in); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("without(%q): want %q, got %q", in, want, got)
		}
	}
}

// files returns the text files of the project, below its root.
func files(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("a copy of the project without Git: %v", err)
	}
	var all []string
	for _, file := range strings.Fields(string(out)) {
		switch filepath.Ext(file) {
		case ".go", ".md", ".yaml", ".yml", ".json", "", ".html", ".txt":
			if is, err := os.Stat(filepath.Join(root, file)); err == nil && is.Mode().IsRegular() {
				all = append(all, file)
			}
		}
	}
	return all
}

// literals returns the texts in a Go file, by their places.
func literals(t *testing.T, file string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				out[set.Position(l.Pos()).String()] = s
			}
		}
		return true
	})
	return out
}

// constantsOf returns the constants of a Go file that are texts.
func constantsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Constants need no import.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("pages", set, []*ast.File{parsed}, nil)
	out := map[string]string{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && c.Val().Kind() == constant.String {
			out[name] = constant.StringVal(c.Val())
		}
	}
	return out
}

// pages are the headings of pages, each as GitHub names it in addresses.
type pages map[string]map[string]bool

// has returns an error unless there is a file below the project's root, and in it a heading; "" stands for no heading.
func (p pages) has(file, heading string) error {
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return fmt.Errorf("there is no such file")
	}
	if heading == "" {
		return nil
	}
	if p[file] == nil {
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		p[file] = headings(raw)
	}
	if !p[file][heading] {
		return fmt.Errorf("%s has no heading #%s", file, heading)
	}
	return nil
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// headings returns the anchors of a page.
func headings(raw []byte) map[string]bool {
	out := map[string]bool{}
	walk(raw, func(n gast.Node) {
		if n.Kind() != gast.KindHeading {
			return
		}
		name := anchor(plain(n, raw))
		for i, is := 1, name; out[name]; i++ {
			name = fmt.Sprintf("%s-%d", is, i)
		}
		out[name] = true
	})
	return out
}

// anchor returns what GitHub calls a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// links returns the destinations of a page's links and pictures.
func links(raw []byte) []string {
	var out []string
	walk(raw, func(n gast.Node) {
		switch n := n.(type) {
		case *gast.Link:
			out = append(out, string(n.Destination))
		case *gast.Image:
			out = append(out, string(n.Destination))
		}
	})
	return out
}

func walk(raw []byte, visit func(gast.Node)) {
	_ = gast.Walk(markdown.Parser().Parse(text.NewReader(raw)), func(n gast.Node, entering bool) (gast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return gast.WalkContinue, nil
	})
}

// plain returns the text of a node.
func plain(n gast.Node, raw []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if s, ok := c.(*gast.Text); ok {
			b.Write(s.Segment.Value(raw))
			continue
		}
		b.WriteString(plain(c, raw))
	}
	return b.String()
}
