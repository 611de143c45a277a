package render

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// restarts is how CHANGELOG.md marks what restarts the virtual API of tenants.
const restarts = "restarts the virtual API"

// A rendersItem is an item of CHANGELOG.md that names composed resources which
// differ from the last release's:
//
//   - Renders: `everything/ingress`, `*/vcluster`: why (restarts the virtual API).
//
// Each name is a tenant of wholeTenants and a resource's name in the composition.
// A * stands for any of either.
type rendersItem struct {
	patterns []string
	restarts bool
}

func (i rendersItem) names(resource string) bool {
	return slices.ContainsFunc(i.patterns, func(p string) bool {
		ok, err := path.Match(p, resource)
		return ok && err == nil
	})
}

var (
	changelogSection = regexp.MustCompile(`(?m)^## \[(.+?)\]`)
	rendersNames     = regexp.MustCompile("^Renders: (`[^`/ ]+/[^`/ ]+`(?:, `[^`/ ]+/[^`/ ]+`)*): [^ ]")
)

// rendersSince returns the items of a changelog's sections above that of a release.
func rendersSince(changelog, release string) ([]rendersItem, error) {
	version := strings.TrimPrefix(release, "v")
	end := -1
	for _, m := range changelogSection.FindAllStringSubmatchIndex(changelog, -1) {
		if changelog[m[2]:m[3]] == version {
			end = m[0]
		}
	}
	if end < 0 {
		return nil, fmt.Errorf("CHANGELOG.md has no section of the last release: write one with the heading ## [%s]", version)
	}
	var out []rendersItem
	for _, item := range listItems(changelog[:end]) {
		if !strings.HasPrefix(item, "Renders:") {
			continue
		}
		m := rendersNames.FindStringSubmatch(item)
		if m == nil {
			return nil, fmt.Errorf("CHANGELOG.md: cannot read %q: write - Renders: `tenant/resource`, `tenant/resource`: why", item)
		}
		var patterns []string
		for _, p := range strings.Split(m[1], ", ") {
			patterns = append(patterns, strings.Trim(p, "`"))
		}
		out = append(out, rendersItem{patterns: patterns, restarts: strings.Contains(item, restarts)})
	}
	return out, nil
}

// listItems returns the items of lists in Markdown, each on one line.
func listItems(text string) []string {
	var out []string
	inItem := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch item, starts := strings.CutPrefix(line, "- "); {
		case starts:
			out, inItem = append(out, item), true
		case inItem && strings.HasPrefix(line, "  "):
			out[len(out)-1] += " " + strings.TrimSpace(line)
		default:
			inItem = false
		}
	}
	return out
}

func TestRendersSince(t *testing.T) {
	const head, tail = "# Changelog\n\n## [Unreleased]\n\n### Changed\n\n", "\n## [0.2.0] - 2026-11-23\n\n- Renders: `old/thing`: released already.\n"
	cases := map[string]struct {
		reason, changelog string
		want              []rendersItem
		wantErr           string
	}{
		"Nothing":      {"A release in which nothing changes for tenants.", head + "- Something else.\n" + tail, nil, ""},
		"OneName":      {"One resource of one tenant.", head + "- Renders: `large/quota`: more room.\n" + tail, []rendersItem{{[]string{"large/quota"}, false}}, ""},
		"SeveralLines": {"Items are wrapped.", head + "- Renders: `large/quota`,\n  `*/vcluster`: a newer chart (restarts the\n  virtual API).\n" + tail, []rendersItem{{[]string{"large/quota", "*/vcluster"}, true}}, ""},
		"NewRelease":   {"Between the change of the heading and the new renders.", strings.Replace(head, "Unreleased", "0.3.0", 1) + "- Renders: `large/quota`: more room.\n" + tail, []rendersItem{{[]string{"large/quota"}, false}}, ""},
		"NoReason":     {"Users want to know why.", head + "- Renders: `large/quota`\n" + tail, nil, "cannot read"},
		"NoTenant":     {"A name alone is nothing's.", head + "- Renders: `quota`: more room.\n" + tail, nil, "cannot read"},
		"NoRelease":    {"Without the release's own section, nothing tells what came after it.", head, nil, "## [0.2.0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := rendersSince(tc.changelog, "v0.2.0")
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("\n%s\nrendersSince(...): want error with %q, got %v", tc.reason, tc.wantErr, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(rendersItem{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nrendersSince(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
