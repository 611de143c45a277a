package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackagesAreSmall: a newcomer can read each of the function's packages in one sitting, beside its doc.go.
func TestPackagesAreSmall(t *testing.T) {
	const mostFiles, mostLines = 15, 1200
	files, lines := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_") || filepath.Base(path) == "doc.go" {
			return err
		}
		code, err := os.ReadFile(path)
		files[filepath.Dir(path)]++
		lines[filepath.Dir(path)] += bytes.Count(code, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range files {
		if files[dir] > mostFiles || lines[dir] > mostLines {
			t.Errorf("fn/%s has %d files with %d lines, want at most %d and %d: split it", dir, files[dir], lines[dir], mostFiles, mostLines)
		}
	}
}
