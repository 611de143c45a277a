// Package steps checks, by the records of tenants, that they got an offer in an order that their channel's rollout allows.
package steps

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
)

// Problems returns how the way in which an offer reached all tenants of a channel violates a rollout; nothing if it doesn't. It is for
// offers that break no tenant, and for rollouts that set maxUpdating and haltAfter and don't set first.
func Problems(rollout v1alpha1.ChannelRollout, offer string, records []channel.Record) (out []string, err error) {
	var got []channel.Record
	for _, r := range records {
		switch {
		case r.Accepted != offer:
			out = append(out, fmt.Sprintf("%s has the offer %s", r.Claim, r.Accepted))
		case r.Before == "":
			// The offer changed nothing for this tenant.
		case r.Ready.IsZero():
			out = append(out, fmt.Sprintf("%s wasn't Ready since, but %s: %s", r.Claim, r.Phase, r.Why))
		default:
			got = append(got, r)
		}
	}
	slices.SortFunc(got, func(a, b channel.Record) int {
		return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Tenant, b.Tenant))
	})
	tooSoon, err := tooSoon(rollout, got)
	return append(append(out, tooSoon...), tooMany(rollout, got)...), err
}

// tooSoon returns which tenants began a step before the soak of the previous step was over. A step doesn't wait for tenants that take longer
// than stuckFor.
func tooSoon(rollout v1alpha1.ChannelRollout, got []channel.Record) (out []string, err error) {
	stuckFor, err := time.ParseDuration(string(rollout.HaltAfter.StuckFor))
	if err != nil {
		return nil, fmt.Errorf("cannot read stuckFor: %w", err)
	}
	var settled time.Time
	had, soak := 0, time.Duration(0)
	for i, step := range rollout.Steps {
		has := (len(got)*int(step.Percent) + 99) / 100
		if had > 0 && has > had && got[had].Changed.Before(settled.Add(soak)) {
			out = append(out, fmt.Sprintf("%s began step %d at %s, and the last of the %d before was Ready or stuck at %s, with a soak of %s",
				got[had].Claim, i+1, clock(got[had].Changed), had, clock(settled), soak))
		}
		for ; had < has; had++ {
			ended := got[had].Changed.Add(stuckFor)
			if got[had].Ready.Before(ended) {
				ended = got[had].Ready
			}
			if ended.After(settled) {
				settled = ended
			}
		}
		if soak = 0; step.Soak != "" {
			if soak, err = time.ParseDuration(string(step.Soak)); err != nil {
				return out, fmt.Errorf("cannot read the soak of step %d: %w", i+1, err)
			}
		}
	}
	return out, nil
}

// tooMany returns when more tenants were updating than the rollout allowed by the number of tenants that had proved the offer by then.
func tooMany(rollout v1alpha1.ChannelRollout, got []channel.Record) (out []string) {
	for _, began := range got {
		at, updating, proved := began.Changed, 0, 0
		for _, r := range got {
			switch {
			case r.Changed.After(at):
			case r.Ready.After(at):
				updating++
			case r.Before == v1alpha1.PhaseReady:
				proved++
			}
		}
		most := min(int(rollout.MaxUpdating), max(int(rollout.HaltAfter.Degraded), proved))
		if updating > most {
			out = append(out, fmt.Sprintf("at %s, when %s began, %d changed, and %d may", clock(at), began.Claim, updating, most))
		}
	}
	return out
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// Within returns how long an offer may take to reach a number of tenants, if none takes longer than stuckFor.
func Within(rollout v1alpha1.ChannelRollout, tenants int) (time.Duration, error) {
	stuckFor, err := time.ParseDuration(string(rollout.HaltAfter.StuckFor))
	if err != nil {
		return 0, fmt.Errorf("cannot read stuckFor: %w", err)
	}
	within := time.Duration(0)
	for _, step := range rollout.Steps {
		// The last ones of a step may be few.
		within += stuckFor
		if step.Soak == "" {
			continue
		}
		soak, err := time.ParseDuration(string(step.Soak))
		if err != nil {
			return 0, fmt.Errorf("cannot read a soak: %w", err)
		}
		within += soak
	}
	for has := 0; has < tenants; within += stuckFor {
		slots := min(int(rollout.MaxUpdating), max(int(rollout.HaltAfter.Degraded), has))
		// The next ones are admitted when half of the slots are free.
		has += (slots + 1) / 2
	}
	return within, nil
}
