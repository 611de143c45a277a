package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	// use matches where a workflow names an action.
	use = regexp.MustCompile(`(?m)^[ -]*uses:.*$`)
	// pinned matches one that is named by its commit, with the release beside it. Dependabot changes both.
	pinned = regexp.MustCompile(`uses: [a-z0-9-]+/[a-z0-9/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// TestActions: workflows name actions by commit, because whoever may move an action's tag would otherwise run with what a release is signed with.
func TestActions(t *testing.T) {
	workflows, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range workflows {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range use.FindAllString(string(text), -1) {
			count++
			if !pinned.MatchString(line) {
				t.Errorf("%s: %q: write the commit of the action, and its release as a comment", filepath.Base(file), line)
			}
		}
	}
	if count == 0 {
		t.Errorf("found no action in %v", workflows)
	}
}
