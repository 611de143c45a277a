package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	xrd         = "apis/xvirtualargocds.yaml"
	composition = "compositions/virtual-argocd.yaml"

	channelXRD         = "apis/xargocdchannels.yaml"
	channelComposition = "compositions/virtual-argocd-channel.yaml"
)

// wholeTenants are the tenants that are rendered from nothing to Ready.
var wholeTenants = map[string]struct {
	reason                         string
	claim, xrd, composition, input string
	plan                           string
	// stages that are kept as golden files; nil for all.
	stages map[string]bool
}{
	"smallest": {
		reason: "The smallest claim, on a platform that has set nothing.",
		claim:  "examples/claims/customer1.yaml", xrd: xrd, composition: composition,
	},
	"wishes": {
		reason: "A claim with chart values of its own, and versions that its plan lists.",
		claim:  "test/render/testdata/customer2.yaml", xrd: xrd, composition: composition, plan: "examples/plans/standard.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"platform": {
		reason: "A platform that has set everything: charts, images, storage, names.",
		claim:  "test/render/testdata/customer2.yaml", xrd: xrd, composition: composition, input: "test/render/testdata/input.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"other": {
		reason: "A platform for test tenants: no volumes, no NetworkPolicies, hostnames of its own.",
		claim:  "examples/claims/customer1.yaml", xrd: xrd, composition: composition, input: "test/render/testdata/input-other.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"everything": {
		reason: "A claim that has every part, and the Secrets it names.",
		claim:  "test/render/testdata/everything.yaml", xrd: xrd, composition: composition,
		stages: map[string]bool{"1-nothing-observed": true, "5-ready": true},
	},
	"large": {
		reason: "A claim of a plan with everything more than once, in a namespace that the plan is for.",
		claim:  "test/render/testdata/large.yaml", xrd: xrd, composition: composition, plan: "examples/plans/large.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"demo-group": {
		reason: "The same kind under another API group, with no input at all.",
		claim:  "examples/demo-group/claim.yaml", xrd: "examples/demo-group/definition.yaml", composition: "examples/demo-group/composition.yaml",
		stages: map[string]bool{"5-ready": true},
	},
}

// TestWholeTenants renders tenants from nothing to Ready, and compares each stage
// with its golden file. Objects are valid at every stage, kept or not.
func TestWholeTenants(t *testing.T) {
	setUp(t)
	var mu sync.Mutex
	// objects of all stages, and where each is from.
	var objects []*object
	var places []string
	// Returns when all tenants are through.
	t.Run("Tenants", func(t *testing.T) {
		for name, tc := range wholeTenants {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				te := newTenant(t, tc.claim, tc.xrd, tc.composition, tc.input)
				if tc.plan != "" {
					te.required = append(te.required, read(t, filepath.Join(root, tc.plan))...)
				}
				at := func(stage string) {
					t.Helper()
					checkTokens(t, stage, te.composed())
					if tc.stages == nil || tc.stages[stage] {
						golden(t, tc.reason, filepath.Join(name, stage+".yaml"), manifests(t, te.rendered))
					}
					mu.Lock()
					defer mu.Unlock()
					for _, o := range te.written() {
						objects, places = append(objects, o), append(places, name+"/"+stage)
					}
				}
				te.bringUp(at)
				te.breakDown(at)
			})
		}
	})
	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("%s: %s doesn't fit its schema: %s", places[i], objects[i].GetName(), wrong)
		}
	}
}

// golden compares with a golden file, or writes it.
func golden(t *testing.T, reason, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		check(t, os.MkdirAll(filepath.Dir(path), 0o755)) //nolint:gosec // Part of the project, for everybody to read.
		check(t, os.WriteFile(path, got, 0o644))         //nolint:gosec // As above.
		return
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if !bytes.Equal(want, got) {
		t.Errorf("\n%s\n%s: -want, +got:\n%s\nIf that is as it should be: go test -C test ./render -update", reason, path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}
