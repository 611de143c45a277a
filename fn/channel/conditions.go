package channel

import (
	"fmt"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
)

// conditions returns the channel's conditions. at is the index of its step.
func conditions(c Channel, s State, t *tenants, u rules, at int, soaking bool) []Condition {
	has := fmt.Sprintf("%d of %d tenants have the offer", t.total-t.missing.N, t.total)
	complete := Condition{Type: v1alpha1.ConditionComplete, Reason: v1alpha1.ReasonIncomplete, Message: has}
	halted := Condition{Type: v1alpha1.ConditionHalted, Reason: v1alpha1.ReasonTenantsWell}
	if t.broken.N > 0 {
		halted.Message = fmt.Sprintf("broken by the offer: %s; halts at %d", t.broken, u.degraded)
	}
	progressing := Condition{Type: v1alpha1.ConditionProgressing}
	progresses := func(is bool, reason, message string) {
		progressing.True, progressing.Reason, progressing.Message = is, reason, message
	}
	step := u.steps[at]
	where := fmt.Sprintf("step %d of %d, %d percent: ", at+1, len(u.steps), step.percent)
	waiting := t.waiting()
	switch {
	case s.Halted != nil:
		halted.True, halted.Reason = true, v1alpha1.ReasonTenantsBroken
		halted.Message = fmt.Sprintf("%s: edit spec.offer, or restore an earlier one; or fix these tenants, then set spec.paused to true and back to false", s.Halted.Message)
		progresses(false, v1alpha1.ReasonHalted, where+"halted since "+s.Halted.At.UTC().Format(time.RFC3339))
	case c.Paused:
		progresses(false, v1alpha1.ReasonPaused, where+"paused: set spec.paused to false to go on"+t.affected())
	case c.Unread:
		progresses(true, v1alpha1.ReasonWaitingForTenants, where+"waits until it knows the labels of claims that spec.rollout.first selects by")
	case t.empty(&s):
		progresses(false, v1alpha1.ReasonNoTenants, where+"the channel has no tenants any more, and goes on once it has one: see spec.namespaces")
	case t.updating.N > 0:
		progresses(true, v1alpha1.ReasonUpdatingTenants, where+"updating or admitted: "+t.updating.String())
	case soaking:
		progresses(true, v1alpha1.ReasonSoaking, where+"soaks until "+t.soaked(step).UTC().Format(time.RFC3339))
	case t.missing.N == 0 && step.percent == 100:
		complete = Condition{Type: v1alpha1.ConditionComplete, True: true, Reason: v1alpha1.ReasonComplete, Message: fmt.Sprintf("all %d tenants have the offer", t.total)}
		progresses(false, v1alpha1.ReasonComplete, "")
	case t.over(step) && step.percent < 100:
		complete.Reason = v1alpha1.ReasonLastStep
		progresses(false, v1alpha1.ReasonLastStep, where+"this is the last step: add a step of 100 percent to spec.rollout.steps to go on")
	case waiting == "":
		progresses(true, v1alpha1.ReasonWaitingForTenants, where+"goes on at "+s.NotBefore.UTC().Format(time.RFC3339)+", because the channel's state was lost")
	case t.first.N > 0:
		progresses(true, v1alpha1.ReasonWaitingForTenants, fmt.Sprintf("%sthe others wait for those that spec.rollout.first selects: %s; %s", where, t.first, waiting))
	default:
		progresses(true, v1alpha1.ReasonWaitingForTenants, where+waiting)
	}
	if waiting != "" && !complete.True {
		complete.Message += "; " + waiting
	}
	return []Condition{progressing, halted, complete}
}

// affected says which tenants the offer would change: tenants for which it changes nothing have taken it as soon as they have been
// reconciled.
func (t *tenants) affected() string {
	if t.missing.N == 0 {
		return ""
	}
	return fmt.Sprintf("; the offer would change %d of %d tenants: %s", t.missing.N, t.total, t.missing)
}

// waiting says which tenants can't get the offer now, and why; "" for none.
func (t *tenants) waiting() string {
	var out []string
	for _, of := range []struct {
		what string
		few.Names
	}{{"wait for their maintenance windows", t.closed}, {"frozen", t.frozen}, {"admitted and didn't begin", t.silent}, {"late", t.late}} {
		if of.N > 0 {
			out = append(out, of.what+": "+of.String())
		}
	}
	return strings.Join(out, "; ")
}
