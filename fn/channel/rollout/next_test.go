package rollout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

var testNow = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return testNow.Add(-d) }

// A scene is a channel at a moment: its tenants are t0, t1 and so on, each in a namespace of its own, and have revision 1 for long.
type scene struct {
	Channel
	was State
}

func newScene(t *testing.T, n int, r v1alpha1.ChannelRollout) *scene {
	t.Helper()
	strategy, err := Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{Channel: Channel{Strategy: strategy, Revision: 2}, was: State{Revision: 2, Complete: 1, Counted: true, Since: ago(time.Hour)}}
	for i := range n {
		s.Records = append(s.Records, Record{
			Tenant: fmt.Sprintf("t%d", i), Claim: fmt.Sprintf("n%d/c", i), Revision: 1, Took: ago(48 * time.Hour), Ready: ago(47 * time.Hour), WasReady: true,
			Phase: v1alpha1.PhaseReady, Since: ago(47 * time.Hour), Looked: 2, Effect: Changes,
		})
	}
	return s
}

// has has a tenant take revision 2 some time ago, and be in a phase for some time.
func (s *scene) has(i int, took time.Duration, phase v1alpha1.Phase, since time.Duration) *Record {
	r := &s.Records[i]
	*r = r.Take(2, true, "1.0.0", s.Proved, ago(took)).See(phase, "why", ago(since))
	return r
}

func (s *scene) assigned(i int, left time.Duration) {
	s.Assignments = append(s.Assignments, Assignment{Tenant: s.Records[i].Tenant, Revision: 2, Until: testNow.Add(left)})
}

// next returns the tenants that are assigned the revision now.
func (s *scene) next() (Result, []string) {
	r := Next(s.Channel, s.was, testNow)
	var out []string
	for _, a := range r.Assignments {
		if a.Revision == 2 && !a.Withdrawn && a.Until.Equal(testNow.Add(s.progressDeadline)) && !slices.Contains(s.Assignments, a) {
			out = append(out, a.Tenant)
		}
	}
	return r, out
}

// TestNext: how many get the revision now, what the channel says, and whether it has halted.
func TestNext(t *testing.T) {
	const minute = time.Minute
	closed := maintenance.Schedule{Window: maintenance.Window{Begin: 12 * 3600, Open: 3600, Days: 127}}
	steps := []v1alpha1.ChannelStep{{Percent: 20, MinSuccessTime: "1h"}, {Percent: 100}}
	internal := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}}
	for name, tc := range map[string]struct {
		reason  string
		rollout v1alpha1.ChannelRollout
		change  func(*scene)
		next    int
		halted  bool
		// says is in the message of Progressing, or of Halted if it has halted.
		says string
	}{
		"Begins":      {"As many as may fail.", v1alpha1.ChannelRollout{MaxFailures: 2}, func(*scene) {}, 2, false, "step 1 of 1, 100 percent: progressing: n"},
		"Proved":      {"As many again as are well with it.", v1alpha1.ChannelRollout{}, func(s *scene) { s.has(0, time.Hour, "Ready", minute); s.has(1, time.Hour, "Ready", minute) }, 2, false, "progressing: "},
		"Concurrency": {"At most so many.", v1alpha1.ChannelRollout{MaxConcurrency: 1}, func(s *scene) { s.has(0, time.Hour, "Ready", minute); s.has(1, time.Hour, "Ready", minute) }, 1, false, "progressing: "},
		"Unchanged": {"Whom it doesn't change proves nothing.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0] = s.Records[0].Take(2, false, "", 0, ago(minute))
			s.Records[1] = s.Records[1].Take(2, false, "", 0, ago(minute))
		}, 1, false, "progressing: "},
		"Unaffected": {"Whom it would change nothing for has it.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) {
			for i := range 4 {
				s.Records[i].Effect = None
			}
		}, 5, false, "progressing: "},
		"OfTheAffected": {"A step is a share of those that it changes.", v1alpha1.ChannelRollout{MaxFailures: 9, Steps: steps}, func(s *scene) {
			for i := range 4 {
				s.Records[i].Effect = None
			}
		}, 1, false, "progressing: "},
		"Silent": {"Who hasn't said what it would change is waited for.", v1alpha1.ChannelRollout{}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Effect = ""
			}
			s.was.Since = ago(29 * minute)
		}, 0, false, "haven't said yet what the revision changes: n0/c"},
		"SilentForLong": {"Not for longer than the others.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) { s.Records[0].Looked = 0 }, 8, false, "progressing: "},
		"SilentWhileOneSpeaksAgain": {"However often a few say so.", v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 20}, {Percent: 100}}}, func(s *scene) {
			s.has(1, time.Hour, "Ready", minute)
			s.has(2, time.Hour, "Ready", minute)
			for i := range s.Records {
				s.Records[i].LookedAt = ago(50 * minute)
			}
			s.Records[0].Looked = 0
			s.Records[3] = s.Records[3].Look(2, "", ago(2*minute)).Look(2, Changes, ago(minute))
			s.Records[4].LookedAt = ago(minute)
			s.Records[5].LookedAt, s.Records[5].Created = ago(minute), ago(2*minute)
		}, 2, false, "step 2 of 2, 100 percent: progressing: "},
		"Joined": {"One that came later comes last.", v1alpha1.ChannelRollout{MaxFailures: 8}, func(s *scene) { s.Records[0].Created = ago(minute) }, 8, false, "progressing: "},
		"JoinedAlone": {"Where all have come later, it is complete.", v1alpha1.ChannelRollout{Steps: steps, MaxFailures: 9}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Created = ago(minute)
			}
		}, 9, false, "step 2 of 2, 100 percent: progressing: "},
		"AllFrozen": {"Where all are frozen, it isn't.", v1alpha1.ChannelRollout{Steps: steps}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Schedule.Thaws = testNow.Add(time.Hour)
			}
		}, 0, false, "step 1 of 2, 20 percent: frozen: n0/c"},
		"AllSilent": {"Nor where nobody was reconciled for long, until some time after the first ones.", v1alpha1.ChannelRollout{Steps: steps}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Looked = 0
			}
			s.Records[0] = s.Records[0].Look(2, None, ago(minute))
			s.was.Since = ago(10 * time.Hour)
		}, 0, false, "step 1 of 2, 20 percent: haven't said yet what the revision changes: n1/c"},
		"JoinedWhilePaused": {"One that came while the channel was paused is.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) { s.Records[0].Created, s.was.Since = ago(minute), time.Time{} }, 9, false, "progressing: "},
		"WasBroken": {"Nor does who was broken before.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0] = s.Records[0].See("Degraded", "", ago(40*time.Hour))
			s.has(0, time.Hour, "Ready", minute)
			s.Records[1] = s.Records[1].See("Failing", "", ago(40*time.Hour))
			s.has(1, time.Hour, "Ready", minute)
		}, 1, false, "progressing: "},
		"Progressing":  {"One that updates takes its place.", v1alpha1.ChannelRollout{}, func(s *scene) { s.has(0, minute, "Updating", minute) }, 0, false, "progressing: n0/c"},
		"Assigned":     {"So does one that may begin.", v1alpha1.ChannelRollout{}, func(s *scene) { s.assigned(0, minute) }, 0, false, "progressing: n0/c"},
		"MayHaveBegun": {"And one that may have begun.", v1alpha1.ChannelRollout{}, func(s *scene) { s.assigned(0, -Settle+time.Second) }, 0, false, "progressing: n0/c"},
		"TimedOut":     {"One that didn't begin is passed over.", v1alpha1.ChannelRollout{}, func(s *scene) { s.assigned(0, -Settle) }, 1, false, "progressing: "},
		"Older": {"One that updates to an earlier revision takes its place.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0].Took, s.Records[0].Ready, s.Records[0].Phase = ago(minute), time.Time{}, "Updating"
		}, 0, false, "progressing: n0/c"},

		"Mends": {"Whom an earlier revision has broken gets it whatever the step is, and in spite of the halt.", v1alpha1.ChannelRollout{Steps: steps, MaxFailures: 1}, func(s *scene) {
			for i := range 3 {
				s.Records[i].Took, s.Records[i].Ready, s.Records[i].Phase, s.Records[i].Since = ago(3*time.Hour), time.Time{}, "Updating", ago(3*time.Hour)
			}
		}, 3, true, "n0/c (Updating for more than 30m0s), n1/c"},
		"MendsFirst": {"And the others wait.", v1alpha1.ChannelRollout{MaxFailures: 2}, func(s *scene) {
			for i := range 2 {
				s.Records[i].Took, s.Records[i].Ready, s.Records[i].Phase, s.Records[i].Since = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour)
			}
			s.assigned(0, minute)
			s.assigned(1, minute)
		}, 0, false, "progressing: n0/c, n1/c"},
		"MendsSilent": {"Also before it has said what it would change.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since, r.Looked = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour), 0
		}, 0, true, "n0/c (Degraded) failed"},
		"HaltsOn": {"So a halt goes on.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since, r.Looked = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour), 0
			s.was.Revision, s.was.Halted = 1, &Halt{Revision: 1, At: ago(minute), Message: "n0/c failed"}
		}, 0, true, "n0/c (Degraded) failed: edit"},
		"MendsClosed": {"And until its window opens.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since, r.Schedule = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour), closed
		}, 0, true, "n0/c (Degraded) failed"},
		"MendsFrozen": {"Or its freeze ends.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since, r.Schedule.Thaws = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour), testNow.Add(time.Hour)
		}, 0, true, "n0/c (Degraded) failed"},
		"Mended": {"Then a halt ends that the newest revision hasn't caused.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.was.Revision, s.was.Halted = 1, &Halt{Revision: 1, At: ago(minute), Message: "n0/c failed"}
		}, 1, false, "progressing: "},
		"StillBroken": {"A revision that changes nothing for it doesn't mend it.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since, r.Effect = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour), None
		}, 0, true, "n0/c (Degraded) failed: edit"},
		"MendsSlowly": {"It has the time to become Ready that others have.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour)
			s.has(0, 29*minute, "Degraded", 28*minute)
		}, 0, false, "progressing: n0/c"},
		"BrokenAgain": {"Nor does one that leaves it broken.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour)
			s.has(0, 30*minute, "Degraded", 28*minute)
		}, 0, true, `n0/c (Degraded: "why") failed: edit`},

		"Degraded":   {"A broken tenant halts the channel.", v1alpha1.ChannelRollout{}, func(s *scene) { s.has(0, 10*minute, "Degraded", minute) }, 0, true, `n0/c (Degraded: "why") failed: edit spec.offer`},
		"ForAMoment": {"Not within a minute.", v1alpha1.ChannelRollout{}, func(s *scene) { s.has(0, 10*minute, "Degraded", minute-time.Second) }, 0, false, "progressing: n0/c"},
		"Stuck":      {"One that isn't Ready in time is broken.", v1alpha1.ChannelRollout{}, func(s *scene) { s.has(0, 30*minute, "Updating", 30*minute) }, 0, true, `n0/c (Updating for more than 30m0s: "why") failed`},
		"BrokenLater": {"Also after it was Ready.", v1alpha1.ChannelRollout{}, func(s *scene) {
			*s.has(0, time.Hour, "Ready", 50*minute) = s.Records[0].See("Degraded", "", ago(25*minute))
		}, 0, true, "n0/c (Degraded) failed"},
		"Proven": {"Not if it was Ready for long.", v1alpha1.ChannelRollout{}, func(s *scene) {
			*s.has(0, 3*time.Hour, "Ready", 2*time.Hour) = s.Records[0].See("Degraded", "", ago(10*minute))
		}, 1, false, "progressing: "},
		"Edited": {"An author who mends its claim hasn't mended the revision.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0].Spec = "a"
			*s.has(0, 10*minute, "Degraded", 5*minute) = s.Records[0].Edit("b", ago(2*minute)).See("Ready", "", ago(minute))
			s.was.Failures = []Failure{{Tenant: "t0", Name: "n0/c"}}
		}, 0, true, "n0/c (its claim was changed since) failed"},
		"EditedStuck": {"Also where it wasn't Degraded, but took too long.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0].Spec = "a"
			*s.has(0, 50*minute, "Updating", 50*minute) = s.Records[0].Edit("b", ago(2*minute)).See("Ready", "", ago(minute))
			s.was.Failures = []Failure{{Tenant: "t0", Name: "n0/c"}}
		}, 0, true, "n0/c (its claim was changed since) failed"},
		"EditedMeanwhile": {"A claim that is changed in time hasn't failed, and proves nothing.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0].Spec = "a"
			*s.has(0, 10*minute, "Updating", 10*minute) = s.Records[0].Edit("b", ago(2*minute)).See("Ready", "", ago(minute))
		}, 1, false, "progressing: "},
		"EditedBefore": {"Unless the channel was paused since.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.Records[0].Spec = "a"
			*s.has(0, 3*time.Hour, "Degraded", 2*time.Hour) = s.Records[0].Edit("b", ago(90*minute)).See("Ready", "", ago(80*minute))
			s.was.Failures = []Failure{{Tenant: "t0", Name: "n0/c"}}
		}, 1, false, "progressing: "},
		"Remembered": {"One that has left still counts.", v1alpha1.ChannelRollout{}, func(s *scene) { s.was.Failures = []Failure{{Tenant: "x", Name: "nx/x"}} }, 0, true, "nx/x (has left the channel since) failed"},
		"Well": {"One that is well again doesn't.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, time.Hour, "Ready", minute)
			s.was.Failures = []Failure{{Tenant: "t0", Name: "n0/c"}}
		}, 1, false, "progressing: "},
		"Latched": {"The halt stays.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, time.Hour, "Ready", minute)
			s.was.Halted = &Halt{Revision: s.was.Revision, At: ago(minute), Message: "n0/c failed"}
		}, 0, true, "n0/c failed: edit"},
		"Paused": {"A pause ends it.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.was.Halted, s.Paused = &Halt{Revision: s.was.Revision, At: ago(minute), Message: "n0/c failed"}, true
		}, 0, false, "paused: set spec.paused to false to go on"},
		"PausedBroken": {"Also while they are broken.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, 10*minute, "Degraded", minute)
			s.was.Begun, s.was.Since = true, time.Time{}
		}, 1, false, "progressing: "},
		"PausedPreview": {"Not where another revision was paused from the start.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := &s.Records[0]
			r.Took, r.Ready, r.Phase, r.Since = ago(3*time.Hour), time.Time{}, "Degraded", ago(2*time.Hour)
			s.was.Since = time.Time{}
		}, 1, true, "n0/c (Degraded) failed"},
		"FailsAfterThePause": {"Nor what a pause has only interrupted.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, 40*minute, "Updating", 40*minute)
			s.was.Pardon = ago(20 * minute)
		}, 0, true, "n0/c (Updating for more than"},
		"BrokenSince": {"It counts what fails later.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, 10*minute, "Degraded", minute)
			s.was.Pardon = ago(11 * minute)
		}, 0, true, "n0/c (Degraded"},
		"NextRevision": {"Another revision ends it.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.was.Revision, s.was.Halted = 1, &Halt{Revision: 1, At: ago(minute), Message: "n0/c failed"}
		}, 1, false, "progressing: "},

		"OneCustomer": {"Of a namespace one failure counts.", v1alpha1.ChannelRollout{MaxFailures: 3}, func(s *scene) {
			for i := range 3 {
				s.has(i, 10*minute, "Degraded", minute).Claim = fmt.Sprintf("n0/c%d", i)
			}
			s.has(3, 10*minute, "Ready", minute)
			s.has(4, 10*minute, "Ready", minute)
		}, 2, false, "progressing: n"},
		"OnlyCustomer": {"Unless nobody else has the revision.", v1alpha1.ChannelRollout{MaxFailures: 3}, func(s *scene) {
			for i := range 3 {
				s.has(i, 10*minute, "Degraded", minute).Claim = fmt.Sprintf("n0/c%d", i)
			}
		}, 0, true, "n0/c0"},
		"FewCustomers": {"In few namespaces each counts.", v1alpha1.ChannelRollout{MaxFailures: 3}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Claim = fmt.Sprintf("n0/c%d", i)
			}
			for i := range 3 {
				s.has(i, 10*minute, "Degraded", minute)
			}
		}, 0, true, "n0/c0 (Degraded: \"why\"), n0/c1"},

		"FewCanHaveIt": {"So it does where only few can have the revision.", v1alpha1.ChannelRollout{MaxFailures: 3}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Claim = fmt.Sprintf("n0/c%d", i)
			}
			for i := range 3 {
				s.has(i, 10*minute, "Degraded", minute)
				s.Records[3+i].Claim, s.Records[3+i].Schedule.Thaws = fmt.Sprintf("n%d/c", i), testNow.Add(time.Hour)
			}
		}, 0, true, "n0/c0 (Degraded: \"why\"), n0/c1"},

		"Step":          {"A step allows a share.", v1alpha1.ChannelRollout{Steps: steps, MaxFailures: 9}, func(*scene) {}, 2, false, "step 1 of 2, 20 percent: progressing: "},
		"Soaks":         {"Its tenants are watched.", v1alpha1.ChannelRollout{Steps: steps}, func(s *scene) { s.has(0, 2*time.Hour, "Ready", time.Hour); s.has(1, time.Hour, "Ready", 59*minute) }, 0, false, "step 1 of 2, 20 percent: waits until 2026-01-02T03:01:00Z for minSuccessTime"},
		"StillUpdating": {"It waits for those that update.", v1alpha1.ChannelRollout{Steps: steps}, func(s *scene) { s.has(0, 3*time.Hour, "Ready", 2*time.Hour); s.has(1, minute, "Updating", minute) }, 0, false, "step 1 of 2, 20 percent: progressing: n1/c"},
		"Soaked":        {"And then come the next.", v1alpha1.ChannelRollout{Steps: steps}, func(s *scene) { s.has(0, 2*time.Hour, "Ready", time.Hour); s.has(1, 2*time.Hour, "Ready", time.Hour) }, 2, false, "step 2 of 2, 100 percent: progressing: "},
		"Window":        {"Others overtake one whose window is closed.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) { s.Records[0].Schedule = closed }, 8, false, "progressing: "},
		"AllClosed": {"Or wait for it.", v1alpha1.ChannelRollout{}, func(s *scene) {
			for i := range s.Records {
				s.Records[i].Schedule = closed
			}
		}, 0, false, "wait for their maintenance windows: n0/c, n1/c, n2/c and 6 more"},
		"StuckAsleep": {"One that fell asleep meanwhile isn't broken.", v1alpha1.ChannelRollout{}, func(s *scene) {
			s.has(0, 40*minute, "Hibernated", 35*minute).Schedule.Asleep = true
		}, 1, false, "progressing: "},
		"Woken": {"It has the whole time again.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := s.has(0, 40*minute, "Hibernated", 35*minute)
			*r = r.See("Waking", "", ago(5*minute))
		}, 0, false, "progressing: n0/c"},
		"WokenLater": {"So it has if its schedule says so later than its phase.", v1alpha1.ChannelRollout{}, func(s *scene) {
			r := s.has(0, 40*minute, "Updating", 35*minute)
			r.Schedule.Asleep = true
			*r = r.Plan(maintenance.Schedule{}, ago(5*minute))
		}, 0, false, "progressing: n0/c"},
		"Asleep": {"One that is asleep is skipped.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) { s.Records[0].Schedule.Asleep = true }, 8, false, "progressing: "},
		"Frozen": {"A frozen tenant is skipped.", v1alpha1.ChannelRollout{MaxFailures: 9}, func(s *scene) { s.Records[0].Schedule.Thaws = testNow.Add(time.Hour) }, 8, false, "progressing: "},
		"LastStep": {"Below 100 percent it stops.", v1alpha1.ChannelRollout{Steps: steps[:1]}, func(s *scene) {
			s.has(0, 3*time.Hour, "Ready", 2*time.Hour)
			s.has(1, 3*time.Hour, "Ready", 2*time.Hour)
		}, 0, false, "this is the last step"},
		"NoTenants":       {"A channel that had tenants waits for one.", v1alpha1.ChannelRollout{}, func(s *scene) { s.Records = nil }, 0, false, "the channel has no tenants any more"},
		"Mandatory":       {"The group comes first.", v1alpha1.ChannelRollout{MandatoryGroup: internal, MaxFailures: 9}, func(s *scene) { s.Records[3].Labels = internal.MatchLabels }, 1, false, "progressing: n3/c"},
		"MandatoryClosed": {"The others wait for its window.", v1alpha1.ChannelRollout{MandatoryGroup: internal}, func(s *scene) { s.Records[3].Labels, s.Records[3].Schedule = internal.MatchLabels, closed }, 0, false, "the others wait for those of the mandatory group: n3/c"},
		"MandatoryFrozen": {"Not for its freeze.", v1alpha1.ChannelRollout{MandatoryGroup: internal}, func(s *scene) {
			s.Records[3].Labels, s.Records[3].Schedule.Thaws = internal.MatchLabels, testNow.Add(time.Hour)
		}, 1, false, "progressing: "},
		"MandatorySilent": {"Nor for one that didn't begin.", v1alpha1.ChannelRollout{MandatoryGroup: internal}, func(s *scene) { s.Records[3].Labels = internal.MatchLabels; s.assigned(3, -Settle) }, 1, false, "progressing: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 9, tc.rollout)
			tc.change(s)
			r, next := s.next()
			if len(next) != tc.next {
				t.Errorf("\n%s\nwant %d tenants next, got %v", tc.reason, tc.next, next)
			}
			progressing, halted := r.Conditions[0], r.Conditions[1]
			said := progressing.Message
			if tc.halted {
				said = halted.Message
			}
			if halted.True != tc.halted || (r.State.Halted != nil) != tc.halted || !strings.Contains(said, tc.says) {
				t.Errorf("\n%s\nwant halted %t with %q, got %+v", tc.reason, tc.halted, tc.says, r.Conditions)
			}
		})
	}
}

// TestComplete: once every tenant has the revision, or those that don't are skipped or passed over, new tenants begin with it.
func TestComplete(t *testing.T) {
	s := newScene(t, 4, v1alpha1.ChannelRollout{})
	for i := range 3 {
		s.has(i, time.Hour, "Ready", time.Minute)
	}
	s.Records[3].Schedule.Thaws = testNow.Add(time.Hour)
	r, _ := s.next()
	if r.State.Complete != 2 || r.Conditions[2].True || r.Conditions[2].Message != "3 of 4 tenants have revision 2; frozen: n3/c" {
		t.Errorf("got %+v, %+v", r.State, r.Conditions[2])
	}
	s.Records[3].Schedule = maintenance.Schedule{Asleep: true}
	if r, _ := s.next(); r.State.Complete != 2 || r.Conditions[2].Message != "3 of 4 tenants have revision 2; asleep: n3/c" {
		t.Errorf("got %+v, %+v", r.State, r.Conditions[2])
	}
	s.Records[3].Schedule = maintenance.Schedule{}
	if r, next := s.next(); r.State.Complete != 1 || !slices.Equal(next, []string{"t3"}) {
		t.Errorf("got %+v, %v", r.State, next)
	}
	s.has(3, time.Hour, "Ready", time.Minute)
	if r, _ := s.next(); r.State.Complete != 2 || !r.Conditions[2].True || r.Conditions[0].Reason != v1alpha1.ReasonComplete || !r.Again.IsZero() {
		t.Errorf("got %+v", r)
	}
	s.Paused = true
	if r, _ := s.next(); !r.Conditions[2].True || r.Conditions[0].Reason != v1alpha1.ReasonPaused {
		t.Errorf("a channel that is paused, and whose tenants all have the revision: %+v", r.Conditions)
	}
}

// TestJoinedHalts: a tenant that was created after the revision, and that this breaks, halts the rollout until somebody does something about it.
func TestJoinedHalts(t *testing.T) {
	s := newScene(t, 3, v1alpha1.ChannelRollout{MaxFailures: 1})
	s.Records[0].Created = ago(50 * time.Minute)
	s.has(0, 40*time.Minute, "Degraded", 30*time.Minute)
	r, _ := s.next()
	if r.State.Halted == nil || r.State.Halted.Revision != 2 {
		t.Fatalf("got %+v", r.State)
	}
	s.was = r.State
	s.Records[0] = s.Records[0].See("Ready", "", ago(time.Minute))
	if r, next := s.next(); r.State.Halted == nil || len(next) != 0 {
		t.Errorf("the rollout goes on with %v: %+v", next, r.State)
	}
}

// TestEachTenantCountsOnce: the numbers of tenants by status add up, whatever the channel remembers of them, and whoever is assigned the revision now.
func TestEachTenantCountsOnce(t *testing.T) {
	s := newScene(t, 4, v1alpha1.ChannelRollout{MaxFailures: 4})
	s.was.Failures = []Failure{{Tenant: "t0", Name: "n0/c"}, {Tenant: "gone", Name: "n9/c"}}
	s.has(0, 5*time.Minute, "Updating", 5*time.Minute)
	r, next := s.next()
	want := v1alpha1.ChannelTenants{Total: 4, Progressing: 1 + int64(len(next)), ToApply: 3 - int64(len(next))}
	if r.Tenants != want || len(next) == 0 || r.Conditions[1].Message == "" {
		t.Errorf("want %+v, got %+v; %+v", want, r.Tenants, r.Conditions[1])
	}
}

// TestCompleteSoaks: all tenants have the revision before the last step is over.
func TestCompleteSoaks(t *testing.T) {
	s := newScene(t, 2, v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 100, MinSuccessTime: "1h"}}})
	for i := range 2 {
		s.has(i, time.Hour, "Ready", time.Minute)
	}
	if r, _ := s.next(); r.State.Complete != 1 || !r.Conditions[2].True || r.Conditions[0].Reason != v1alpha1.ReasonSoaking {
		t.Errorf("got %+v", r)
	}
}

// TestWithdrawn: a pause ends assignments, and remembers whom it may have been too late for.
func TestWithdrawn(t *testing.T) {
	s := newScene(t, 3, v1alpha1.ChannelRollout{})
	s.assigned(0, 20*time.Minute)
	s.Paused = true
	r, _ := s.next()
	if len(r.Assignments) != 1 || !r.Assignments[0].Withdrawn || r.Assignments[0].Allows(2, testNow) || !r.Again.Equal(testNow.Add(Settle)) {
		t.Fatalf("got %+v", r)
	}
	s.Paused, s.Assignments = false, r.Assignments
	if r, next := s.next(); len(next) != 0 || r.Tenants.Progressing != 1 {
		t.Errorf("the place of a tenant that may have begun is given to %v", next)
	}
	s.maxFailures, s.steps = 2, []step{{percent: 1}, {percent: 100}}
	if _, next := s.next(); len(next) != 0 {
		t.Errorf("one percent may have it, and besides one that may have begun these may: %v", next)
	}
	s.maxFailures, s.steps = 1, []step{{percent: 100}}
	s.Assignments[0].Until = ago(Settle)
	if r, next := s.next(); len(next) != 1 || len(r.Assignments) != 1 {
		t.Errorf("got %+v, %v", r.Assignments, next)
	}
}

// TestPassedOver: one that didn't begin gets the revision after all others, an hour later.
func TestPassedOver(t *testing.T) {
	s := newScene(t, 2, v1alpha1.ChannelRollout{})
	s.has(0, 3*time.Hour, "Ready", 2*time.Hour)
	s.assigned(1, -retry+time.Second)
	if r, next := s.next(); len(next) != 0 || r.State.Complete != 2 || r.Tenants.TimedOut != 1 {
		t.Errorf("got %v, %+v", next, r)
	}
	s.Assignments[0].Until = ago(retry)
	if r, next := s.next(); len(next) != 1 || !r.Assignments[0].Again || r.State.Complete != 2 {
		t.Errorf("got %v, %+v", next, r)
	}
}

// TestNamespacesFirst: tenants of namespaces without a failed or progressing one come first.
func TestNamespacesFirst(t *testing.T) {
	s := newScene(t, 8, v1alpha1.ChannelRollout{MaxFailures: 3})
	for i := range s.Records {
		s.Records[i].Claim = fmt.Sprintf("n%d/c%d", i%4, i)
	}
	s.has(0, 10*time.Minute, "Degraded", time.Minute)
	_, next := s.next()
	in := map[string]bool{}
	for _, tenant := range next {
		for _, r := range s.Records {
			if r.Tenant == tenant {
				in[namespaceOf(r.Claim)] = true
			}
		}
	}
	if len(next) != 2 || len(in) != 2 || in["n0"] {
		t.Errorf("want two of other namespaces than n0, got %v of %v", next, in)
	}
}

// TestParse: a rollout that can't be used is refused with its field.
func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		rollout v1alpha1.ChannelRollout
		want    string
	}{
		"Descending": {v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 50}, {Percent: 20}}}, "spec.rollout.steps[1].percent: 20 is not more than the step before has, 50"},
		"Duration":   {v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 50, MinSuccessTime: "1d"}}}, `spec.rollout.steps[0].minSuccessTime: "1d" is not a duration`},
		"NoTime":     {v1alpha1.ChannelRollout{ProgressDeadline: "0s"}, "spec.rollout.progressDeadline: 0s leaves no tenant the time"},
		"Deadline":   {v1alpha1.ChannelRollout{ProgressDeadline: "soon"}, `spec.rollout.progressDeadline: "soon" is not a duration`},
		"Everybody":  {v1alpha1.ChannelRollout{MandatoryGroup: &metav1.LabelSelector{}}, "spec.rollout.mandatoryGroup: selects every claim"},
		"Selector":   {v1alpha1.ChannelRollout{MandatoryGroup: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}, "spec.rollout.mandatoryGroup: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tc.rollout); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

// TestJoined: claims that are created while a revision is rolled out get it in the last step, after all others.
func TestJoined(t *testing.T) {
	s := newScene(t, 6, v1alpha1.ChannelRollout{MaxFailures: 9, Steps: []v1alpha1.ChannelStep{{Percent: 50, MinSuccessTime: "1h"}, {Percent: 100}}})
	for i := range 2 {
		s.Records[i].Created = ago(time.Minute)
	}
	r, next := s.next()
	if len(next) != 2 || slices.Contains(next, "t0") || slices.Contains(next, "t1") {
		t.Errorf("half of the four older ones are two, got %v", next)
	}
	if got, want := r.Conditions[2].Message, "were created later, and get the revision in the last step: n0/c, n1/c"; !strings.HasSuffix(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	s.has(2, 3*time.Hour, "Ready", 2*time.Hour)
	s.has(3, 3*time.Hour, "Ready", 2*time.Hour)
	if _, next := s.next(); len(next) != 4 || !slices.Contains(next[2:], "t0") || !slices.Contains(next[2:], "t1") {
		t.Errorf("the newer ones aren't last: %v", next)
	}
}

// TestSoak: what happens while a step waits for minSuccessTime doesn't begin that anew.
func TestSoak(t *testing.T) {
	s := newScene(t, 9, v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 20, MinSuccessTime: "24h"}, {Percent: 100}}})
	for i := range 5 {
		s.Records[i].Effect = None
	}
	s.has(8, 23*time.Hour, "Ready", 22*time.Hour)
	r, next := s.next()
	if len(next) > 0 || !r.Again.Equal(testNow.Add(2*time.Hour)) {
		t.Fatalf("got %v, %+v", next, r.State)
	}
	// Claims that named the version themselves don't any more: that makes room for another one.
	s.was = r.State
	for i := range 5 {
		s.Records[i].Effect = Changes
	}
	if r, next := s.next(); len(next) > 0 || !r.Again.Equal(testNow.Add(2*time.Hour)) {
		t.Errorf("got %v, %+v", next, r.State)
	}
	// An edit of minSuccessTime counts.
	s.steps[0].minSuccessTime = 22 * time.Hour
	if r, next := s.next(); len(next) == 0 || r.Step != 2 {
		t.Errorf("got %v, %+v", next, r.State)
	}
}

// TestSpeaksOnce: a tenant that can't use a revision any more, and then can again, has looked as long ago as before.
func TestSpeaksOnce(t *testing.T) {
	r := Record{}.Look(2, Changes, ago(3*time.Hour)).Look(2, "", ago(2*time.Hour)).Look(2, None, ago(time.Hour))
	if want := (Record{Looked: 2, LookedAt: ago(3 * time.Hour), Effect: None}); !reflect.DeepEqual(r, want) {
		t.Errorf("want %+v, got %+v", want, r)
	}
}

// TestMendedLate: a tenant that a revision mends, but not by its deadline, halts the channel until it is well: the revision hasn't broken it.
func TestMendedLate(t *testing.T) {
	s := newScene(t, 3, v1alpha1.ChannelRollout{})
	s.Records[0] = s.Records[0].Take(1, true, "", 0, ago(3*time.Hour)).See("Degraded", "", ago(2*time.Hour)).Look(2, Changes, ago(time.Hour))
	r := s.has(0, 31*time.Minute, "Degraded", 30*time.Minute)
	result, next := s.next()
	if result.State.Halted == nil || len(next) > 0 {
		t.Fatalf("got %v, %+v", next, result.State)
	}
	s.was = result.State
	*r = r.See("Ready", "", ago(time.Second))
	if result, next := s.next(); result.State.Halted != nil || len(next) != 1 {
		t.Errorf("got %v, %+v", next, result.State.Halted)
	}
}
