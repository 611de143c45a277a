package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goTest matches a command that runs tests, up to the end of its line or of its code span; tests is the flag that names some.
var (
	goTest = regexp.MustCompile("go test ([^`\n]*)")
	tests  = regexp.MustCompile(`-run '?\^?(\w+)`)
)

// TestCommands: a command in a document that runs tests names a package that there is, and tests that are in it.
func TestCommands(t *testing.T) {
	count := 0
	for _, file := range files(t) {
		if filepath.Ext(file) != ".md" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goTest.FindAllStringSubmatch(string(raw), -1) {
			dir := root
			args := strings.Fields(m[1])
			for i, arg := range args {
				if arg == "-C" && i+1 < len(args) {
					dir = filepath.Join(dir, args[i+1])
				}
				if strings.HasPrefix(arg, "./") {
					dir = filepath.Join(dir, strings.TrimSuffix(arg, "..."))
				}
			}
			code := ""
			sources, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range sources {
				raw, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				code += "\n" + string(raw)
			}
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("%s: %s: %v", file, m[0], err)
			}
			if name := tests.FindStringSubmatch(m[1]); name != nil {
				count++
				if !strings.Contains(code, "\nfunc "+name[1]) {
					t.Errorf("%s: %s: %s has no test of that name", file, m[0], dir)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no command names a test: they aren't read as they are written")
	}
}
