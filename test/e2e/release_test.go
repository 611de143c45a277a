//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
)

const (
	projectRoot = "../.."
	// polledWithin is more than what Crossplane and its providers take to look at everything once that changes.
	polledWithin = 150 * time.Second
)

// upgradeOfAll is a platform that goes from the last release to what is here, and back.
type upgradeOfAll struct {
	// old is a checkout of the last release.
	old string
	// changes are what CHANGELOG.md says has changed since.
	changes string
	// plain has asked for nothing, full for everything.
	plain, full *claim.Live
	// had is what the tenants of the release had.
	had map[*claim.Live]inventory.Listing
}

// TestRelease runs on an embedded cluster of its own, by make e2e-full.
func TestRelease(t *testing.T) {
	onlyOn(t, "release", "THIS REPLACES PACKAGES")
	u := &upgradeOfAll{had: map[*claim.Live]inventory.Listing{}}
	testenv.Test(t, features.New("from the last release").
		Setup(u.install).
		Assess("UpgradeDeletesNothing", u.upgrade).
		Assess("ChangesReachTenantsAfterIt", u.changed("upgraded")).
		Assess("GoingBackDeletesNothing", u.back).
		Assess("ChangesReachTenantsAfterThat", u.changed("back")).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			u.remove(ctx, t)
			return ctx
		}).Feature())
}

func (u *upgradeOfAll) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	commit := command(ctx, t, projectRoot, "git", "log", "-1", "--format=%H", "--", "test/render/releases")
	if commit == "" {
		t.Fatal("no commit here has written test/render/releases, which make release-renders does: is this a clone without history?")
	}
	u.old = filepath.Join(t.TempDir(), "release")
	command(ctx, t, projectRoot, "git", "worktree", "add", "--detach", u.old, commit)
	t.Cleanup(func() { command(context.Background(), t, projectRoot, "git", "worktree", "remove", "--force", u.old) })
	version := contentOf(t, u.old, "VERSION")
	t.Logf("the last release is %s, commit %s", version, commit)
	found := false
	heading := fmt.Sprintf("\n## [%s]", strings.TrimPrefix(version, "v"))
	if u.changes, _, found = strings.Cut(contentOf(t, projectRoot, "CHANGELOG.md"), heading); !found {
		t.Fatalf("CHANGELOG.md has no section of %s", version)
	}

	u.installRelease(ctx, t, version)
	u.plain = claim.Create(ctx, t, host, newClaim("plain"))
	u.full = u.everything(ctx, t)
	for _, l := range u.lives() {
		l.AwaitReady(ctx, t, readyWithin)
	}
	// Some of it is made after a tenant is Ready.
	u.settle(ctx, t)
	for _, l := range u.lives() {
		u.had[l] = objectsOf(ctx, t, l)
	}
	return ctx
}

// everything claims every part, with the Secrets that it names. Not all of what they name is there, and Argo CD is Ready without.
func (u *upgradeOfAll) everything(ctx context.Context, t *testing.T) *claim.Live {
	t.Helper()
	objects := manifestsOf(t, filepath.Join(projectRoot, "test/render/testdata/everything.yaml"))
	for _, secret := range objects[1:] {
		secret.SetNamespace(claims)
		createObject(ctx, t, secret)
	}
	return claim.Create(ctx, t, host, claim.FromObject(objects[0]).In(claims).
		Set("everything-connection", "spec", "writeConnectionSecretToRef", "name"))
}

func (u *upgradeOfAll) lives() []*claim.Live {
	return slices.DeleteFunc([]*claim.Live{u.plain, u.full}, func(l *claim.Live) bool { return l == nil })
}

// upgrade pauses one tenant first, as examples/install/README.md describes for an upgrade in groups.
func (u *upgradeOfAll) upgrade(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	u.pause(ctx, t, true)
	installFrom(ctx, t, projectRoot)
	u.settle(ctx, t)
	now := objectsOf(ctx, t, u.plain)
	for o, uid := range u.had[u.plain] {
		if now[o] != uid {
			t.Errorf("%s is paused, and %s is gone or was replaced", u.plain.Name, o)
		}
	}
	u.pause(ctx, t, false)
	u.settle(ctx, t)
	u.same(ctx, t)
	return ctx
}

// back goes back to the release. What the release doesn't have may go.
func (u *upgradeOfAll) back(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, l := range u.lives() {
		now := objectsOf(ctx, t, l)
		maps.DeleteFunc(now, func(o inventory.Object, _ types.UID) bool { _, had := u.had[l][o]; return !had })
		u.had[l] = now
	}
	u.installRelease(ctx, t, contentOf(t, u.old, "VERSION"))
	u.settle(ctx, t)
	u.same(ctx, t)
	return ctx
}

// installRelease installs the last release, as its upgrade guide describes: the function first, since Crossplane changes no version of a
// dependency.
func (u *upgradeOfAll) installRelease(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"package":"xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:%s"}}`, version)
	functions := all(t, schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Function"})
	if _, err := functions.Patch(ctx, "virtual-argocd-function-virtual-argocd", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	installFrom(ctx, t, u.old)
}

// settle waits until everything was looked at, and fails when a claim is refused meanwhile. In the end the tenants are Ready.
func (u *upgradeOfAll) settle(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, l := range u.lives() {
		look(ctx, t, l)
	}
	// What was refused before that was so while the function and its input were of two versions.
	for _, l := range u.lives() {
		l.Await(ctx, t, polledWithin, "is accepted after an upgrade", func(s *claim.State) bool { return s.True(claim.SpecAccepted) })
	}
	for end := time.Now().Add(polledWithin); time.Now().Before(end); time.Sleep(5 * time.Second) {
		for _, l := range u.lives() {
			s, err := l.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			// Crossplane sets every condition to Unknown when it calls the function while that is being replaced.
			if s.Condition(claim.SpecAccepted).Status == metav1.ConditionFalse {
				t.Fatalf("claim %s is refused: %s", l.Name, s)
			}
		}
	}
	for _, l := range u.lives() {
		l.AwaitReady(ctx, t, readyWithin)
		l.Await(ctx, t, readyWithin, "is accepted", func(s *claim.State) bool { return s.True(claim.SpecAccepted) })
	}
}

// pause sets whether Crossplane ignores the plain tenant.
func (u *upgradeOfAll) pause(ctx context.Context, t *testing.T, is bool) {
	t.Helper()
	patchXR(ctx, t, u.plain, fmt.Appendf(nil, `{"metadata":{"annotations":{"crossplane.io/paused":"%t"}}}`, is))
}

// same compares what the tenants have with what they had: everything is there still, and is the same object.
func (u *upgradeOfAll) same(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, l := range u.lives() {
		now := objectsOf(ctx, t, l)
		for o, uid := range u.had[l] {
			if u.mayDiffer(o) {
				continue
			}
			switch is, ok := now[o]; {
			case !ok:
				t.Errorf("%s: %s is gone", l.Name, o)
			case is != uid:
				t.Errorf("%s: %s was replaced", l.Name, o)
			}
		}
	}
}

// mayDiffer reports whether an object of a tenant comes and goes: a record of Helm's, of which it keeps the last ones, or a
// pod that CHANGELOG.md says is replaced, with the token of its ServiceAccount.
func (u *upgradeOfAll) mayDiffer(o inventory.Object) bool {
	if strings.HasPrefix(o.Name, "coredns-") && strings.Contains(u.changes, "replaces the pod of its DNS") {
		return o.Resource.Resource == "pods" || o.Resource.Resource == "secrets"
	}
	switch o.Resource.Resource {
	case "secrets":
		return strings.HasPrefix(o.Name, "sh.helm.release.")
	case "pods":
		return strings.HasPrefix(o.Name, "vcluster-") && strings.Contains(u.changes, "restarts the virtual API") ||
			strings.Contains(o.Name, "-x-argocd-x-") && strings.Contains(u.changes, "/argocd`")
	}
	return false
}

// changed changes both claims, and waits until that is rolled out.
func (u *upgradeOfAll) changed(value string) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, l := range u.lives() {
			l.Patch(ctx, t, value, "spec", "argocd", "values", "configs", "cm", "ui.bannercontent")
		}
		for _, l := range u.lives() {
			virtual := open(ctx, t, l)
			eventually.True(ctx, t, 5*time.Minute, "a change of claim "+l.Name+" is rolled out", func(ctx context.Context) (bool, string) {
				cm, err := virtual.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
				if err != nil {
					return false, err.Error()
				}
				return cm.Data["ui.bannercontent"] == value, fmt.Sprint(cm.Data)
			})
			l.AwaitReady(ctx, t, readyWithin)
		}
		return ctx
	}
}

func (u *upgradeOfAll) remove(ctx context.Context, t *testing.T) {
	if u.full != nil {
		u.full.Patch(ctx, t, false, "spec", "deletionProtection")
		eventually.True(ctx, t, time.Minute, "the protected claim can be deleted", func(ctx context.Context) (bool, string) {
			client, err := host.Resource(claim.GVK, u.full.Namespace)
			if err != nil {
				return false, err.Error()
			}
			err = client.Delete(ctx, u.full.Name, metav1.DeleteOptions{})
			return err == nil || kerrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
	cleanUp(ctx, t, u.lives()...)
	for _, o := range manifestsOf(t, filepath.Join(projectRoot, "test/render/testdata/everything.yaml"))[1:] {
		if err := host.Typed.CoreV1().Secrets(claims).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	// Packages have other revisions now. That no tenant has left anything is what cleanUp has seen.
	var err error
	if before, err = inventory.Take(ctx, host); err != nil {
		t.Error(err)
	}
}

// objectsOf lists what there is of a claim's tenant on the host.
func objectsOf(ctx context.Context, t *testing.T, l *claim.Live) inventory.Listing {
	t.Helper()
	listing, err := inventory.Take(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	out := listing.About(l.Name + "-")
	if len(out) < 10 || !slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(o inventory.Object) bool { return o.Resource.Resource == "pods" }) {
		t.Fatalf("the tenant of %s has %d objects, too few to say that none is deleted", l.Name, len(out))
	}
	return out
}

// installFrom has a checkout of the project install its own packages, and what goes with them, on the tests' cluster.
func installFrom(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	began := time.Now()
	command(ctx, t, dir, "make", "cluster")
	t.Logf("the packages of %s are installed after %s", dir, time.Since(began).Round(time.Second))
}

// command runs a program in a folder and returns what it writes.
func command(ctx context.Context, t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// The make that runs these tests is none of that make's business.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s in %s: %v\n%s%s", name, strings.Join(args, " "), dir, err, out.String(), messages.String())
	}
	return strings.TrimSpace(out.String())
}

// contentOf reads a file of a checkout.
func contentOf(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
