package rollout

import (
	"fmt"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
)

// A Condition of a channel.
type Condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

// conditions returns the channel's conditions. at is the index of its step, and soaks says until when
// that waits for its minSuccessTime; the zero time if it doesn't.
func conditions(c *Channel, s *State, t *tenants, at int, soaks time.Time) []Condition {
	missing := t.total - t.updated
	step := c.steps[at]
	complete := Condition{Type: v1alpha1.ConditionComplete, Reason: v1alpha1.ReasonIncomplete, Message: fmt.Sprintf("%d of %d tenants have revision %d", t.updated, t.total, s.Revision)}
	allHave := missing == 0 && step.percent == 100 && !t.empty(s)
	if allHave {
		complete = Condition{Type: v1alpha1.ConditionComplete, True: true, Reason: v1alpha1.ReasonComplete, Message: fmt.Sprintf("all %d tenants have revision %d", t.total, s.Revision)}
	}
	halted := Condition{Type: v1alpha1.ConditionHalted, Reason: v1alpha1.ReasonTenantsWell}
	if t.failed.N > 0 {
		halted.Message = fmt.Sprintf("failed: %s; halts at %d", t.failed, c.maxFailures)
	}
	progressing := Condition{Type: v1alpha1.ConditionProgressing}
	progresses := func(is bool, reason, message string) {
		progressing.True, progressing.Reason = is, reason
		progressing.Message = fmt.Sprintf("step %d of %d, %d percent: %s", at+1, len(c.steps), step.percent, message)
	}
	waiting := t.waits()
	switch {
	case s.Halted != nil:
		halted.True, halted.Reason = true, v1alpha1.ReasonTenantsFailed
		halted.Message = s.Halted.Message + ": edit spec.offer, or the plan that is at fault; if neither is, set spec.paused to true and back to false to go on"
		progresses(false, v1alpha1.ReasonHalted, "halted since "+s.Halted.At.UTC().Format(time.RFC3339))
	case c.Paused:
		progresses(false, v1alpha1.ReasonPaused, "paused: set spec.paused to false to go on"+t.changes(s.Revision))
	case t.empty(s):
		progresses(false, v1alpha1.ReasonNoTenants, "the channel has no tenants any more, and goes on once it has one: see spec.namespaces")
	case t.progressing.N > 0:
		progresses(true, v1alpha1.ReasonUpdatingTenants, "progressing: "+t.progressing.String())
	case !soaks.IsZero():
		progresses(true, v1alpha1.ReasonSoaking, "waits until "+soaks.UTC().Format(time.RFC3339)+" for minSuccessTime")
	case allHave:
		progressing.Reason = v1alpha1.ReasonComplete
	case t.over(step) && step.percent < 100:
		complete.Reason = v1alpha1.ReasonLastStep
		progresses(false, v1alpha1.ReasonLastStep, "this is the last step: add a step of 100 percent to spec.rollout.steps to go on")
	case t.mandatory.N > 0:
		progresses(true, v1alpha1.ReasonWaitingForTenants, fmt.Sprintf("the others wait for those of the mandatory group: %s; %s", t.mandatory, waiting))
	default:
		progresses(true, v1alpha1.ReasonWaitingForTenants, waiting)
	}
	if waiting != "" && !complete.True {
		complete.Message += "; " + waiting
	}
	return []Condition{progressing, halted, complete}
}

// changes says which tenants the revision would change; "" for none.
func (t *tenants) changes(revision int64) string {
	if t.affected.N == 0 {
		return ""
	}
	return fmt.Sprintf("; revision %d would change %d of %d tenants: %s", revision, t.affected.N, t.total, t.affected)
}

// waits says which tenants can't get the revision now, and why; "" for none.
func (t *tenants) waits() string {
	var out []string
	for _, of := range []struct {
		what string
		few.Names
	}{{"haven't said yet what the revision changes", t.silent}, {"wait for their maintenance windows", t.closed}, {"frozen", t.frozen}, {"asleep", t.asleep}, {"didn't begin in time, and are passed over", t.timedOut}, {"were created later, and get the revision in the last step", t.joined}} {
		if of.N > 0 {
			out = append(out, of.what+": "+of.String())
		}
	}
	return strings.Join(out, "; ")
}
