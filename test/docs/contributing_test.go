package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// span matches what is code in a document.
var span = regexp.MustCompile("`([^`]+)`")

// TestLayout: the table of folders in CONTRIBUTING.md names folders that there are, and each package of the function.
func TestLayout(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range span.FindAllStringSubmatch(cells[1], -1) {
			name := strings.TrimSuffix(strings.TrimSuffix(m[1], "..."), "/")
			named[name] = true
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("CONTRIBUTING.md: %s: %v", m[1], err)
			}
		}
	}
	packages, err := os.ReadDir(filepath.Join(root, "fn"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if p.IsDir() && !named["fn/"+p.Name()] {
			t.Errorf("CONTRIBUTING.md doesn't say what fn/%s is for", p.Name())
		}
	}
}
