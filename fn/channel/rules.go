package channel

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// Defaults and bounds of a rollout.
const (
	defaultMaxUpdating = 20
	defaultDegraded    = 1
	defaultStuckFor    = 30 * time.Minute
	most               = 500 // for maxUpdating and haltAfter.degraded
	mostSteps          = 20
)

// rules of a rollout, with defaults.
type rules struct {
	first       labels.Selector
	steps       []step
	maxUpdating int
	degraded    int
	stuckFor    time.Duration
	// proved is what Proved returns.
	proved time.Duration
}

// selects reports whether rollout.first selects a tenant.
func (u rules) selects(r *Record) bool { return u.first.Matches(labels.Set(r.Labels)) }

type step struct {
	percent int
	soak    time.Duration
}

// Check returns an error if a rollout can't be used. The error names the field, and says what
// to write.
func Check(rollout v1alpha1.ChannelRollout) error {
	_, err := rulesOf(rollout)
	return err
}

// Proved returns how long a tenant must be Ready with an offer before later trouble isn't
// attributed to the offer.
func Proved(rollout v1alpha1.ChannelRollout) time.Duration {
	u, _ := rulesOf(rollout)
	return u.proved
}

func rulesOf(r v1alpha1.ChannelRollout) (rules, error) {
	u := rules{
		first:       labels.Nothing(),
		maxUpdating: int(cmp.Or(r.MaxUpdating, defaultMaxUpdating)),
		degraded:    int(cmp.Or(r.HaltAfter.Degraded, defaultDegraded)),
		stuckFor:    defaultStuckFor,
	}
	for _, of := range []struct {
		field string
		n     int
	}{{"maxUpdating", u.maxUpdating}, {"haltAfter.degraded", u.degraded}} {
		if of.n < 1 || of.n > most {
			return u, fmt.Errorf("spec.rollout.%s: %d is not possible: write a number from 1 to %d, or leave it out", of.field, of.n, most)
		}
	}
	if of := r.HaltAfter.StuckFor; of != "" {
		d, err := duration("haltAfter.stuckFor", of)
		if err == nil && d == 0 {
			err = fmt.Errorf("spec.rollout.haltAfter.stuckFor: %s leaves no tenant the time to change: write how long that may take, such as 30m", of)
		}
		if err != nil {
			return u, err
		}
		u.stuckFor = d
	}
	if r.First != nil {
		selector, err := metav1.LabelSelectorAsSelector(r.First)
		if err != nil {
			return u, fmt.Errorf("spec.rollout.first: %w: write labels of claims, such as matchLabels: {tier: internal}", err)
		}
		if selector.Empty() {
			return u, fmt.Errorf("spec.rollout.first: selects every claim: write labels of claims, such as matchLabels: {tier: internal}, or leave it out")
		}
		u.first = selector
	}
	return u.withSteps(r.Steps)
}

func (u rules) withSteps(steps []v1alpha1.ChannelStep) (rules, error) {
	if len(steps) > mostSteps {
		return u, fmt.Errorf("spec.rollout.steps: there are %d: write %d at most", len(steps), mostSteps)
	}
	u.proved = u.stuckFor
	for i, of := range steps {
		at := fmt.Sprintf("steps[%d]", i)
		s := step{percent: int(of.Percent)}
		switch {
		case s.percent < 0 || s.percent > 100:
			return u, fmt.Errorf("spec.rollout.%s.percent: %d is not possible: write a number from 0 to 100", at, s.percent)
		case i > 0 && s.percent <= u.steps[i-1].percent:
			return u, fmt.Errorf("spec.rollout.%s.percent: %d is not more than the step before has, %d: write the steps in ascending order", at, s.percent, u.steps[i-1].percent)
		}
		if of.Soak != "" {
			var err error
			if s.soak, err = duration(at+".soak", of.Soak); err != nil {
				return u, err
			}
		}
		u.proved = max(u.proved, s.soak)
		u.steps = append(u.steps, s)
	}
	if len(u.steps) == 0 {
		u.steps = []step{{percent: 100}}
	}
	return u, nil
}

func duration(field string, of v1alpha1.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(string(of))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("spec.rollout.%s: %.40q is not a duration: write hours, minutes or seconds, such as 24h or 30m", field, string(of))
	}
	return d, nil
}

// at returns the index of the last step of at most a percentage, or else of the first step.
func (u rules) at(percent int) int {
	at := 0
	for at+1 < len(u.steps) && u.steps[at+1].percent <= percent {
		at++
	}
	return at
}
