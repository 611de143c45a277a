// Package docs holds the documents to the code.
package docs

import (
	"errors"
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

// named is a test in a document, with its function, its cases, or both. Its package comes before it where several tests have the name.
var named = regexp.MustCompile("`((?:\\w+\\.)?(?:Test|Fuzz)\\w+)?((?:/\\w+)*)`")

// TestThreatModelNamesTests: the proofs that the threat model names are there, and it names each attempt.
func TestThreatModelNamesTests(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, "test", "e2e")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("a copy of the project without end-to-end tests")
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := testFiles(t)
	if files[hostile] == "" {
		t.Fatalf("there is no %s", hostile)
	}
	count, tried := 0, map[string]bool{}
	for _, line := range strings.Split(string(doc), "\n") {
		// In the last column of the table, a case alone is one of the function before it.
		function := ""
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			line, function = cells[3], hostile
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			if m[1] != "" {
				function = m[1]
			}
			if function == "" {
				continue
			}
			count++
			file, ok := files[function]
			switch {
			case !ok:
				t.Errorf("there is no %s", function)
				continue
			case file == "":
				t.Errorf("several tests are called %s: write its package before it", function)
				continue
			}
			for _, name := range strings.Split(m[2], "/")[1:] {
				if !strings.Contains(file, `"`+name+`"`) {
					t.Errorf("there is no case %s of %s", name, function)
				}
				tried[function+"/"+name] = true
			}
		}
	}
	if count < 20 {
		t.Errorf("found %d names of tests: the table isn't read as it is written", count)
	}
	attempts := attemptsIn(t, files[hostile])
	for _, name := range attempts {
		if !tried[hostile+"/"+name] {
			t.Errorf("attempt %s is not in the threat model", name)
		}
	}
}

// attemptsIn are the names in the table attempts of the code.
func attemptsIn(t *testing.T, code string) []string {
	t.Helper()
	_, table, _ := strings.Cut(code, "\nvar attempts = []attempt{\n")
	table, _, _ = strings.Cut(table, "\n}\n")
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^\t\{"(\w+)", `).FindAllStringSubmatch(table, -1) {
		out = append(out, m[1])
	}
	if len(out) < 20 {
		t.Fatalf("found %d attempts: their table isn't read as it is written", len(out))
	}
	return out
}

// testFiles are the files of tests, by the functions in them, also with their package; "" where several have the name.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		own := strings.TrimSuffix(regexp.MustCompile(`(?m)^package (\w+)`).FindStringSubmatch(string(code))[1], "_test")
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(code), -1) {
			for _, name := range []string{m[1], own + "." + m[1]} {
				if _, again := files[name]; again {
					files[name] = ""
				} else {
					files[name] = string(code)
				}
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}
