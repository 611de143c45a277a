package rollout

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// TestRecord: a tenant is seen with what it has accepted, and not with what it had before.
func TestRecord(t *testing.T) {
	release := func(version, policies, state string) wire.Composed {
		return wire.Composed{Struct: wire.Of(resource.MustStructJSON(`{"spec":{"managementPolicies":[` + policies + `],"forProvider":{"chart":{"version":"` + version + `"},"values":{}}},
			"status":{"atProvider":{"state":"` + state + `"}}}`))}
	}
	long := testNow.Add(-time.Hour)
	ready := channel.Record{Tenant: "a", Claim: "n/a", Accepted: "old", Changed: long, Before: v1alpha1.PhaseReady, Ready: long, Phase: v1alpha1.PhaseReady, Since: long}
	changing := ready.Accept("new", false, false, long)
	unaffected := ready.Accept("new", true, false, long)
	for name, tc := range map[string]struct {
		reason             string
		was                channel.Record
		accepted           string
		unaffected         bool
		running, policies  string
		seen               v1alpha1.Phase
		phase, before      v1alpha1.Phase
		proved, hasChanged bool
	}{
		"New":         {"A new tenant has changed nothing.", channel.Record{}, "new", false, "", "", v1alpha1.PhasePending, v1alpha1.PhasePending, "", false, true},
		"Same":        {"Nothing happens.", ready, "old", false, "2.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseReady, v1alpha1.PhaseReady, true, false},
		"Takes":       {"What is observed is about what it had.", ready, "new", false, "1.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseReady, false, true},
		"NotYet":      {"The Release isn't as wanted yet.", changing, "new", false, "1.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseReady, false, false},
		"InPlace":     {"It is.", changing, "new", false, "2.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseReady, v1alpha1.PhaseReady, true, false},
		"Breaks":      {"And it breaks the tenant.", changing, "new", false, "2.0.0", "", v1alpha1.PhaseDegraded, v1alpha1.PhaseDegraded, v1alpha1.PhaseReady, false, false},
		"RolledBack":  {"It failed, and what was before runs.", changing, "new", false, "2.0.0", `"Observe","Create"`, v1alpha1.PhaseReady, v1alpha1.PhaseDegraded, v1alpha1.PhaseReady, false, false},
		"OwnChange":   {"What fails was changed since it was Ready.", ready, "old", false, "2.0.0", "", v1alpha1.PhaseDegraded, v1alpha1.PhaseUpdating, v1alpha1.PhaseReady, true, false},
		"OwnBack":     {"It is rolled back.", ready, "old", false, "2.0.0", `"Observe","Create"`, v1alpha1.PhaseReady, v1alpha1.PhaseReady, v1alpha1.PhaseReady, true, false},
		"NewFails":    {"Nothing was changed for it.", channel.Record{}, "new", false, "2.0.0", "", v1alpha1.PhaseFailing, v1alpha1.PhaseFailing, "", false, true},
		"Mended":      {"It was broken when it was admitted.", ready, "new", false, "1.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded, false, true},
		"Waits":       {"It returns to what it had before.", unaffected, "old", false, "2.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseReady, v1alpha1.PhaseReady, true, false},
		"Unaffected":  {"The offer changes nothing for it.", ready, "new", true, "2.0.0", "", v1alpha1.PhaseReady, v1alpha1.PhaseReady, v1alpha1.PhaseReady, true, false},
		"LaterBroken": {"It breaks later.", ready, "old", false, "2.0.0", "", v1alpha1.PhaseDegraded, v1alpha1.PhaseDegraded, v1alpha1.PhaseReady, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tc.was)
			if err != nil {
				t.Fatal(err)
			}
			chart := tenant.Chart{Version: "2.0.0", Values: map[string]any{}}
			xr := resource.MustStructJSON(`{"metadata":{"name":"a","creationTimestamp":"2026-11-01T08:00:00Z","labels":{"tier":"internal","other":"a"}}}`)
			encoded, err := json.Marshal(map[string]any{"data": map[string]any{channel.RecordKey: string(text)}})
			if err != nil {
				t.Fatal(err)
			}
			record := resource.MustStructJSON(string(encoded))
			state := "deployed"
			if name == "OwnChange" || name == "Breaks" || name == "NewFails" {
				state = "failed"
			}
			te := tenant.Tenant{
				Decision: &tenant.Decision{Claim: tenant.Claim{Namespace: "n", Name: "a"}, VirtualCluster: chart, ArgoCD: chart},
				Observed: tenant.Observed{Now: testNow, XR: wire.Of(xr), Composed: map[string]wire.Composed{
					tenant.ChannelRecord: {Struct: wire.Of(record)}, tenant.VClusterRelease: release("2.0.0", "", "deployed"), tenant.ArgoCDRelease: release(tc.running, tc.policies, state),
				}},
			}
			te.Standing.Accepted, te.Standing.Unaffected, te.Standing.Labels = tc.accepted, tc.unaffected, []string{"tier", "zone"}
			te.Standing.Waits, te.Standing.Broken, te.Standing.Edited = name == "Waits", name == "Mended", name == "Breaks" || name == "Same"
			r := Record(te, tc.seen, "the message")
			if r.Accepted != tc.accepted || r.Phase != tc.phase || r.Before != tc.before || !r.Ready.IsZero() != tc.proved || r.Changed.Equal(testNow) != tc.hasChanged {
				t.Errorf("\n%s\ngot %+v", tc.reason, r)
			}
			if want := map[v1alpha1.Phase]string{v1alpha1.PhaseDegraded: "the message", v1alpha1.PhaseFailing: "the message"}[r.Phase]; name != "OwnChange" && tc.policies == "" && r.Why != want || tc.policies != "" && strings.Contains(r.Why, "has failed") != (r.Phase == v1alpha1.PhaseDegraded) {
				t.Errorf("\n%s\nit is %s because of %q", tc.reason, r.Phase, r.Why)
			}
			if r.Edited != (name == "Breaks") || r.Kept != tc.unaffected && name != "Waits" {
				t.Errorf("\n%s\ngot %+v", tc.reason, r)
			}
			if r.Tenant != "a" || r.Claim != "n/a" || len(r.Labels) != 1 || r.Labels["tier"] != "internal" || r.Created.Format(time.RFC3339) != "2026-11-01T08:00:00Z" {
				t.Errorf("\n%s\nthe record isn't the tenant's: %+v", tc.reason, r)
			}
		})
	}
}

// TestRecordJoined: it is on record when a tenant joined the channel that it has, and when it gave back an offer that had changed nothing.
func TestRecordJoined(t *testing.T) {
	long := testNow.Add(-time.Hour)
	was, err := json.Marshal(channel.Record{Tenant: "a", Phase: v1alpha1.PhaseReady, Since: long, Joined: long, Accepted: "offered"})
	if err != nil {
		t.Fatal(err)
	}
	of := func(of string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{channel.Label: of}}, "data": map[string]any{channel.RecordKey: string(was)}}
	}
	for name, tc := range map[string]struct {
		record   map[string]any
		accepted string
		waits    bool
		want     time.Time
		returned time.Time
	}{
		"Stays":   {of("stable"), "offered", true, long, time.Time{}},
		"Takes":   {of("stable"), "next", false, long, time.Time{}},
		"Returns": {of("stable"), "before", true, long, testNow},
		"Moves":   {of("fast"), "offered", false, testNow, time.Time{}},
		"Unknown": {map[string]any{"metadata": map[string]any{"labels": map[string]any{channel.Label: "stable"}}}, "", false, time.Time{}, time.Time{}},
		"New":     {nil, "", false, testNow, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := structpb.NewStruct(tc.record)
			if err != nil {
				t.Fatal(err)
			}
			te := tenant.Tenant{Decision: &tenant.Decision{}, Observed: tenant.Observed{Now: testNow, Composed: map[string]wire.Composed{tenant.ChannelRecord: {Struct: wire.Of(o)}}}}
			te.Standing.Name, te.Standing.Accepted, te.Standing.Waits = "stable", tc.accepted, tc.waits
			if got := Record(te, v1alpha1.PhaseReady, ""); !got.Joined.Equal(tc.want) || !got.Returned.Equal(tc.returned) {
				t.Errorf("want %s and %s, got %s and %s", tc.want, tc.returned, got.Joined, got.Returned)
			}
		})
	}
}

// TestRecordMoved: it is on record when a claim has moved its window, and not when the platform has.
func TestRecordMoved(t *testing.T) {
	long := testNow.Add(-time.Hour)
	window := maintenance.Window{Begin: 3600, Open: 3600, Days: 127}
	for name, tc := range map[string]struct {
		reason string
		asked  bool
		window maintenance.Window
		want   time.Time
	}{
		"Claim":    {"The claim has moved it.", true, window, testNow},
		"Platform": {"Its plan has.", false, window, long},
		"Removed":  {"There is none any more.", true, maintenance.Window{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			was, err := json.Marshal(channel.Record{Tenant: "a", Phase: v1alpha1.PhaseReady, Since: long, Moved: long})
			if err != nil {
				t.Fatal(err)
			}
			te := tenant.Tenant{Decision: &tenant.Decision{}, Observed: tenant.Observed{Now: testNow, Composed: map[string]wire.Composed{
				tenant.ChannelRecord: {Struct: wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{"data": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
					channel.RecordKey: structpb.NewStringValue(string(was)),
				}})}})},
			}}}
			te.Standing.Asked, te.Standing.Schedule.Window, te.Standing.Schedule.Reason = tc.asked, tc.window, "year end"
			got := Record(te, v1alpha1.PhaseReady, "")
			if !got.Moved.Equal(tc.want) {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got.Moved)
			}
			if got.Schedule.Reason != "" {
				t.Errorf("the record has the reason of the freeze, which anybody may edit: %q", got.Schedule.Reason)
			}
		})
	}
}

// TestAsked: what a claim does that moves its window is told from what the platform does.
func TestAsked(t *testing.T) {
	was := tenant.Accepted{Spec: tenant.Ask{Plan: "small", Channel: "stable", Maintenance: open}}
	for name, tc := range map[string]struct {
		was    *tenant.Accepted
		change func(*tenant.Accepted)
		want   bool
	}{
		"New":      {nil, func(*tenant.Accepted) {}, true},
		"Nothing":  {&was, func(*tenant.Accepted) {}, false},
		"Platform": {&was, func(a *tenant.Accepted) { a.Plan.Spec.Maintenance = closed }, false},
		"Values":   {&was, func(a *tenant.Accepted) { a.Spec.ArgoCDChartVersion = "2.0.0" }, false},
		"Window":   {&was, func(a *tenant.Accepted) { a.Spec.Maintenance = closed }, true},
		"TimeZone": {&was, func(a *tenant.Accepted) { a.Spec.Maintenance = zoned }, true},
		"Freeze":   {&was, func(a *tenant.Accepted) { a.Spec.Maintenance = frozen }, true},
		"Plan":     {&was, func(a *tenant.Accepted) { a.Spec.Plan = "large" }, true},
		"Channel":  {&was, func(a *tenant.Accepted) { a.Spec.Channel = "fast" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := was
			tc.change(&asked)
			_, s := Next(tc.was, asked, Moment{Now: testNow, Decide: decide})
			if s.Asked != tc.want {
				t.Errorf("want %t, got %t", tc.want, s.Asked)
			}
		})
	}
}
