package decide

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// TestRecord: a tenant is seen with the revision that it has, and not with what it had before.
func TestRecord(t *testing.T) {
	release := func(version, policies, state string, gaveUp time.Time) wire.Composed {
		return wire.Composed{Struct: wire.Of(resource.MustStructJSON(`{"metadata":{"annotations":{"virtualargocd.io/gave-up":"` + gaveUp.Format(time.RFC3339) + `"}},"spec":{"managementPolicies":[` + policies + `],"forProvider":{"chart":{"version":"` + version + `"},"values":{}}},
			"status":{"atProvider":{"state":"` + state + `"}}}`))}
	}
	long := testNow.Add(-time.Hour)
	same := fingerprint.Of(tenant.Ask{})
	ready := rollout.Record{Revision: 1, Spec: same, Took: long, WasReady: true, Ready: long, Phase: v1alpha1.PhaseReady, Since: long}
	changing := ready.Take(2, true, "1.0.0", time.Hour, long)
	broken := changing.See(v1alpha1.PhaseDegraded, "why", long)
	const back = `"Observe","Create"`
	for name, tc := range map[string]struct {
		reason                   string
		was                      rollout.Record
		revision                 int64
		changes                  bool
		running, policies, state string
		seen                     v1alpha1.Phase
		ask                      tenant.Ask
		channel                  string
		unrecorded               bool
		gaveUp                   time.Time

		phase                             v1alpha1.Phase
		took, wasReady, unchanged, edited bool
		isReady                           bool
	}{
		"New":         {reason: "A new tenant has changed nothing.", revision: 1, seen: v1alpha1.PhasePending, phase: v1alpha1.PhasePending},
		"Same":        {reason: "Nothing happens.", was: ready, revision: 1, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseReady, wasReady: true, isReady: true},
		"Takes":       {reason: "What is observed is about what it had.", was: ready, revision: 2, changes: true, running: "1.0.0", state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseUpdating, took: true, wasReady: true},
		"NotYet":      {reason: "The Release isn't as wanted yet.", was: changing, revision: 2, running: "1.0.0", state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseUpdating, wasReady: true},
		"InPlace":     {reason: "It is.", was: changing, revision: 2, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseReady, wasReady: true, isReady: true},
		"Breaks":      {reason: "And it breaks the tenant.", was: changing, revision: 2, running: "2.0.0", state: "failed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseDegraded, wasReady: true},
		"RolledBack":  {reason: "It failed, and what was before runs.", was: changing, revision: 2, running: "2.0.0", policies: back, gaveUp: long, state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseDegraded, wasReady: true},
		"BackBefore":  {reason: "What had failed before it took the revision isn't the revision's.", was: changing, revision: 2, running: "2.0.0", policies: back, gaveUp: long.Add(-time.Second), state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseReady, wasReady: true, isReady: true},
		"OwnChange":   {reason: "What fails was changed since it was Ready.", was: ready, revision: 1, running: "2.0.0", state: "failed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseUpdating, wasReady: true, isReady: true},
		"LaterBroken": {reason: "It breaks later.", was: ready, revision: 1, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseDegraded, wasReady: true, isReady: true},
		"Unchanged":   {reason: "The revision changes nothing for it.", was: ready, revision: 2, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseReady, phase: v1alpha1.PhaseReady, wasReady: true, unchanged: true, isReady: true},
		"BrokenStill": {reason: "One that was broken is still.", was: broken, revision: 3, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseDegraded, wasReady: true, unchanged: true},
		"Mended":      {reason: "Also with another that changes it, until it is Ready.", was: broken, revision: 3, changes: true, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseUpdating, took: true, wasReady: true},
		"OwnTrouble":  {reason: "Unless something else has broken it.", was: ready.See(v1alpha1.PhaseDegraded, "", testNow), revision: 2, changes: true, running: "1.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseUpdating, took: true},
		"Unrecorded":  {reason: "It took a revision in a call that didn't record it.", was: ready, revision: 2, unrecorded: true, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseUpdating, took: true, wasReady: true},
		"Edited":      {reason: "Its author mends it.", was: broken, revision: 2, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseReady, ask: tenant.Ask{Plan: "a"}, phase: v1alpha1.PhaseReady, wasReady: true, edited: true, isReady: true},
		"EditedWell":  {reason: "What was well may be edited.", was: ready, revision: 1, running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseReady, ask: tenant.Ask{Plan: "a"}, phase: v1alpha1.PhaseReady, wasReady: true, isReady: true},
		"Moves":       {reason: "What another channel did says nothing.", was: broken, revision: 0, channel: "fast", running: "2.0.0", state: "deployed", seen: v1alpha1.PhaseDegraded, phase: v1alpha1.PhaseDegraded},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tc.was)
			if err != nil {
				t.Fatal(err)
			}
			of := tc.channel
			if of == "" {
				of = "stable"
			}
			encoded, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{tenant.LabelChannel: of}}, "data": map[string]any{tenant.RecordKey: string(text)}})
			if err != nil {
				t.Fatal(err)
			}
			chart := tenant.Chart{Version: "2.0.0", Values: map[string]any{}}
			te := tenant.Tenant{
				Decision: &tenant.Decision{Claim: tenant.Claim{Namespace: "n", Name: "a"}, VirtualCluster: chart, ArgoCD: chart}, Ask: tc.ask, Phase: tc.seen, Why: "the message",
				Observed: tenant.Observed{
					Now: testNow, XR: wire.Of(resource.MustStructJSON(`{"metadata":{"name":"a","labels":{"tier":"internal","crossplane.io/claim-name":"a"}}}`)),
					Composed: map[string]wire.Composed{
						tenant.ChannelRecord: {Struct: wire.Of(resource.MustStructJSON(string(encoded)))}, tenant.VClusterRelease: release("2.0.0", "", "deployed", time.Time{}), tenant.ArgoCDRelease: release(tc.running, tc.policies, tc.state, tc.gaveUp),
					},
				},
			}
			if tc.was.Phase == "" {
				delete(te.Observed.Composed, tenant.ChannelRecord)
			}
			te.Standing.Name, te.Standing.Revision, te.Standing.Changes, te.Standing.Took, te.Standing.Proved = "stable", tc.revision, tc.changes, !tc.unrecorded, time.Hour
			r := Record(te)
			if r.Revision != tc.revision || r.Phase != tc.phase || r.Took.Equal(testNow) != tc.took || r.WasReady != tc.wasReady || r.Unchanged != tc.unchanged || r.Edited.Equal(testNow) != tc.edited || !r.Ready.IsZero() != tc.isReady {
				t.Errorf("\n%s\ngot %+v", tc.reason, r)
			}
			if tc.policies != "" && strings.Contains(r.Why, "has failed") != (r.Phase == v1alpha1.PhaseDegraded) {
				t.Errorf("\n%s\nit is %s because of %q", tc.reason, r.Phase, r.Why)
			}
			if r.Tenant != "a" || r.Claim != "n/a" || len(r.Labels) != 1 || r.Labels["tier"] != "internal" || r.Spec != fingerprint.Of(tc.ask) {
				t.Errorf("\n%s\nthe record isn't the tenant's: %+v", tc.reason, r)
			}
		})
	}
}

// TestLabels: a claim with any number of labels has a record of bounded size.
func TestLabels(t *testing.T) {
	labels := map[string]string{}
	for i := range 1000 {
		labels["example.org/"+strings.Repeat("a", 20)+time.Duration(i).String()] = "b"
	}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for key, value := range recordLabels(wire.Of(resource.MustStructJSON(string(raw)))) {
		got += len(key) + len(value)
	}
	if got == 0 || got > maxLabels {
		t.Errorf("labels take %d bytes", got)
	}
}

// TestGoesBackTo: only where the revision hasn't proved itself does a tenant go back.
func TestGoesBackTo(t *testing.T) {
	c := tenant.Channel{Name: "stable"}
	c.Proved.Duration = time.Hour
	breaks := func(after time.Duration) rollout.Record {
		r := rollout.Record{Phase: v1alpha1.PhaseReady}.Take(2, true, "1.0.0", time.Hour, testNow)
		return r.See(v1alpha1.PhaseReady, "", testNow).See(v1alpha1.PhaseDegraded, "", testNow.Add(after))
	}
	for name, tc := range map[string]struct {
		record  rollout.Record
		channel tenant.Channel
		want    string
	}{
		"Soon":      {breaks(59 * time.Minute), c, "1.0.0"},
		"Later":     {breaks(time.Hour), c, ""},
		"NoChannel": {breaks(0), tenant.Channel{}, ""},
		"Nothing":   {rollout.Record{}, c, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := GoesBackTo(tc.record, tc.channel); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
