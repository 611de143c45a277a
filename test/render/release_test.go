package render

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

var writeRelease = flag.Bool("write-release", false, "keep today's tenants as those of the release in VERSION")

// releases has a folder for the last release, with a folder for each of its Ready
// tenants:
//
//	xr.yaml        the composite resource
//	composed.yaml  what the release rendered, with what the providers reported of it. The accepted state is in it.
//	required.yaml  what people wrote: plans, and Secrets beside the claim
//	secrets.yaml   connection Secrets
//	input.yaml     the platform's own input, if the tenant has one
const releases = "releases"

// TestLastRelease has today's function go on with the last release's tenants, and
// compares what it renders with what that release rendered. What the platform wrote
// is as it was then; what comes with a release is today's: the API, the Composition,
// the function and the host's admission policies.
//
// CHANGELOG.md names the differences: see rendersItem.
func TestLastRelease(t *testing.T) {
	setUp(t)
	if *writeRelease {
		keepRelease(t)
	}
	release, err := lastRelease()
	check(t, err)
	named, err := rendersSince(string(readFile(t, filepath.Join(root, "CHANGELOG.md"))), release)
	check(t, err)
	tenants, err := os.ReadDir(filepath.Join(releases, release))
	check(t, err)

	var mu sync.Mutex
	used := make([]bool, len(named))
	mention := func(resource string) (found, restarting bool) {
		mu.Lock()
		defer mu.Unlock()
		for i, item := range named {
			if item.names(resource) {
				used[i], found, restarting = true, true, restarting || item.restarts
			}
		}
		return found, restarting
	}
	// Returns when all tenants are through.
	t.Run("Tenants", func(t *testing.T) {
		for _, dir := range tenants {
			t.Run(dir.Name(), func(t *testing.T) {
				t.Parallel()
				te := restore(t, release, dir.Name())
				changes := te.goOn()
				if checkTokens(t, dir.Name(), te.composed()) == 0 {
					t.Error("the tenant has no token any more")
				}
				for _, d := range changes {
					resource := dir.Name() + "/" + d.name
					found, restarting := mention(resource)
					mark := ""
					if d.restarts {
						mark = " (" + restarts + ")"
					}
					if !found || d.restarts && !restarting {
						t.Errorf("%s differs from %s, and CHANGELOG.md doesn't say so. If it is meant to, write into its first section:\n\n- Renders: `%s`: why%s.\n\n-%s, +today:\n%s",
							resource, release, resource, mark, release, d.text)
					}
				}
			})
		}
	})
	for i, item := range named {
		if !used[i] {
			t.Errorf("CHANGELOG.md says that %s differ from %s, and none does", strings.Join(item.patterns, ", "), release)
		}
	}
}

// lastRelease returns the version whose renders are kept.
func lastRelease() (string, error) {
	dirs, err := os.ReadDir(releases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(dirs) != 1 {
		return "", fmt.Errorf("want the renders of one release in test/render/%s, have %d: make release-renders writes them", releases, len(dirs))
	}
	version := dirs[0].Name()
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err != nil {
		return "", fmt.Errorf("folder %s is named after no version: %w", version, err)
	}
	return version, nil
}

// keepRelease writes today's Ready tenants in the place of the last release's.
func keepRelease(t *testing.T) {
	t.Helper()
	version, err := xpkg.Version(root)
	check(t, err)
	check(t, os.RemoveAll(releases))
	for name, tc := range wholeTenants {
		te := newTenant(t, tc.claim, tc.xrd, tc.composition, tc.input)
		if tc.plan != "" {
			te.required = append(te.required, read(t, filepath.Join(root, tc.plan))...)
		}
		te.bringUp(func(string) {})
		// Some of it is composed only now.
		te.goOn()
		dir := filepath.Join(releases, version, name)
		check(t, os.MkdirAll(dir, 0o755)) //nolint:gosec // Part of the project, for everybody to read.
		for file, objects := range map[string][]*object{
			"xr.yaml": {te.xr}, "composed.yaml": te.observed, "secrets.yaml": te.secrets,
			"required.yaml": slices.DeleteFunc(slices.Clone(te.required), isOfHost),
		} {
			check(t, os.WriteFile(filepath.Join(dir, file), manifests(t, objects), 0o644)) //nolint:gosec // As above.
		}
		if tc.input != "" {
			check(t, os.WriteFile(filepath.Join(dir, "input.yaml"), readFile(t, filepath.Join(root, tc.input)), 0o644)) //nolint:gosec // As above.
		}
	}
}

// restore returns a tenant as a release left it.
func restore(t *testing.T, release, name string) *tenant {
	t.Helper()
	tc, ok := wholeTenants[name]
	if !ok {
		t.Fatalf("%s has a tenant %s, and wholeTenants has none: keep it there until the next release", release, name)
	}
	dir := filepath.Join(releases, release, name)
	input := ""
	if _, err := os.Stat(filepath.Join(dir, "input.yaml")); err == nil {
		input = filepath.Join("test", "render", dir, "input.yaml")
	}
	te := newTenant(t, tc.claim, tc.xrd, tc.composition, input)
	te.required = slices.DeleteFunc(te.required, func(o *object) bool { return !isOfHost(o) })
	te.xr = read(t, filepath.Join(dir, "xr.yaml"))[0]
	te.observed = read(t, filepath.Join(dir, "composed.yaml"))
	te.secrets = read(t, filepath.Join(dir, "secrets.yaml"))
	for _, o := range read(t, filepath.Join(dir, "required.yaml")) {
		te.required = append(te.required, converted(t, o))
	}
	return te
}

// conversion matches the command with which users convert the plans of v0.2.0.
var conversion = regexp.MustCompile(`(?m)^    kubectl get environmentconfig .* \| jq '(.*)' \| kubectl apply -f -$`)

// converted returns what users make of an object of the last release before they go on: plans were EnvironmentConfigs in v0.2.0.
func converted(t *testing.T, o *object) *object {
	t.Helper()
	if o.GetKind() != "EnvironmentConfig" {
		return o
	}
	command := conversion.FindSubmatch(readFile(t, filepath.Join(root, "docs/plans.md")))
	if command == nil {
		t.Fatal("docs/plans.md has no command that converts plans")
	}
	query, err := gojq.Parse(string(command[1]))
	check(t, err)
	plan, ok := query.Run(map[string]any{"items": []any{o.Object}}).Next()
	fields, isObject := plan.(map[string]any)
	if !ok || !isObject || fields["kind"] != v1alpha1.PlanKind {
		t.Fatalf("the command in docs/plans.md makes %v of a plan", plan)
	}
	return &object{Object: fields}
}

// TestConversionOfPlans: amounts that v0.2.0 took as numbers are ones that the XRD of plans takes: integers and texts.
func TestConversionOfPlans(t *testing.T) {
	o := &object{Object: map[string]any{
		"kind": "EnvironmentConfig", "metadata": map[string]any{"labels": map[string]any{"virtualargocd.io/plan": "small"}},
		"data": map[string]any{"quota": map[string]any{"limits.cpu": 0.5, "count/pods": 20}},
	}}
	want := map[string]any{"quota": map[string]any{"limits.cpu": "0.5", "count/pods": 20}}
	if diff := cmp.Diff(want, converted(t, o).Object["spec"]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// isOfHost reports whether an object is one of examples/install, which are applied again before
// each upgrade: an admission policy, or what observes the resolver for tenants.
func isOfHost(o *object) bool {
	return o.GroupVersionKind().Group == "admissionregistration.k8s.io" || isResolver(o)
}

// A difference between what a release rendered and what is rendered now.
type difference struct {
	// name of the resource in the composition.
	name string
	// restarts reports whether it restarts the virtual API.
	restarts bool
	text     string
}

// goOn reconciles the tenant until nothing changes any more, and returns how the
// composed resources differ from those before, be it for one reconcile only.
func (te *tenant) goOn() []difference {
	te.t.Helper()
	before := te.observed
	// Without it, no difference would ever be one that restarts something.
	te.get(virtualCluster)
	var out []difference
	for range 5 {
		was := te.observed
		te.reconcile()
		for _, d := range differences(te.t, before, te.composed()) {
			if !slices.ContainsFunc(out, func(o difference) bool { return o.name == d.name }) {
				out = append(out, d)
			}
		}
		if len(differences(te.t, was, te.composed())) == 0 {
			return out
		}
	}
	te.t.Fatal("the tenant's composed resources change at each reconcile")
	return nil
}

// virtualCluster is the Release of the virtual cluster.
const virtualCluster = "vcluster"

func differences(t testing.TB, before, after []*object) []difference {
	t.Helper()
	names := map[string][2]*object{}
	for i, objects := range [][]*object{before, after} {
		for _, o := range objects {
			name := o.GetAnnotations()[nameInComposition]
			pair := names[name]
			pair[i] = desired(o)
			names[name] = pair
		}
	}
	var out []difference
	for name, pair := range names {
		lines := func(o *object) []string {
			if o == nil {
				return nil
			}
			return strings.Split(string(manifests(t, []*object{o})), "\n")
		}
		if text := cmp.Diff(lines(pair[0]), lines(pair[1])); text != "" {
			out = append(out, difference{name: name, restarts: name == virtualCluster && restartsVirtualAPI(pair[0], pair[1]), text: text})
		}
	}
	slices.SortFunc(out, func(a, b difference) int { return strings.Compare(a.name, b.name) })
	return out
}

// desired returns what the function has to do with in an observed object.
func desired(o *object) *object {
	o = o.DeepCopy()
	delete(o.Object, "status")
	o.SetUID("")
	if text(o, "type") == "kubernetes.io/service-account-token" {
		// Kubernetes writes it.
		delete(o.Object, "data")
	}
	return o
}

// restartsVirtualAPI reports whether the Release of a virtual cluster changes in a
// way that replaces its pods: the chart writes a digest of all its values there.
func restartsVirtualAPI(was, now *object) bool {
	if was == nil || now == nil {
		return true
	}
	for _, path := range [][]string{{"chart", "name"}, {"chart", "version"}, {"values"}, {"valuesFrom"}, {"set"}} {
		path = append([]string{"spec", "forProvider"}, path...)
		a, _, _ := unstructured.NestedFieldNoCopy(was.Object, path...)
		b, _, _ := unstructured.NestedFieldNoCopy(now.Object, path...)
		if !reflect.DeepEqual(a, b) {
			return true
		}
	}
	return false
}

func TestDifferences(t *testing.T) {
	const release = `{apiVersion: helm.crossplane.io/v1beta1, kind: Release, metadata: {uid: a, annotations: {crossplane.io/composition-resource-name: vcluster}}, ` +
		`spec: {forProvider: {chart: {name: vcluster, version: 0.36.1}, values: {a: b}, wait: true}}, status: {synced: true}}`
	const token = `{kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {crossplane.io/composition-resource-name: token}}, data: {token: YQ==}}`
	cases := map[string]struct {
		reason, before, after string
		// want maps the names that differ to whether the virtual API restarts.
		want map[string]bool
	}{
		"Nothing":      {"What others write is no difference.", release + "\n---\n" + token, strings.NewReplacer("uid: a, ", "", ", status: {synced: true}", "", ", data: {token: YQ==}", "").Replace(release + "\n---\n" + token), nil},
		"ChartVersion": {"Another chart has another image.", release, strings.Replace(release, "0.36.1", "0.36.2", 1), map[string]bool{"vcluster": true}},
		"Values":       {"The chart writes a digest of its values on the pod.", release, strings.Replace(release, "a: b", "a: c", 1), map[string]bool{"vcluster": true}},
		"ValuesFrom":   {"Values in a Secret are values.", release, strings.Replace(release, "wait: true", "valuesFrom: [{secretKeyRef: {name: s}}], wait: true", 1), map[string]bool{"vcluster": true}},
		"Wait":         {"How the provider installs is nothing to the pod.", release, strings.Replace(release, "wait: true", "wait: false", 1), map[string]bool{"vcluster": false}},
		"OtherRelease": {"Another Release's values are not the virtual API's.", strings.Replace(release, "name: vcluster}}", "name: argocd}}", 1), strings.NewReplacer("name: vcluster}}", "name: argocd}}", "a: b", "a: c").Replace(release), map[string]bool{"argocd": false}},
		"Removed":      {"What isn't rendered any more is deleted.", release + "\n---\n" + token, token, map[string]bool{"vcluster": true}},
		"Added":        {"What is new has to be named, too.", release, release + "\n---\n" + token, map[string]bool{"token": false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, d := range differences(t, parse(t, []byte(tc.before)), parse(t, []byte(tc.after))) {
				got[d.name] = d.restarts
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\ndifferences(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
