package render

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/test/render/golden"
)

const (
	xrd         = "apis/xvirtualargocds.yaml"
	composition = "compositions/virtual-argocd.yaml"

	channelXRD         = "apis/xargocdchannels.yaml"
	planXRD            = "apis/xargocdplans.yaml"
	planComposition    = "compositions/virtual-argocd-plan.yaml"
	channelComposition = "compositions/virtual-argocd-channel.yaml"
)

// wholeTenants are the tenants that are rendered from nothing to Ready.
var wholeTenants = map[string]struct {
	reason                         string
	claim, xrd, composition, input string
	plan                           string
	// stages that are kept in testdata/golden; nil for all.
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
	"gateway": {
		reason: "A platform whose Gateway serves the claims.",
		claim:  "examples/claims/customer1.yaml", xrd: xrd, composition: composition, input: "test/render/testdata/input-gateway.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"everything": {
		reason: "A claim that has every part, and the Secrets it names.",
		claim:  "test/render/testdata/everything.yaml", xrd: xrd, composition: composition,
		stages: map[string]bool{"1-nothing-observed": true, "5-ready": true},
	},
	"fields": {
		reason: "A claim with notifications, webhooks, registries and certificates, and the Secrets it names.",
		claim:  "test/render/testdata/fields.yaml", xrd: xrd, composition: composition,
		stages: map[string]bool{"5-ready": true},
	},
	"large": {
		reason: "A claim of a plan with everything more than once, in a namespace that the plan is for.",
		claim:  "test/render/testdata/large.yaml", xrd: xrd, composition: composition, plan: "examples/plans/large.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"components": {
		reason: "A claim with components of the catalogue that the project brings.",
		claim:  "examples/claims/components.yaml", xrd: xrd, composition: composition,
		stages: map[string]bool{"5-ready": true},
	},
	"tunnels": {
		reason: "A claim with a cluster that lets no connections in.",
		claim:  "examples/tunnels/claim.yaml", xrd: xrd, composition: composition, input: "test/render/testdata/input-tunnels.yaml",
		stages: map[string]bool{"5-ready": true},
	},
	"demo-group": {
		reason: "The same kind under another API group, with no input at all.",
		claim:  "examples/demo-group/claim.yaml", xrd: "examples/demo-group/definition.yaml", composition: "examples/demo-group/composition.yaml",
		stages: map[string]bool{"5-ready": true},
	},
}

// TestWholeTenants renders tenants from nothing to Ready, and compares each stage
// with its golden files. Objects are valid at every stage, kept or not.
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
				tokens := 0
				at := func(stage string) {
					t.Helper()
					tokens += checkTokens(t, stage, te.composed())
					if tc.stages == nil || tc.stages[stage] {
						compareGolden(t, tc.reason, filepath.Join(name, stage), te.rendered, nil)
					}
					mu.Lock()
					defer mu.Unlock()
					for _, o := range te.written() {
						objects, places = append(objects, o), append(places, name+"/"+stage)
					}
				}
				te.bringUp(at)
				te.breakDown(at)
				if tokens == 0 {
					t.Error("the tenant never has a token for the proxy: this shows nothing about it")
				}
			})
		}
	})
	for i, wrong := range validate(t, objects) {
		if wrong != "" {
			t.Errorf("%s: %s doesn't fit its schema: %s", places[i], objects[i].GetName(), wrong)
		}
	}
}

// compareGolden compares rendered objects with those in a folder below testdata/golden, or writes them there. What edit makes of each file
// is what counts; nil leaves them as they are.
func compareGolden(t *testing.T, reason, name string, objects []*object, edit func(text []byte) []byte) {
	t.Helper()
	got, err := golden.Format(objects)
	check(t, err)
	dir := filepath.Join("testdata", "golden", name)
	if *update {
		check(t, os.RemoveAll(dir))
		check(t, os.MkdirAll(dir, 0o755)) //nolint:gosec // Part of the project, for everybody to read.
	}
	for file, text := range got {
		if edit != nil {
			text = edit(text)
		}
		path := filepath.Join(dir, file)
		if *update {
			check(t, os.WriteFile(path, text, 0o644)) //nolint:gosec // As above.
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if !bytes.Equal(want, text) {
			t.Errorf("\n%s\n%s: -want, +got:\n%s\n%s", reason, path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")), ifMeant)
		}
	}
	files, err := os.ReadDir(dir)
	check(t, err)
	for _, file := range files {
		if got[file.Name()] == nil {
			t.Errorf("\n%s\n%s isn't rendered any more\n%s", reason, filepath.Join(dir, file.Name()), ifMeant)
		}
	}
}

const ifMeant = "If that is as it should be: go test -C test ./render -update"
