package channel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestRecord follows a tenant, one record after the other.
func TestRecord(t *testing.T) {
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	r := Record{Tenant: "a"}
	for _, tc := range []struct {
		reason string
		next   Record
		want   Record
	}{
		{"A new tenant has accepted what changed nothing that ran.", r.Accept("1", false, false, at(0)), Record{Tenant: "a", Accepted: "1", Changed: at(0)}},
		{"It is being installed.", r.See(v1alpha1.PhaseProvisioning, "", at(1)), Record{Tenant: "a", Phase: "Provisioning", Since: at(1)}},
	} {
		if diff := cmp.Diff(tc.want, tc.next); diff != "" {
			t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
		}
	}
	r = r.See(v1alpha1.PhaseReady, "", at(1)).Accept("2", false, false, at(2))
	want := Record{Tenant: "a", Accepted: "2", Changed: at(2), Before: "Ready", Phase: "Updating", Since: at(2)}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("It changes.\n-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(func() Record { r := r; r.Accepted = "3"; return r }(), r.Accept("3", true, false, at(3))); diff != "" {
		t.Errorf("An offer that is the same for it leaves it in its change.\n-want, +got:\n%s", diff)
	}
	// What would undo its change isn't what breaks it then.
	held := r.Accept("1", true, true, at(3))
	if held.Before != v1alpha1.PhaseUpdating || !held.Changed.Equal(at(2)) {
		t.Errorf("An offer below what runs leaves it in its change, and isn't to blame: %+v", held)
	}
	r = r.See(v1alpha1.PhaseReady, "", at(4)).See(v1alpha1.PhaseDegraded, "", at(5)).See(v1alpha1.PhaseDegraded, "", at(6)).See(v1alpha1.PhaseReady, "", at(7))
	want.Phase, want.Since, want.Ready = "Ready", at(7), at(4)
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("The first time that it was Ready stays.\n-want, +got:\n%s", diff)
	}
	r = r.Accept("3", true, false, at(8))
	want.Accepted, want.Kept = "3", true
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("What changes nothing leaves it Ready with the offer before, which has yet to prove itself.\n-want, +got:\n%s", diff)
	}
	if held := r.Accept("1", true, true, at(9)); held.Before != "" || held.Kept || !held.Changed.Equal(at(9)) {
		t.Errorf("An offer below what runs isn't to blame for what comes later: %+v", held)
	}
	if r = r.Accept("4", false, false, at(9)); r.Kept || r.Before != "Ready" || !r.Ready.IsZero() {
		t.Errorf("It changes again: %+v", r)
	}
	if r = r.Edit(); !r.Edited || r.See(v1alpha1.PhaseReady, "", at(10)).Accept("5", false, false, at(11)).Edited {
		t.Errorf("The claim changes meanwhile, which the next offer has nothing to do with: %+v", r)
	}
	if other := r.Accept("5", true, false, at(11)); other.Before != "" || other.Edited || !other.Changed.Equal(at(11)) {
		t.Errorf("An offer that changes nothing isn't to blame for what the claim has changed: %+v", other)
	}
	if well := tenant("a", updated("new", time.Minute)).Edit(); well.Edited {
		t.Errorf("The claim of a tenant that is well changes: %+v", well)
	}
	raw, err := json.Marshal(tenant("customer-with-a-long-name-7k2jd", updated("7d4c91af0b", time.Hour)))
	if err != nil || len(raw) > 400 {
		t.Errorf("a record takes %d bytes, want at most 400: %s (%v)", len(raw), raw, err)
	}
}

// TestUnproved: an offer hasn't proved itself on a tenant that isn't well with it, unless that was for long.
func TestUnproved(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		record Record
		want   bool
	}{
		"Well":          {"It is Ready with it.", tenant("a", updated("new", time.Minute)), false},
		"Updating":      {"It changes.", tenant("a", updating("new", time.Minute)), true},
		"NeverReady":    {"It wasn't Ready since.", tenant("a", updating("new", time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)), true},
		"BreaksSoon":    {"It was for a minute.", tenant("a", updated("new", 2*time.Minute), in(v1alpha1.PhaseDegraded, time.Minute)), true},
		"BreaksLater":   {"It was for long.", tenant("a", updated("new", 2*time.Hour), in(v1alpha1.PhaseDegraded, time.Minute)), false},
		"NothingOfIt":   {"The offer changed nothing.", tenant("a", unaffected("new"), in(v1alpha1.PhaseDegraded, 0)), false},
		"DegradedFirst": {"It was Degraded before, and still is.", tenant("a", in(v1alpha1.PhaseDegraded, 2*time.Hour), updating("new", time.Hour), in(v1alpha1.PhaseDegraded, 0)), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.record.Unproved(time.Hour); got != tc.want {
				t.Errorf("%s Want %t, got %t: %+v", tc.reason, tc.want, got, tc.record)
			}
		})
	}
}

// TestWhy: a record has the beginning of what a tenant said when it broke, and not what it
// says later, which would wake the channel each time. While it changes, the record has what is in the way.
func TestWhy(t *testing.T) {
	r := Record{}.See(v1alpha1.PhaseReady, "Argo CD is ready", start)
	if r.Why != "" {
		t.Errorf("a tenant that is Ready says why: %q", r.Why)
	}
	long := strings.Repeat("é", 3*maxWhy)
	r = r.See(v1alpha1.PhaseDegraded, "x"+long, start).See(v1alpha1.PhaseDegraded, "other", start)
	if len(r.Why) > maxWhy || !strings.HasPrefix("x"+long, r.Why) || len(r.Why) < maxWhy-2 {
		t.Errorf("got %d bytes: %q", len(r.Why), r.Why)
	}
	forged := r.See(v1alpha1.PhaseUpdating, "", start).See(v1alpha1.PhaseDegraded, "pod x), team-b/prod (Degraded: \"no\nimage\u202e", start)
	if got, want := (rules{}).how(&forged), `Degraded: "pod x), team-b/prod (Degraded: \"no\nimage\u202e"`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if r = r.Accept("2", false, false, start); r.Why != "" {
		t.Errorf("a tenant that begins to change says why: %q", r.Why)
	}
	for _, why := range []string{"", "no room", "no image", ""} {
		r = r.See(v1alpha1.PhaseUpdating, why, start)
	}
	if r.Why != "no image" {
		t.Errorf("a tenant whose change can't go on says %q", r.Why)
	}
	if r = r.See(v1alpha1.PhaseReady, "Argo CD is ready", start); r.Why != "" {
		t.Errorf("once it is Ready it says why: %q", r.Why)
	}
}
