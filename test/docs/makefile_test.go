package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fuzzTarget matches the declaration of a fuzz target.
var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// TestFuzzTargets: `make fuzz` runs every fuzz target that there is.
func TestFuzzTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(makefile), "\nFUZZ := ")
	line, _, _ = strings.Cut(line, "\n")
	run := strings.Fields(line)
	slices.Sort(run)
	var there []string
	for _, file := range files(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fuzzTarget.FindAllStringSubmatch(string(code), -1) {
			there = append(there, m[1]+":./"+path.Dir(file))
		}
	}
	slices.Sort(there)
	if !slices.Equal(there, run) {
		t.Errorf("there are %v, `make fuzz` runs %v", there, run)
	}
}
