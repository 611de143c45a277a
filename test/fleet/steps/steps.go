// Package steps checks, by the records of tenants, that they got an offer in an order that their channel's rollout allows.
package steps

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
)

// Problems returns how the way in which a revision reached all tenants of a channel violates a rollout; nothing if it doesn't. It is for
// offers that break no tenant, and for rollouts that set maxConcurrency and maxFailures and have no mandatory group.
func Problems(of v1alpha1.ChannelRollout, revision int64, records []rollout.Record) (out []string, err error) {
	var got []rollout.Record
	for _, r := range records {
		switch {
		case r.Revision != revision:
			out = append(out, fmt.Sprintf("%s has revision %d", r.Claim, r.Revision))
		case r.Took.IsZero() || r.Unchanged:
			// The revision changed nothing for this tenant.
		case r.Ready.IsZero():
			out = append(out, fmt.Sprintf("%s wasn't Ready since, but %s: %s", r.Claim, r.Phase, r.Why))
		default:
			got = append(got, r)
		}
	}
	slices.SortFunc(got, func(a, b rollout.Record) int {
		return cmp.Or(a.Took.Compare(b.Took), cmp.Compare(a.Tenant, b.Tenant))
	})
	tooSoon, err := tooSoon(of, got)
	return append(append(out, tooSoon...), tooMany(of, got)...), err
}

// tooSoon returns which tenants began a step before the soak of the previous step was over. A step doesn't wait for tenants that take longer
// than progressDeadline.
func tooSoon(of v1alpha1.ChannelRollout, got []rollout.Record) (out []string, err error) {
	progressDeadline, err := time.ParseDuration(string(of.ProgressDeadline))
	if err != nil {
		return nil, fmt.Errorf("cannot read progressDeadline: %w", err)
	}
	var settled time.Time
	had, soak := 0, time.Duration(0)
	for i, step := range of.Steps {
		has := (len(got)*int(step.Percent) + 99) / 100
		if had > 0 && has > had && got[had].Took.Before(settled.Add(soak)) {
			out = append(out, fmt.Sprintf("%s began step %d at %s, and the last of the %d before was Ready or stuck at %s, with a soak of %s",
				got[had].Claim, i+1, clock(got[had].Took), had, clock(settled), soak))
		}
		for ; had < has; had++ {
			ended := got[had].Took.Add(progressDeadline)
			if got[had].Ready.Before(ended) {
				ended = got[had].Ready
			}
			if ended.After(settled) {
				settled = ended
			}
		}
		if soak = 0; step.MinSuccessTime != "" {
			if soak, err = time.ParseDuration(string(step.MinSuccessTime)); err != nil {
				return out, fmt.Errorf("cannot read the minSuccessTime of step %d: %w", i+1, err)
			}
		}
	}
	return out, nil
}

// tooMany returns when more tenants were updating than the rollout allowed by the number of tenants that had proved the offer by then.
func tooMany(of v1alpha1.ChannelRollout, got []rollout.Record) (out []string) {
	for _, began := range got {
		at, updating, proved := began.Took, 0, 0
		for _, r := range got {
			switch {
			case r.Took.After(at):
			case r.Ready.After(at):
				updating++
			case r.WasReady:
				proved++
			}
		}
		most := min(int(of.MaxConcurrency), max(int(of.MaxFailures), proved))
		if updating > most {
			out = append(out, fmt.Sprintf("at %s, when %s began, %d changed, and %d may", clock(at), began.Claim, updating, most))
		}
	}
	return out
}

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// Within returns how long an offer may take to reach a number of tenants, if none takes longer than progressDeadline.
func Within(of v1alpha1.ChannelRollout, tenants int) (time.Duration, error) {
	progressDeadline, err := time.ParseDuration(string(of.ProgressDeadline))
	if err != nil {
		return 0, fmt.Errorf("cannot read progressDeadline: %w", err)
	}
	within := time.Duration(0)
	for _, step := range of.Steps {
		// The last ones of a step may be few.
		within += progressDeadline
		if step.MinSuccessTime == "" {
			continue
		}
		soak, err := time.ParseDuration(string(step.MinSuccessTime))
		if err != nil {
			return 0, fmt.Errorf("cannot read a minSuccessTime: %w", err)
		}
		within += soak
	}
	for has := 0; has < tenants; within += progressDeadline {
		has += min(int(of.MaxConcurrency), max(int(of.MaxFailures), has))
	}
	return within, nil
}
