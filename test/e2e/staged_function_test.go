//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	// stagedFunctionNamespace is where the claims of TestStagedFunction are, which choose their Composition.
	stagedFunctionNamespace = "e2e-staged-function"
	// stagedChannel is the channel of one of the claims.
	stagedChannel = "e2e-staged"
	// sleepersPlan is the plan of one of the claims.
	sleepersPlan = "e2e-staged-sleeper"
	// helpText is a value of argo-cd that the next version of the function sets for each tenant, and this one for none.
	helpText = "from the next version of the function"
)

// planKind are plans.
var planKind = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.PlanKind}

// stagedFunction is a platform that gives two tenants the next version of the function first, as docs/staging.md says, with
// examples/staging/function.yaml.
type stagedFunction struct {
	function, composition, channel, plan *unstructured.Unstructured
	// installed is the Composition that the Configuration has installed.
	installed string
	// stays is never moved to the next version. moved is, and so is member, which is in a channel. sleeper sleeps while all get it.
	stays, moved, member, sleeper *claim.Live
	had                           map[*claim.Live]map[string]types.UID
	// written is what was written for stays.
	written map[string]string
	// version is the next one, and input is that of the Configuration.
	version string
	input   any
	// first are the Function and the Configuration that serve all others, as they were.
	first []*unstructured.Unstructured
}

// TestStagedFunction runs with no other test beside it: all tenants get the next version in the end.
func TestStagedFunction(t *testing.T) {
	onlyInFull(t)
	if packages == "" {
		t.Skip("NOT TRIED HERE: THIS PUSHES A PACKAGE. SET REGISTRY AND PUSH, OR UNSET KUBECONFIG")
	}
	s := &stagedFunction{had: map[*claim.Live]map[string]types.UID{}}
	testenv.Test(t, features.New("staged function").
		Setup(s.create).
		Assess("WithoutTheFunctionNothingChanges", s.missing).
		Assess("TheNextVersionServesTheMovedTenants", s.serves).
		Assess("TheChannelReachesItsMovedTenant", s.offers).
		Assess("TheTenantsGoBack", s.back).
		Assess("AllGetTheNextVersion", s.everybody).
		Assess("ASleeperGetsItWhenItWakes", s.wakesUp).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, s.stays, s.moved, s.member, s.sleeper)
			if t.Failed() && keep {
				return ctx
			}
			s.remove(ctx, t, s.channel, s.function, s.composition, s.plan)
			deleteNamespace(ctx, t, stagedFunctionNamespace)
			if len(s.first) > 0 {
				s.install(ctx, t, s.first...)
				// Packages have other revisions now. That no tenant has left anything is what cleanUp has seen.
				var err error
				if before, err = inventory.Take(ctx, host); err != nil {
					t.Error(err)
				}
			}
			return ctx
		}).Feature())
}

func (s *stagedFunction) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stagedFunctionNamespace, Annotations: map[string]string{
		"virtualargocd.io/allow-composition-choice": "true",
	}}}
	if _, err := host.Typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, o := range examplesOf(t, "staging/function.yaml") {
		switch o.GetKind() {
		case "Function":
			s.function = o
		case "Composition":
			s.composition = o
		}
	}
	s.channel = emptyChannel(ctx, t, stagedChannel)
	of := func(name string) *claim.Claim { return newClaim(name).In(stagedFunctionNamespace) }
	// The function's image has a time zone database, or it would refuse this.
	window := map[string]any{"begin": "220000", "end": "030000", "timeZone": "Europe/Berlin"}
	s.stays = claim.Create(ctx, t, host, of("staged-stays").Set(window, "spec", "maintenance", "timeWindow"))
	s.moved = claim.Create(ctx, t, host, of("staged-moved"))
	s.member = claim.Create(ctx, t, host, of("staged-member").Set(stagedChannel, "spec", "channel"))
	s.plan = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	s.plan.SetGroupVersionKind(planKind)
	s.plan.SetName(sleepersPlan)
	createObject(ctx, t, s.plan)
	s.sleeper = claim.Create(ctx, t, host, of("staged-sleeper").Set(sleepersPlan, "spec", "plan"))
	s.pushFunction(ctx, t)
	set(t, s.function, published(xpkg.FunctionName, s.version), "spec", "package")
	for _, l := range append(s.lives(), s.sleeper) {
		l.AwaitReady(ctx, t, readyWithin)
		s.has(ctx, t, l, "help.chatText", "")
		s.had[l] = identities(ctx, t, l)
	}
	settles(ctx, t, s.stays)
	s.written = writtenFor(ctx, t, s.stays)
	xr, err := s.moved.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.installed, _, _ = unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
	s.copyInput(ctx, t)
	return ctx
}

func (s *stagedFunction) lives() []*claim.Live { return []*claim.Live{s.stays, s.moved, s.member} }

// published returns the package of that name and version.
func published(name, version string) string {
	return xpkg.PublishedRegistry + "/" + name + ":" + version
}

// pushFunction builds and pushes a next version of the function, which sets another default for Argo CD.
func (s *stagedFunction) pushFunction(ctx context.Context, t *testing.T) xpkg.Pushed {
	t.Helper()
	root, err := filepath.Abs(projectRoot)
	if err != nil {
		t.Fatal(err)
	}
	version, err := xpkg.Version(root)
	if err != nil {
		t.Fatal(err)
	}
	// Crossplane doesn't take a pre-release for the version that the Configuration depends on.
	s.version = fmt.Sprintf("v%s-next", semver.MustParse(version).IncMinor())
	out := t.TempDir()
	defaults, other := filepath.Join(root, "fn/core/argocd/defaults.yaml"), filepath.Join(out, "defaults.yaml")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{defaults: other}})
	if err != nil {
		t.Fatal(err)
	}
	p := xpkg.Project{Root: root, Out: out, Version: s.version, Overlay: filepath.Join(out, "overlay.json")}
	for file, content := range map[string]string{
		other:     contentOf(t, root, "fn/core/argocd/defaults.yaml") + "\nconfigs: {cm: {help.chatText: " + helpText + "}}\n",
		p.Overlay: string(overlay),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.BuildFunction(ctx, runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	pushed, err := xpkg.PushFiles(ctx, packages+"/"+xpkg.FunctionName+":"+s.version, nil, p.FunctionFile(runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the next version is %s", pushed)
	return pushed
}

// pushConfiguration builds and pushes the Configuration of the next version, with the input that the cluster's Configuration has.
func (s *stagedFunction) pushConfiguration(ctx context.Context, t *testing.T) {
	t.Helper()
	root, err := filepath.Abs(projectRoot)
	if err != nil {
		t.Fatal(err)
	}
	p := xpkg.Project{Root: root, Out: t.TempDir(), Version: s.version}
	p.Input = filepath.Join(p.Out, "input.yaml")
	input, err := json.Marshal(s.input)
	if err == nil {
		err = os.WriteFile(p.Input, input, 0o600)
	}
	if err == nil {
		err = p.BuildConfiguration()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := xpkg.PushFiles(ctx, packages+"/"+xpkg.ConfigurationName+":"+s.version, nil, p.ConfigurationFile()); err != nil {
		t.Fatal(err)
	}
}

// copyInput gives the second Composition the input of the first.
func (s *stagedFunction) copyInput(ctx context.Context, t *testing.T) {
	t.Helper()
	s.input = inputOf(ctx, t, s.installed)
	to, _, _ := unstructured.NestedSlice(s.composition.Object, "spec", "pipeline")
	if len(to) != 1 {
		t.Fatalf("want one step in Composition %s, have %d", s.composition.GetName(), len(to))
	}
	to[0].(map[string]any)["input"] = s.input //nolint:forcetypeassert // Steps are objects.
	if err := unstructured.SetNestedSlice(s.composition.Object, to, "spec", "pipeline"); err != nil {
		t.Fatal(err)
	}
}

// inputOf is the function's input in a Composition.
func inputOf(ctx context.Context, t *testing.T, composition string) any {
	t.Helper()
	o, err := all(t, schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"}).Get(ctx, composition, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	steps, _, _ := unstructured.NestedSlice(o.Object, "spec", "pipeline")
	if len(steps) != 1 {
		t.Fatalf("want one step in Composition %s, have %d", composition, len(steps))
	}
	return steps[0].(map[string]any)["input"] //nolint:forcetypeassert // Steps are objects.
}

// missing moves a tenant before the second Function is there: Crossplane names that one, and the tenant stays as it is.
func (s *stagedFunction) missing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	createObject(ctx, t, s.composition)
	s.moveTo(ctx, t, s.composition.GetName(), s.moved)
	eventually.True(ctx, t, 3*time.Minute, "Crossplane misses the second Function", func(ctx context.Context) (bool, string) {
		xr, err := s.moved.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		synced := condition(xr, "Synced")
		return synced.Status == metav1.ConditionFalse && strings.Contains(synced.Message, s.function.GetName()), fmt.Sprint(synced)
	})
	s.same(ctx, t, s.moved)
	return ctx
}

// serves installs the second Function, which serves both tenants that are moved, and no other.
func (s *stagedFunction) serves(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	createObject(ctx, t, s.function)
	packagesHealthy(ctx, t)
	s.moveTo(ctx, t, s.composition.GetName(), s.member)
	for _, l := range []*claim.Live{s.moved, s.member} {
		s.synced(ctx, t, l)
		s.has(ctx, t, l, "help.chatText", helpText)
		s.same(ctx, t, l)
	}
	s.untouched(ctx, t)
	return ctx
}

// packagesHealthy waits until all Functions and Configurations are healthy, with the packages that they name.
func packagesHealthy(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, gvk := range []schema.GroupVersionKind{functions, configurations} {
		eventually.True(ctx, t, 3*time.Minute, "all packages of kind "+gvk.Kind+" are healthy", func(ctx context.Context) (bool, string) {
			list, err := all(t, gvk).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			for i := range list.Items {
				healthy := condition(&list.Items[i], "Healthy")
				want, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "package")
				is, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "currentIdentifier")
				if healthy.Status != metav1.ConditionTrue || is != want {
					return false, fmt.Sprint(list.Items[i].GetName(), " has ", is, " of ", want, ": ", healthy)
				}
			}
			return len(list.Items) > 0, "none"
		})
	}
}

// offers edits the channel's offer, which the first function still gives to the channel's tenants, and the second one composes.
func (s *stagedFunction) offers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const offer = `{"spec":{"offer":{"argocd":{"values":{"configs":{"cm":{"statusbadge.enabled":"true"}}}}}}}`
	if _, err := all(t, s.channel.GroupVersionKind()).Patch(ctx, stagedChannel, types.MergePatchType, []byte(offer), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.has(ctx, t, s.member, "statusbadge.enabled", "true")
	s.has(ctx, t, s.member, "help.chatText", helpText)
	s.same(ctx, t, s.member)
	return ctx
}

// back moves both tenants to the first Function. What the channel has offered stays.
func (s *stagedFunction) back(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.moveTo(ctx, t, s.installed, s.moved, s.member)
	for _, l := range []*claim.Live{s.moved, s.member} {
		s.synced(ctx, t, l)
	}
	for _, l := range []*claim.Live{s.moved, s.member} {
		s.has(ctx, t, l, "help.chatText", "")
		s.same(ctx, t, l)
	}
	s.has(ctx, t, s.member, "statusbadge.enabled", "true")
	s.untouched(ctx, t)
	return ctx
}

// everybody gives the next version to the first Function, and installs its Configuration, while the second Function serves the tenants that are
// moved. Then these go back, and the second Function is deleted. All tenants have the next version.
func (s *stagedFunction) everybody(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	moved := []*claim.Live{s.moved, s.member}
	s.moveTo(ctx, t, s.composition.GetName(), moved...)
	for _, l := range moved {
		s.synced(ctx, t, l)
		s.has(ctx, t, l, "help.chatText", helpText)
	}
	s.sleeper.Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, s.sleeper, "spec.hibernation.enabled says so")
	s.pushConfiguration(ctx, t)
	var next []*unstructured.Unstructured
	for _, of := range []struct {
		kind         schema.GroupVersionKind
		object, name string
	}{{functions, "virtual-argocd-" + xpkg.FunctionName, xpkg.FunctionName}, {configurations, xpkg.ConfigurationName, xpkg.ConfigurationName}} {
		is, err := all(t, of.kind).Get(ctx, of.object, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.first = append(s.first, is)
		is = is.DeepCopy()
		set(t, is, published(of.name, s.version), "spec", "package")
		next = append(next, is)
	}
	s.install(ctx, t, next...)
	look(ctx, t, s.stays)
	s.has(ctx, t, s.stays, "help.chatText", helpText)
	s.moveTo(ctx, t, s.installed, moved...)
	for _, l := range moved {
		s.synced(ctx, t, l)
	}
	s.remove(ctx, t, s.function, s.composition)
	packagesHealthy(ctx, t)
	s.written = writtenFor(ctx, t, s.stays)
	s.untouched(ctx, t)
	for _, l := range s.lives() {
		s.has(ctx, t, l, "help.chatText", helpText)
		s.same(ctx, t, l)
	}
	s.has(ctx, t, s.member, "statusbadge.enabled", "true")
	return ctx
}

// helmRevisions are the numbers of the revisions of a claim's Helm releases, as its provider has seen them last, by name.
func helmRevisions(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range composed {
		if o.GetKind() == "Release" {
			status, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
			out[o.GetName()] = fmt.Sprint(status["revision"], status["state"])
		}
	}
	return out
}

// wakesUp: the next version of the function and its Configuration, and then a change of the plan, reach a tenant that is asleep with nothing. On
// waking up it has both.
func (s *stagedFunction) wakesUp(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	was := helmRevisions(ctx, t, s.sleeper)
	if len(was) != 2 {
		t.Errorf("the tenant that is asleep has the releases %v", was)
	}
	const edit = `{"spec":{"values":{"argocd":{"configs":{"cm":{"statusbadge.enabled":"true"}}}}}}`
	if _, err := all(t, planKind).Patch(ctx, sleepersPlan, types.MergePatchType, []byte(edit), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	look(ctx, t, s.sleeper)
	time.Sleep(settled)
	before := versions(ctx, t, s.sleeper)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Second) {
		state, err := s.sleeper.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if pods, _ := podsOf(ctx, t, state.Namespace, nil); len(pods) > 0 || state.Phase != string(v1alpha1.PhaseHibernated) {
			t.Fatalf("a change of the platform wakes it: %v, %s", pods, state)
		}
	}
	if diff := cmp.Diff(was, helmRevisions(ctx, t, s.sleeper)); diff != "" {
		t.Errorf("asleep, its releases change: -before, +after:\n%s", diff)
	}
	if diff := cmp.Diff(before, versions(ctx, t, s.sleeper)); diff != "" {
		t.Errorf("asleep, and after the change of the platform, something is written all the time: -before, +after:\n%s", diff)
	}
	s.sleeper.Patch(ctx, t, nil, "spec", "hibernation")
	wakes(ctx, t, s.sleeper)
	s.has(ctx, t, s.sleeper, "help.chatText", helpText)
	s.has(ctx, t, s.sleeper, "statusbadge.enabled", "true")
	return ctx
}

// install gives packages the versions that are in these objects, as examples/install/README.md says, and waits until they have them.
func (s *stagedFunction) install(ctx context.Context, t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		version, _, _ := unstructured.NestedString(o.Object, "spec", "package")
		patch := fmt.Appendf(nil, `{"spec":{"package":%q}}`, version)
		if _, err := all(t, o.GroupVersionKind()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	packagesHealthy(ctx, t)
}

func (s *stagedFunction) moveTo(ctx context.Context, t *testing.T, composition string, lives ...*claim.Live) {
	t.Helper()
	for _, l := range lives {
		l.Patch(ctx, t, composition, "spec", "compositionRef", "name")
		eventually.True(ctx, t, time.Minute, "the composite resource has Composition "+composition, func(ctx context.Context) (bool, string) {
			xr, err := l.XR(ctx)
			if err != nil {
				return false, err.Error()
			}
			is, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
			return is == composition, is
		})
	}
}

func (s *stagedFunction) synced(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	eventually.True(ctx, t, 3*time.Minute, "the composite resource is synced with its Composition", func(ctx context.Context) (bool, string) {
		xr, err := l.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		name, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
		revision, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRevisionRef", "name")
		synced := condition(xr, "Synced")
		of, found := strings.CutPrefix(revision, name+"-")
		return synced.Status == metav1.ConditionTrue && found && !strings.Contains(of, "-"), fmt.Sprint(revision, ": ", synced)
	})
}

// has waits until the Argo CD of a claim has a setting, "" for none, and the claim is Ready with it.
func (s *stagedFunction) has(ctx context.Context, t *testing.T, l *claim.Live, key, want string) {
	t.Helper()
	virtual := open(ctx, t, l)
	eventually.True(ctx, t, readyWithin, fmt.Sprintf("claim %s has %s %q, rolled out", l.Name, key, want), func(ctx context.Context) (bool, string) {
		cm, err := virtual.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		state, err := l.State(ctx)
		if err != nil {
			return false, err.Error()
		}
		release := releaseOf(ctx, t, l)
		value, _, _ := unstructured.NestedString(release.Object, "spec", "forProvider", "values", "configs", "cm", key)
		helm, _, _ := unstructured.NestedString(release.Object, "status", "atProvider", "state")
		_, ending := podsOf(ctx, t, tenantNamespace(ctx, l), nil)
		done := cm.Data[key] == want && value == want && helm == "deployed" && state.IsReady() && len(ending) == 0
		return done, fmt.Sprintf("argocd-cm has %q, the Release %q and is %s, pods %v end, the claim is %s", cm.Data[key], value, helm, ending, state)
	})
}

// same fails the test where anything of a tenant was replaced. Pods of Argo CD are, when its settings change.
func (s *stagedFunction) same(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	now := identities(ctx, t, l)
	for name, uid := range s.had[l] {
		if now[name] != uid && !strings.Contains(name, "-x-argocd-x-") {
			t.Errorf("claim %s: %s was %s and is %q", l.Name, name, uid, now[name])
		}
	}
}

// untouched has Crossplane look at the tenant that isn't moved, and fails the test where anything of it was written.
func (s *stagedFunction) untouched(ctx context.Context, t *testing.T) {
	t.Helper()
	look(ctx, t, s.stays)
	time.Sleep(time.Minute)
	s.same(ctx, t, s.stays)
	if diff := cmp.Diff(s.written, writtenFor(ctx, t, s.stays)); diff != "" {
		t.Errorf("claim %s, which isn't moved, has changed: -before, +now:\n%s", s.stays.Name, diff)
	}
}

func (s *stagedFunction) remove(ctx context.Context, t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o == nil {
			continue
		}
		if err := all(t, o.GroupVersionKind()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}
