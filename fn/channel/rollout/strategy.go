package rollout

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// Defaults of a rollout. The schema has its bounds.
const (
	defaultMaxConcurrency   = 20
	defaultMaxFailures      = 1
	defaultProgressDeadline = 30 * time.Minute
)

// A Strategy says how a revision reaches tenants, with defaults.
type Strategy struct {
	mandatory        labels.Selector
	steps            []step
	maxConcurrency   int
	maxFailures      int
	progressDeadline time.Duration
	// Proved is how long a tenant must be Ready with a revision before later trouble isn't
	// attributed to that.
	Proved time.Duration
}

type step struct {
	percent        int
	minSuccessTime time.Duration
}

// Parse returns the strategy of a channel's spec.rollout. Its errors name the fields.
func Parse(r v1alpha1.ChannelRollout) (Strategy, error) {
	s := Strategy{
		mandatory:        labels.Nothing(),
		maxConcurrency:   int(cmp.Or(r.MaxConcurrency, defaultMaxConcurrency)),
		maxFailures:      int(cmp.Or(r.MaxFailures, defaultMaxFailures)),
		progressDeadline: defaultProgressDeadline,
	}
	var found []error
	if of := r.ProgressDeadline; of != "" {
		d, err := duration("progressDeadline", of)
		if err == nil && d == 0 {
			err = fmt.Errorf("spec.rollout.progressDeadline: %s leaves no tenant the time to change: write how long that may take, such as 30m", of)
		}
		s.progressDeadline, found = d, append(found, err)
	}
	if r.MandatoryGroup != nil {
		selector, err := metav1.LabelSelectorAsSelector(r.MandatoryGroup)
		switch {
		case err != nil:
			err = fmt.Errorf("spec.rollout.mandatoryGroup: %w: write labels of claims, such as matchLabels: {tier: internal}", err)
		case selector.Empty():
			err = fmt.Errorf("spec.rollout.mandatoryGroup: selects every claim: write labels of claims, such as matchLabels: {tier: internal}, or leave it out")
		}
		s.mandatory, found = selector, append(found, err)
	}
	s.Proved = s.progressDeadline
	for i, of := range r.Steps {
		is := step{percent: int(of.Percent)}
		if i > 0 && is.percent <= s.steps[i-1].percent {
			found = append(found, fmt.Errorf("spec.rollout.steps[%d].percent: %d is not more than the step before has, %d: write the steps in ascending order", i, is.percent, s.steps[i-1].percent))
		}
		if of.MinSuccessTime != "" {
			var err error
			is.minSuccessTime, err = duration(fmt.Sprintf("steps[%d].minSuccessTime", i), of.MinSuccessTime)
			found = append(found, err)
		}
		s.Proved = max(s.Proved, is.minSuccessTime)
		s.steps = append(s.steps, is)
	}
	if len(s.steps) == 0 {
		s.steps = []step{{percent: 100}}
	}
	return s, mistakes.Join(found...)
}

func duration(field string, of v1alpha1.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(string(of))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("spec.rollout.%s: %.40q is not a duration: write hours, minutes or seconds, such as 24h or 30m", field, string(of))
	}
	return d, nil
}

// at returns the index of the last step of at most a percentage, or else of the first step.
func (s Strategy) at(percent int) int {
	at := 0
	for at+1 < len(s.steps) && s.steps[at+1].percent <= percent {
		at++
	}
	return at
}
