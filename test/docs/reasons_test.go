package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReasons: the troubleshooting page says something of each reason of a condition, and each event. Reasons that only occur with channels
// may be on their page instead. Each reason of a claim is in the end-to-end test of Argo CD's health scripts.
func TestReasons(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	troubleshooting, channels := read("docs/troubleshooting.md"), read("docs/channels.md")
	health := read("test/e2e/health_test.go")
	known := headings([]byte(troubleshooting))
	reasons := map[string]string{}
	for file, pages := range map[string][]string{"apis/v1alpha1/conditions.go": {troubleshooting}, "apis/v1alpha1/channel.go": {troubleshooting, channels}} {
		for name, reason := range constantsOf(t, file) {
			if !strings.HasPrefix(name, "Reason") && !strings.HasPrefix(name, "Event") {
				continue
			}
			reasons[name] = reason
			if file == "apis/v1alpha1/conditions.go" && strings.HasPrefix(name, "Reason") && !strings.Contains(health, "v1alpha1."+name+":") {
				t.Errorf("test/e2e/health_test.go doesn't say what %s means for a claim's health in Argo CD: add it to TestHealthOfEachReason", name)
			}
			if !known[strings.ToLower(reason)] && !strings.Contains(strings.Join(pages, ""), "`"+reason+"`") {
				t.Errorf("docs/troubleshooting.md says nothing of %s: write a heading for it, or name it where nothing is to be done", reason)
			}
		}
	}
	if len(reasons) < 40 {
		t.Errorf("found %d reasons: %v", len(reasons), reasons)
	}
	// Whoever is sent to the page finds a heading there.
	sent := 0
	for _, file := range files(t) {
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`pages\.Of\(([^)]*)\)`).FindAllStringSubmatch(read(file), -1) {
			sent++
			if reason := reasons[strings.TrimPrefix(m[1], "v1alpha1.")]; !known[strings.ToLower(reason)] {
				t.Errorf("%s: %s: docs/troubleshooting.md has no heading %q", file, m[0], reason)
			}
		}
	}
	if sent < 2 {
		t.Errorf("found %d messages that send somebody to the page", sent)
	}
}
