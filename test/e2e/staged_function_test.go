//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// stagedFunctionNamespace is where the claims of TestStagedFunction are, which choose their Composition.
const stagedFunctionNamespace = "e2e-staged-function"

// stagedFunction is a platform that tries a second Function with one tenant, as docs/staging.md says, with examples/staging/function.yaml.
// Both are of the same version here: which of them composes a tenant shows in what its Composition says.
type stagedFunction struct {
	function, composition *unstructured.Unstructured
	// installed is the Composition that the Configuration has installed.
	installed string
	moved     *claim.Live
	had       map[string]types.UID
}

func TestStagedFunction(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	s := &stagedFunction{}
	testenv.Test(t, features.New("staged function").
		Setup(s.create).
		Assess("WithoutTheFunctionNothingChanges", s.missing).
		Assess("TheSecondFunctionServesTheTenant", s.serves).
		Assess("TheTenantGoesBack", s.back).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, s.moved)
			if t.Failed() && keep {
				return ctx
			}
			s.remove(ctx, t)
			deleteNamespace(ctx, t, stagedFunctionNamespace)
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
	// The image is the one that is installed, from wherever that came.
	pkg, _, _ := unstructured.NestedString(findPackage(ctx, t, functions, "/function-virtual-argocd").Object, "spec", "package")
	if err := unstructured.SetNestedField(s.function.Object, pkg, "spec", "package"); err != nil {
		t.Fatal(err)
	}
	s.moved = claim.Create(ctx, t, host, newClaim("moved-between").In(stagedFunctionNamespace))
	s.moved.AwaitReady(ctx, t, readyWithin)
	xr, err := s.moved.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.installed, _, _ = unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
	s.copyInput(ctx, t)
	s.had = identities(ctx, t, s.moved)
	return ctx
}

// copyInput gives the second Composition the input of the first.
func (s *stagedFunction) copyInput(ctx context.Context, t *testing.T) {
	t.Helper()
	first, err := all(t, s.composition.GroupVersionKind()).Get(ctx, s.installed, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	from, _, _ := unstructured.NestedSlice(first.Object, "spec", "pipeline")
	to, _, _ := unstructured.NestedSlice(s.composition.Object, "spec", "pipeline")
	if len(from) != 1 || len(to) != 1 {
		t.Fatalf("want one step in each of the Compositions, have %d and %d", len(from), len(to))
	}
	to[0].(map[string]any)["input"] = from[0].(map[string]any)["input"] //nolint:forcetypeassert // Steps are objects.
	if err := unstructured.SetNestedSlice(s.composition.Object, to, "spec", "pipeline"); err != nil {
		t.Fatal(err)
	}
}

// missing moves the tenant before the second Function is there: Crossplane names that one, and the tenant stays as it is.
func (s *stagedFunction) missing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	createObject(ctx, t, s.composition)
	s.moveTo(ctx, t, s.composition.GetName())
	eventually.True(ctx, t, 3*time.Minute, "Crossplane misses the second Function", func(ctx context.Context) (bool, string) {
		xr, err := s.moved.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		synced := condition(xr, "Synced")
		return synced.Status == metav1.ConditionFalse && strings.Contains(synced.Message, s.function.GetName()), fmt.Sprint(synced)
	})
	s.same(ctx, t)
	return ctx
}

// serves installs the second Function, which takes over, and then changes what the second Composition says.
func (s *stagedFunction) serves(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	createObject(ctx, t, s.function)
	for _, kind := range []string{"/function-virtual-argocd", "/virtual-argocd"} {
		gvk := functions
		if kind == "/virtual-argocd" {
			gvk = functions.GroupVersion().WithKind("Configuration")
		}
		eventually.True(ctx, t, 3*time.Minute, "all packages "+kind+" are healthy", func(ctx context.Context) (bool, string) {
			list, err := all(t, gvk).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			for i := range list.Items {
				if healthy := condition(&list.Items[i], "Healthy"); healthy.Status != metav1.ConditionTrue {
					return false, fmt.Sprint(list.Items[i].GetName(), ": ", healthy)
				}
			}
			return len(list.Items) > 0, "none"
		})
	}
	s.synced(ctx, t)
	s.same(ctx, t)
	s.moved.Patch(ctx, t, "true", "spec", "argocd", "values", "configs", "cm", "statusbadge.enabled")
	// The change replaces pods, whose successors the way back must leave alone.
	s.moved.Await(ctx, t, readyWithin, "has a change of its claim, rolled out", func(st *claim.State) bool {
		release := releaseOf(ctx, t, s.moved)
		badge, _, _ := unstructured.NestedString(release.Object, "spec", "forProvider", "values", "configs", "cm", "statusbadge.enabled")
		revision, _, _ := unstructured.NestedInt64(release.Object, "status", "atProvider", "revision")
		state, _, _ := unstructured.NestedString(release.Object, "status", "atProvider", "state")
		_, ending := podsOf(ctx, t, tenantNamespace(ctx, s.moved), nil)
		return badge == "true" && revision > 1 && state == "deployed" && st.True(claim.Ready) && st.Phase == "Ready" && len(ending) == 0
	})
	s.had = identities(ctx, t, s.moved)
	return ctx
}

// back moves the tenant to the first Function, and takes the second away.
func (s *stagedFunction) back(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.moveTo(ctx, t, s.installed)
	s.synced(ctx, t)
	s.remove(ctx, t)
	s.moved.AwaitReady(ctx, t, readyWithin)
	s.same(ctx, t)
	return ctx
}

func (s *stagedFunction) moveTo(ctx context.Context, t *testing.T, composition string) {
	t.Helper()
	s.moved.Patch(ctx, t, composition, "spec", "compositionRef", "name")
	eventually.True(ctx, t, time.Minute, "the composite resource has Composition "+composition, func(ctx context.Context) (bool, string) {
		xr, err := s.moved.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		is, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
		return is == composition, is
	})
}

func (s *stagedFunction) synced(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually.True(ctx, t, 3*time.Minute, "the composite resource is synced with its Composition", func(ctx context.Context) (bool, string) {
		xr, err := s.moved.XR(ctx)
		if err != nil {
			return false, err.Error()
		}
		name, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
		revision, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRevisionRef", "name")
		synced := condition(xr, "Synced")
		return synced.Status == metav1.ConditionTrue && strings.HasPrefix(revision, name+"-"), fmt.Sprint(revision, ": ", synced)
	})
}

// same fails the test where anything of the tenant was replaced.
func (s *stagedFunction) same(ctx context.Context, t *testing.T) {
	t.Helper()
	now := identities(ctx, t, s.moved)
	for name, uid := range s.had {
		if now[name] != uid {
			t.Errorf("%s was %s and is %q", name, uid, now[name])
		}
	}
}

func (s *stagedFunction) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, o := range []*unstructured.Unstructured{s.function, s.composition} {
		if o == nil {
			continue
		}
		if err := all(t, o.GroupVersionKind()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}
