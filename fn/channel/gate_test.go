package channel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Gate is what a tenant is to know of the channel.
func (s State) Gate(tenant string, paused bool) Gate {
	g := Gate{Offer: s.Offer, Complete: s.Complete, Paused: paused, Halted: s.Halted != nil}
	for i := range s.Admitted {
		if s.Admitted[i].Tenant == tenant {
			g.Admission = &s.Admitted[i]
		}
	}
	return g
}

func TestDecide(t *testing.T) {
	admitted := state(10, admits("a", "new", 20*time.Minute))
	var shut, thaws Record
	closed(&shut)
	frozen(&thaws)

	for name, tc := range map[string]struct {
		reason string
		state  State
		paused bool
		facts  Facts
		now    time.Duration
		want   Verdict
	}{
		"Admitted":        {"It is the tenant's turn.", admitted, false, Facts{Accepted: "old"}, 0, Verdict{Offer: "new"}},
		"NotAdmitted":     {"It isn't.", state(10), false, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "waits for its turn"}},
		"Another":         {"It is another's.", state(10, admits("b", "new", time.Hour)), false, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "waits for its turn"}},
		"Ended":           {"It was until now.", admitted, false, Facts{Accepted: "old"}, 20 * time.Minute, Verdict{Offer: "old", Message: "waits for its turn"}},
		"OtherOffer":      {"It was for an earlier offer.", state(10, admits("a", "older", time.Hour)), false, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "waits for its turn"}},
		"Withdrawn":       {"The admission was withdrawn.", State{Offer: "new", Admitted: []Admission{{Tenant: "a", Offer: "new", Until: start.Add(time.Hour), Withdrawn: true}}}, false, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "waits for its turn"}},
		"Has":             {"What it has it keeps, whatever the channel's state.", state(10, halted), true, Facts{Accepted: "new"}, 0, Verdict{Offer: "new"}},
		"Halted":          {"Nobody begins after a halt.", state(10, halted, admits("a", "new", time.Hour)), false, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "the channel has halted"}},
		"Paused":          {"Nor while the channel is paused.", admitted, true, Facts{Accepted: "old"}, 0, Verdict{Offer: "old", Message: "the channel is paused"}},
		"Closed":          {"Nor outside its window.", admitted, false, Facts{Accepted: "old", Schedule: shut.Schedule}, 0, Verdict{Offer: "old", Message: "waits for its maintenance window, Tuesday 2026-11-24 08:00 +0000", Again: start.Add(23 * time.Hour)}},
		"Frozen":          {"Nor in a freeze.", admitted, false, Facts{Accepted: "old", Schedule: thaws.Schedule}, 0, Verdict{Offer: "old", Message: "is frozen until 2026-11-30", Again: start.Add(7 * 24 * time.Hour)}},
		"Unaffected":      {"An offer that changes nothing is taken at once.", state(10, halted), true, Facts{Accepted: "old", Unaffected: true, Schedule: shut.Schedule}, 0, Verdict{Offer: "new"}},
		"New":             {"A new tenant gets what was complete last.", admitted, false, Facts{New: true}, 0, Verdict{Offer: "old", Message: "begins with the last complete offer"}},
		"NewComplete":     {"That may be the offer.", State{Offer: "new", Complete: "new"}, false, Facts{New: true, Schedule: shut.Schedule}, 0, Verdict{Offer: "new"}},
		"NewWithoutAny":   {"Where there was none it gets the offer.", State{Offer: "new"}, false, Facts{New: true}, 0, Verdict{Offer: "new"}},
		"NewPaused":       {"Unless nobody is to get that yet.", State{Offer: "new"}, true, Facts{New: true}, 0, Verdict{Message: "begins without an offer, because the channel is paused"}},
		"NewPausedLater":  {"A pause keeps nobody from what was complete last.", state(10), true, Facts{New: true}, 0, Verdict{Offer: "old", Message: "begins with the last complete offer"}},
		"NewHalted":       {"Or that is known to be bad.", state(10, halted, func(s *State) { s.Complete = "" }), false, Facts{New: true}, 0, Verdict{Message: "begins without an offer, because the channel has halted"}},
		"FromElsewhere":   {"One that comes from another channel waits.", State{Offer: "new", Complete: "new"}, false, Facts{Accepted: "theirs"}, 0, Verdict{Offer: "theirs", Message: "waits for its turn"}},
		"WithoutAChannel": {"So does one that had none.", State{Offer: "new", Complete: "new"}, false, Facts{}, 0, Verdict{Message: "waits for its turn"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.state.Gate("a", tc.paused).Decide(tc.facts, start.Add(tc.now))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
