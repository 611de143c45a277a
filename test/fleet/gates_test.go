//go:build e2e

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// Claims of TestGates.
const (
	internal = "tenant0000" // the mandatory group has it
	frozen   = "tenant0001"
	closed   = "tenant0002" // its window opens in three days
	pinned   = "tenant0003" // it names the version of argo-cd that it has; at the end it leaves the channel
	mover    = "tenant0004" // it moves to another channel
)

// opensWithin is how long after the opening of its window, which is three minutes away, a tenant may take to begin. Crossplane may wait for up to
// 10 percent longer than the function says.
const opensWithin = time.Minute

var compositionKind = schema.GroupVersionResource{Group: "apiextensions.crossplane.io", Version: "v1", Resource: "compositions"}

// gates is a channel whose tenants have a plan and a Composition of their own.
type gates struct{ *offered }

// TestGates takes an offer and an edit of a plan through a channel whose tenants aren't alike. Each tenant gets both when it may, and not
// before, and an edit of the function's input at once. At the end windows open, that of a tenant without a channel, too.
func TestGates(t *testing.T) {
	ctx := t.Context()
	g := newGates(ctx, t)
	before := g.releases(ctx, t)
	runs := before[releaseKey{pinned, "argo-cd"}].version
	g.live(t, pinned).Patch(ctx, t, runs, "spec", "argocd", "chartVersion")

	g.offer(ctx, t, goodVersion)
	g.have(ctx, t, "the offer", func(name string, s *claim.State) bool {
		return s.ArgoCD.ChartVersion == map[bool]string{true: goodVersion, false: runs}[!slices.Contains([]string{frozen, closed, pinned}, name)]
	})
	g.internalIsFirst(ctx, t)
	g.wait(ctx, t, "chart argo-cd "+runs+" to "+goodVersion)

	g.editPlan(ctx, t, "21")
	g.haveParameter(ctx, t, "the plan's edit", planParameter, "20", "21")
	g.internalIsFirst(ctx, t)
	for key, was := range g.releases(ctx, t) {
		if (key.claim == frozen || key.claim == closed) && was != before[key] {
			t.Errorf("the Release of chart %s of claim %s is %v, and was %v before the offer", key.chart, key.claim, was, before[key])
		}
	}

	// The input is what is true of the host, and applies at once to everybody.
	g.editInput(ctx, t, "7")
	g.have(ctx, t, "the input's edit", func(name string, _ *claim.State) bool {
		return parameter(g.releaseOf(ctx, t, name), inputParameter) == "7"
	})
	g.wait(ctx, t, "chart argo-cd "+runs+" to "+goodVersion)

	// A freeze that is taken away.
	g.live(t, frozen).Patch(ctx, t, nil, "spec", "maintenance")
	g.live(t, frozen).Await(ctx, t, 5*time.Minute, "has all that its freeze has kept from it", func(s *claim.State) bool {
		release := g.releaseOf(ctx, t, frozen)
		return s.Phase == "Ready" && s.ArgoCD.ChartVersion == goodVersion && parameter(release, planParameter) == "21" && parameter(release, inputParameter) == "7"
	})
	g.moves(ctx, t)
	g.events(ctx, t)
	g.opens(ctx, t)
}

// Parameters of argo-cd that the plan and the input set.
const (
	planParameter  = "controller.status.processors"
	inputParameter = "reposerver.parallelism.limit"
)

func newGates(ctx context.Context, t *testing.T) *gates {
	t.Helper()
	g := &gates{offered: newOffered("fleet-gates", 6, 5*time.Minute, v1alpha1.ChannelRollout{
		MandatoryGroup: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}},
		MaxConcurrency: 6, MaxFailures: 6,
	})}
	createNamespace(ctx, t, g.name)
	allow := []byte(`{"metadata":{"annotations":{"virtualargocd.io/allow-composition-choice":"true"}}}`)
	if _, err := host.Typed.CoreV1().Namespaces().Patch(ctx, g.name, types.MergePatchType, allow, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	composition, err := host.Dynamic.Resource(compositionKind).Get(ctx, "virtual-argocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	copied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": composition.GetAPIVersion(), "kind": composition.GetKind(), "metadata": map[string]any{"name": g.name}, "spec": composition.Object["spec"],
	}}
	g.keep(ctx, t, compositionKind, copied)
	plan := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": planKind.GroupVersion().String(), "kind": v1alpha1.PlanKind,
		"metadata": map[string]any{"name": g.name},
		"spec":     map[string]any{"values": argocdParameter(planParameter, "20"), "versions": map[string]any{"argocdCharts": []any{">=10.1.0"}}},
	}}
	g.keep(ctx, t, planKind, plan)

	opens := time.Now().Add(3 * 24 * time.Hour).UTC().Weekday().String()[:3]
	g.with = func(c *claim.Claim) {
		c.Set(g.name, "spec", "plan").Set(g.name, "spec", "compositionRef", "name")
		switch c.Name() {
		case internal:
			c.Set("internal", "metadata", "labels", "tier")
		case frozen:
			c.Set("2099-01-01", "spec", "maintenance", "freeze", "until").Set("year end", "spec", "maintenance", "freeze", "reason")
		case closed:
			c.Set(map[string]any{"begin": "100000+0000", "end": "110000+0000"}, "spec", "maintenance", "timeWindow").Set([]any{opens}, "spec", "maintenance", "days")
		}
	}
	g.create(ctx, t)
	return g
}

// keep creates an object, until the test ends.
func (g *gates) keep(ctx context.Context, t *testing.T, kind schema.GroupVersionResource, o *unstructured.Unstructured) {
	t.Helper()
	objects := host.Dynamic.Resource(kind)
	if _, err := objects.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := objects.Delete(context.WithoutCancel(ctx), o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// argocdParameter are chart values that set a parameter of argo-cd.
func argocdParameter(name, value string) map[string]any {
	return map[string]any{"argocd": map[string]any{"configs": map[string]any{"params": map[string]any{name: value}}}}
}

func parameter(release *unstructured.Unstructured, name string) string {
	value, _, _ := unstructured.NestedString(release.Object, "spec", "forProvider", "values", "configs", "params", name)
	return value
}

func (g *gates) live(t *testing.T, name string) *claim.Live {
	t.Helper()
	l, err := claim.Find(host, g.name, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (g *gates) names() (out []string) {
	for i := range g.n {
		out = append(out, fmt.Sprintf("tenant%04d", i))
	}
	return out
}

// releaseOf returns the Release of a claim's Argo CD.
func (g *gates) releaseOf(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	composed, err := g.live(t, name).Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range composed {
		if chart, _, _ := unstructured.NestedString(o.Object, "spec", "forProvider", "chart", "name"); chart == "argo-cd" {
			return o
		}
	}
	t.Fatalf("claim %s has no Release of argo-cd", name)
	return nil
}

func (g *gates) editPlan(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"values":{"argocd":{"configs":{"params":{%q:%q}}}}}}`, planParameter, value)
	if _, err := host.Dynamic.Resource(planKind).Patch(ctx, g.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (g *gates) editInput(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	compositions := host.Dynamic.Resource(compositionKind)
	o, err := compositions.Get(ctx, g.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pipeline, _, _ := unstructured.NestedSlice(o.Object, "spec", "pipeline")
	if len(pipeline) != 1 {
		t.Fatalf("the Composition has %d steps, want one", len(pipeline))
	}
	step := pipeline[0].(map[string]any) //nolint:forcetypeassert // Steps are objects.
	values := argocdParameter(inputParameter, value)["argocd"]
	if _, ok := step["input"]; !ok {
		step["input"] = map[string]any{"apiVersion": "input.virtualargocd.io/v1alpha1", "kind": "Input"}
	}
	if err := unstructured.SetNestedField(step, values, "input", "charts", "argocd", "values"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(o.Object, pipeline, "spec", "pipeline"); err != nil {
		t.Fatal(err)
	}
	if _, err := compositions.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// have waits until all tenants are Ready and as wanted.
func (g *gates) have(ctx context.Context, t *testing.T, what string, wanted func(name string, s *claim.State) bool) {
	t.Helper()
	for _, name := range g.names() {
		g.live(t, name).Await(ctx, t, 5*time.Minute, "has "+what+" only if it may", func(s *claim.State) bool { return s.Phase == "Ready" && wanted(name, s) })
	}
}

// haveParameter waits until all tenants that may have changed have another parameter.
func (g *gates) haveParameter(ctx context.Context, t *testing.T, what, name, before, after string) {
	t.Helper()
	g.have(ctx, t, what, func(of string, _ *claim.State) bool {
		want := after
		if of == frozen || of == closed {
			want = before
		}
		return parameter(g.releaseOf(ctx, t, of), name) == want
	})
	// Crossplane writes what is composed for a tenant in any order.
	eventually.True(ctx, t, 5*time.Minute, "the records say so, too", func(ctx context.Context) (bool, string) {
		s, _, err := g.status(ctx)
		for _, r := range g.records(ctx, t) {
			may := r.Claim != g.name+"/"+frozen && r.Claim != g.name+"/"+closed
			if may && (r.Revision != s.Revision || r.Updating()) {
				return false, fmt.Sprintf("%+v", r)
			}
		}
		return err == nil, fmt.Sprint(err)
	})
}

// internalIsFirst checks that no other tenant has begun before the one that the mandatory group has was Ready with the offer.
func (g *gates) internalIsFirst(ctx context.Context, t *testing.T) {
	t.Helper()
	s, _, err := g.status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]rollout.Record{}
	for _, r := range g.records(ctx, t) {
		records[strings.TrimPrefix(r.Claim, g.name+"/")] = r
	}
	first, others := records[internal], 0
	for name, r := range records {
		if name == internal || r.Revision != s.Revision || r.Unchanged {
			continue
		}
		if others++; r.Took.Before(first.Ready) {
			t.Errorf("claim %s has changed at %s, and claim %s was Ready at %s", name, r.Took, internal, first.Ready)
		}
	}
	if first.Revision != s.Revision || first.Labels["tier"] != "internal" || others < 2 {
		t.Errorf("want revision %d with claim %s and at least two others, got %+v", s.Revision, internal, records)
	}
}

// wait checks what the claims and the channel say of the tenants that may not change yet, and of the one that names its version.
func (g *gates) wait(ctx context.Context, t *testing.T, change string) {
	t.Helper()
	for name, message := range map[string]string{
		frozen: "is frozen until 2099-01-01: year end; would change: " + change, closed: "waits for its maintenance window, ", pinned: "",
	} {
		g.live(t, name).Await(ctx, t, seenWithin, "says what it waits for", func(s *claim.State) bool {
			of, _, _ := unstructured.NestedMap(s.Object.Object, "status", "channel")
			is, _ := of["message"].(string)
			if name == pinned {
				return is == "" && of["updateAvailable"] == false
			}
			return strings.HasPrefix(is, message) && strings.Contains(is, change) && of["updateAvailable"] == true
		})
	}
	for _, words := range []string{"wait for their maintenance windows: " + g.name + "/" + closed, "frozen: " + g.name + "/" + frozen} {
		g.await(ctx, t, seenWithin, v1alpha1.ConditionProgressing, "True", words)
	}
}

// moves has a claim move to another channel, which is paused. It keeps what it has until that goes on.
func (g *gates) moves(ctx context.Context, t *testing.T) {
	t.Helper()
	to := g.name + "-to"
	g.keep(ctx, t, channelKind, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": channelKind.GroupVersion().String(), "kind": v1alpha1.ChannelKind, "metadata": map[string]any{"name": to},
		"spec": map[string]any{"paused": true, "offer": map[string]any{"argocd": map[string]any{"chartVersion": mendedVersion}}},
	}})
	l := g.live(t, mover)
	l.Patch(ctx, t, to, "spec", "channel")
	says := "the channel is paused; would change: chart argo-cd " + goodVersion + " to " + mendedVersion
	l.Await(ctx, t, seenWithin, "keeps what it has in another channel", func(s *claim.State) bool {
		is, _, _ := unstructured.NestedString(s.Object.Object, "status", "channel", "message")
		return is == says && s.Phase == "Ready" && s.ArgoCD.ChartVersion == goodVersion
	})
	g.counts(ctx, t, g.n-1)
	if _, err := host.Dynamic.Resource(channelKind).Patch(ctx, to, types.MergePatchType, []byte(`{"spec":{"paused":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	l.Await(ctx, t, 5*time.Minute, "has the other channel's offer", func(s *claim.State) bool {
		return s.Phase == "Ready" && s.ArgoCD.ChartVersion == mendedVersion
	})
}

// opens has the windows of two tenants open, one in the channel and one without a channel. Both get an edit of the plan then, and not before.
// Nothing else wakes them: Crossplane calls the function again because that has said when.
func (g *gates) opens(ctx context.Context, t *testing.T) {
	t.Helper()
	waiting := map[string]string{closed: "20", pinned: "21"} // what they have of the plan
	g.live(t, pinned).Patch(ctx, t, map[string]any{"channel": nil, "maintenance": map[string]any{"freeze": map[string]any{"until": "2099-01-01"}}}, "spec")
	g.counts(ctx, t, g.n-2)
	g.editPlan(ctx, t, "22")
	// The others are done before the windows open, so that the channel has nobody else to wait for.
	g.have(ctx, t, "the plan's next edit", func(name string, _ *claim.State) bool {
		return parameter(g.releaseOf(ctx, t, name), planParameter) == cmp.Or(waiting[name], "22")
	})

	opens := time.Now().UTC().Truncate(time.Second).Add(3 * time.Minute)
	window := map[string]any{"begin": opens.Format("150405-0700"), "end": opens.Add(time.Hour).Format("150405-0700")}
	for name := range waiting {
		g.live(t, name).Patch(ctx, t, map[string]any{"timeWindow": window, "days": nil, "freeze": nil}, "spec", "maintenance")
	}
	says := opens.Format("waits for its maintenance window, Monday 2006-01-02 15:04 -0700; ") + "would change: "
	for name := range waiting {
		g.live(t, name).Await(ctx, t, seenWithin, "says when its window opens", func(s *claim.State) bool {
			is, _, _ := unstructured.NestedString(s.Object.Object, "status", "channel", "message")
			return strings.HasPrefix(is, says)
		})
	}
	before, began := g.releases(ctx, t), map[string]time.Duration{}
	eventually.True(ctx, t, time.Until(opens)+opensWithin, "both tenants begin to change", func(context.Context) (bool, string) {
		for key, is := range g.releases(ctx, t) {
			if _, has := began[key.claim]; !has && waiting[key.claim] != "" && is != before[key] {
				began[key.claim] = time.Since(opens)
			}
		}
		return len(began) == len(waiting), fmt.Sprintf("after the windows have opened: %v", began)
	})
	for name, after := range began {
		if after < 0 {
			t.Errorf("claim %s has begun to change %s before its window opened", name, -after)
		}
	}
	fmt.Printf("After their windows have opened, tenants begin to change: %v\n", began)
	g.have(ctx, t, "in its window what it waited for", func(name string, s *claim.State) bool {
		release := g.releaseOf(ctx, t, name)
		return parameter(release, planParameter) == "22" && parameter(release, inputParameter) == "7" && (name != closed || s.ArgoCD.ChartVersion == goodVersion)
	})
	g.await(ctx, t, seenWithin, v1alpha1.ConditionComplete, "True", fmt.Sprintf("all %d tenants", g.n-2))
}

// events looks for what claims and the channel have told.
func (g *gates) events(ctx context.Context, t *testing.T) {
	t.Helper()
	for name, want := range map[string]bool{mover: true, frozen: true, closed: false} {
		events, err := g.live(t, name).Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]bool{}
		for _, e := range events {
			has[e.Reason] = true
		}
		if !has[v1alpha1.EventUpdateAvailable] || has[v1alpha1.EventUpdateTaken] != want {
			t.Errorf("claim %s has the events %v, want %s, and %s: %t", name, has, v1alpha1.EventUpdateAvailable, v1alpha1.EventUpdateTaken, want)
		}
	}
	events, err := claim.EventsOf(ctx, host, metav1.NamespaceAll, v1alpha1.ChannelKind, g.name)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{v1alpha1.ReasonUpdatingTenants, v1alpha1.ReasonWaitingForTenants} {
		found := false
		for _, e := range events {
			found = found || e.Reason == reason
		}
		if !found {
			t.Errorf("the channel has no event %s: %v", reason, events)
		}
	}
}
