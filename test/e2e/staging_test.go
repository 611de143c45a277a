//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// stagedWithin is how long Crossplane may take to show a claim what its revision says.
const stagedWithin = 3 * time.Minute

// staging is a platform that follows docs/composition-revisions.md, with the manifests of examples/staging. Which revision a claim has
// shows in its status as soon as the function was called, so only the tenant whose network changes has to come up.
type staging struct {
	composition *unstructured.Unstructured
	namespace   string
	// live are the claims by the label that they select by.
	canary, production, pinned *claim.Live
	// up is a claim whose tenant comes up.
	up *claim.Live
	// before, after and later are the versions of the argo-cd chart in the three releases.
	before, after, later string
}

func TestStaging(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	s := &staging{after: "10.1.1", later: "10.1.2"}
	testenv.Test(t, features.New("staging").
		Setup(s.install).
		Assess("AChangeReachesTheCanaryAlone", s.change).
		Assess("APromotedChangeReachesProduction", s.promote).
		Assess("APinnedClaimIsMoved", s.move).
		Assess("AHeldTenantStaysUntilItIsLetGo", s.hold).
		Assess("AChangeOfTheNetworkRestartsNoPod", s.network).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s.remove(ctx, t)
			return ctx
		}).Feature())
}

func (s *staging) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	namespace := examplesOf(t, "staging/namespace.yaml")[0]
	s.namespace = namespace.GetName()
	createObject(ctx, t, namespace)
	s.composition = examplesOf(t, "staging/composition.yaml")[0]
	s.before = s.chart(t)
	createObject(ctx, t, s.composition)
	s.awaitRevision(ctx, t, "canary", "1")
	s.apply(ctx, t, "production", "1", s.before)
	for _, o := range examplesOf(t, "staging/claims.yaml") {
		l := claim.Create(ctx, t, host, claim.FromObject(o))
		switch o.GetName() {
		case "staged-canary":
			s.canary = l
		case "staged-production":
			s.production = l
		case "staged-pinned":
			s.pinned = l
		default:
			t.Errorf("examples/staging has a claim %s that this test doesn't know", o.GetName())
		}
	}
	s.have(ctx, t, s.before, s.canary, s.production, s.pinned)
	return ctx
}

func (s *staging) change(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.apply(ctx, t, "canary", "2", s.after)
	s.have(ctx, t, s.after, s.canary)
	s.keep(ctx, t, s.before, s.production, s.pinned)
	return ctx
}

func (s *staging) promote(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.apply(ctx, t, "production", "2", s.after)
	s.have(ctx, t, s.after, s.canary, s.production)
	s.keep(ctx, t, s.before, s.pinned)
	return ctx
}

func (s *staging) move(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.pinned.Patch(ctx, t, "2", "spec", "compositionRevisionSelector", "matchLabels", "release")
	s.have(ctx, t, s.after, s.pinned)
	return ctx
}

func (s *staging) hold(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.policy(ctx, t, s.production, "Manual")
	s.apply(ctx, t, "canary", "3", s.later)
	s.apply(ctx, t, "production", "3", s.later)
	s.have(ctx, t, s.later, s.canary)
	s.keep(ctx, t, s.after, s.production)
	s.policy(ctx, t, s.production, "Automatic")
	s.have(ctx, t, s.later, s.production)
	return ctx
}

// network adds a range of addresses that tenants may not reach, while one of them is Ready.
func (s *staging) network(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	input := platformInput(ctx, t)
	s.set(t, input)
	version := s.chart(t)
	s.apply(ctx, t, "production", "4", version)
	s.up = claim.Create(ctx, t, host, newClaim("staged-up").In(s.namespace).
		Set(s.composition.GetName(), "spec", "compositionRef", "name").
		Set("production", "spec", "compositionRevisionSelector", "matchLabels", "stage"))
	s.up.AwaitReady(ctx, t, readyWithin)
	namespace := tenantNamespace(ctx, s.up)
	const forbidden = "198.51.100.0/25"
	forbids := func(ctx context.Context) (bool, string) {
		policies, err := host.Typed.NetworkingV1().NetworkPolicies(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(fmt.Sprint(policies.Items), forbidden), fmt.Sprintf("%d NetworkPolicies", len(policies.Items))
	}
	if is, _ := forbids(ctx); is {
		t.Fatalf("%s is forbidden already", forbidden)
	}
	var before map[string]string
	eventually.True(ctx, t, time.Minute, "no pod of the change before is left", func(ctx context.Context) (bool, string) {
		pods, ending := podsOf(ctx, t, namespace, nil)
		before = pods
		return len(ending) == 0, fmt.Sprint(ending)
	})
	if len(before) < 8 {
		t.Errorf("a whole tenant has more than %d pods: %v", len(before), before)
	}
	s.set(t, []any{forbidden}, "network", "internalCIDRs")
	s.apply(ctx, t, "production", "5", version)
	eventually.True(ctx, t, stagedWithin, "tenants may not reach "+forbidden, forbids)
	s.up.AwaitReady(ctx, t, readyWithin)
	if after, ending := podsOf(ctx, t, namespace, nil); len(ending) > 0 || !maps.Equal(before, after) {
		t.Errorf("a change of the network has changed pods: before %v, after %v, of which these end: %v", before, after, ending)
	}
	return ctx
}

// policy writes how a claim's composite resource follows its Composition.
func (s *staging) policy(ctx context.Context, t *testing.T, l *claim.Live, policy string) {
	t.Helper()
	patchXR(ctx, t, l, fmt.Appendf(nil, `{"spec":{"compositionUpdatePolicy":%q}}`, policy))
}

// apply changes the Composition, and waits for the revision that Crossplane makes of that.
func (s *staging) apply(ctx context.Context, t *testing.T, stage, release, chart string) {
	t.Helper()
	s.set(t, chart, "charts", "argocd", "version")
	s.composition.SetLabels(map[string]string{"stage": stage, "release": release})
	patch, err := s.composition.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all(t, s.composition.GroupVersionKind()).Patch(ctx, s.composition.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot change the Composition: %v", err)
	}
	s.awaitRevision(ctx, t, stage, release)
}

// awaitRevision waits until the newest revision is that of a stage and a release.
func (s *staging) awaitRevision(ctx context.Context, t *testing.T, stage, release string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, fmt.Sprintf("the newest revision is release %s for %s", release, stage), func(ctx context.Context) (bool, string) {
		list, err := all(t, s.composition.GroupVersionKind().GroupVersion().WithKind("CompositionRevision")).List(ctx, metav1.ListOptions{
			LabelSelector: "crossplane.io/composition-name=" + s.composition.GetName(),
		})
		if err != nil {
			return false, err.Error()
		}
		var newest unstructured.Unstructured
		revision := func(o unstructured.Unstructured) int64 {
			n, _, _ := unstructured.NestedInt64(o.Object, "spec", "revision")
			return n
		}
		for _, o := range list.Items {
			if newest.Object == nil || revision(o) > revision(newest) {
				newest = o
			}
		}
		labels := newest.GetLabels()
		return labels["stage"] == stage && labels["release"] == release, fmt.Sprintf("%d revisions, the newest is %s with %v", len(list.Items), newest.GetName(), labels)
	})
}

// chart returns the version of the argo-cd chart in the Composition's input.
func (s *staging) chart(t *testing.T) string {
	t.Helper()
	steps := s.steps(t)
	out, ok, _ := unstructured.NestedString(steps[0].(map[string]any), "input", "charts", "argocd", "version")
	if !ok {
		t.Fatal("the Composition's input names no version of the argo-cd chart")
	}
	return out
}

// set writes a field of the Composition's input.
func (s *staging) set(t *testing.T, value any, path ...string) {
	t.Helper()
	steps := s.steps(t)
	if err := unstructured.SetNestedField(steps[0].(map[string]any), value, append([]string{"input"}, path...)...); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(s.composition.Object, steps, "spec", "pipeline"); err != nil {
		t.Fatal(err)
	}
}

// steps returns the pipeline of the Composition.
func (s *staging) steps(t *testing.T) []any {
	t.Helper()
	steps, _, err := unstructured.NestedSlice(s.composition.Object, "spec", "pipeline")
	if err != nil || len(steps) != 1 {
		t.Fatalf("want a pipeline of one step, have %d: %v", len(steps), err)
	}
	return steps
}

// have waits until claims want a version of the argo-cd chart.
func (s *staging) have(ctx context.Context, t *testing.T, version string, claims ...*claim.Live) {
	t.Helper()
	for _, l := range claims {
		l.Await(ctx, t, stagedWithin, "wants chart "+version, func(s *claim.State) bool { return s.ArgoCD.DesiredChartVersion == version })
	}
}

// keep looks for a while whether claims still want a version of the argo-cd chart. Crossplane looks at each composite
// resource once a minute at least.
func (s *staging) keep(ctx context.Context, t *testing.T, version string, claims ...*claim.Live) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
		for _, l := range claims {
			state, err := l.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := state.ArgoCD.DesiredChartVersion; got != version {
				t.Fatalf("claim %s wants chart %s, and was to stay with %s", l.Name, got, version)
			}
		}
	}
}

func (s *staging) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, s.canary, s.production, s.pinned, s.up)
	if t.Failed() && keep {
		return
	}
	remove(ctx, t, s.composition)
	if s.namespace != "" {
		deleteNamespace(ctx, t, s.namespace)
	}
}

// examplesOf reads the objects of a file of the examples.
func examplesOf(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	return manifestsOf(t, filepath.Join("../../examples", file))
}

// manifestsOf reads the objects of a file.
func manifestsOf(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // Only read.
	objects, err := manifests.Decode(file)
	if err != nil {
		t.Fatalf("cannot parse %s: %v", path, err)
	}
	return objects
}

// createObject makes an object as kubectl does.
func createObject(ctx context.Context, t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	client, err := host.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}
