// Package docs holds the documents to the code.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root = "../.."
	// hostile is the test that each row of the threat model begins with.
	hostile = "TestHostileTenant"
)

// TestThreatModelNamesTests: the proofs that the threat model names are there.
func TestThreatModelNamesTests(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := testFiles(t)
	named := 0
	for _, line := range strings.Split(string(doc), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		function := hostile
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)?\\w*)(?:/(\\w+))?`").FindAllStringSubmatch(cells[3], -1) {
			if m[1] != "" {
				function = m[1]
			}
			named++
			file, ok := files[function]
			switch {
			case !ok && function == hostile:
				// A copy of the project without end-to-end tests.
			case !ok:
				t.Errorf("there is no %s", function)
			case m[2] != "" && !strings.Contains(file, `"`+m[2]+`"`):
				t.Errorf("there is no case %s of %s", m[2], function)
			}
		}
	}
	if named < 20 {
		t.Errorf("found %d names of tests: the table isn't read as it is written", named)
	}
}

// testFiles are the files of tests, by the functions in them.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(code), -1) {
			files[m[1]] = string(code)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}
