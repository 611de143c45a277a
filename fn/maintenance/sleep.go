package maintenance

import (
	"fmt"
	"slices"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// Sleep says when a tenant is asleep. The zero Sleep says never.
type Sleep struct{ starts, ends []Cron }

// ParseSleep returns what schedules say. field is their path, such as spec.hibernation.schedules.
func ParseSleep(field string, schedules []v1alpha1.HibernationSchedule) (Sleep, error) {
	s := Sleep{}
	var found []error
	add := func(to *[]Cron, below, name, schedule, zone string) {
		c, err := ParseCron(below, name, schedule, zone)
		*to, found = append(*to, c), append(found, err)
	}
	for i, schedule := range schedules {
		below := fmt.Sprintf("%s[%d]", field, i)
		add(&s.starts, below, "start", schedule.Start, schedule.TimeZone)
		if schedule.End != "" {
			add(&s.ends, below, "end", schedule.End, schedule.TimeZone)
		}
	}
	if err := mistakes.Join(found...); err != nil {
		return Sleep{}, err
	}
	return s, nil
}

// At reports whether a tenant is asleep that wakes up so early before what ends its sleep, and when that changes next; the zero time for
// never, or not soon.
func (s Sleep) At(now time.Time, early time.Duration) (asleep bool, next time.Time) {
	is := func(at time.Time) bool { return s.at(at) && s.at(at.Add(early)) }
	asleep, next = is(now), now
	// Not every start and end changes it.
	for range 16 {
		if next = s.after(next, early); next.IsZero() || is(next) != asleep {
			return asleep, next
		}
	}
	return asleep, time.Time{}
}

// at reports whether a tenant is asleep by the last start and the last end. A start comes before an end of the same moment.
func (s Sleep) at(now time.Time) bool {
	began, ended := last(s.starts, now), last(s.ends, now)
	return !began.IsZero() && !began.Before(ended)
}

func last(of []Cron, until time.Time) (out time.Time) {
	for _, c := range of {
		if at := c.Last(until); at.After(out) {
			out = at
		}
	}
	return out
}

// after returns when a start or an end comes next, or so early before one.
func (s Sleep) after(now time.Time, early time.Duration) (out time.Time) {
	for _, c := range slices.Concat(s.starts, s.ends) {
		for _, before := range []time.Duration{0, early} {
			if at := c.Next(now.Add(before)); !at.IsZero() && (out.IsZero() || at.Add(-before).Before(out)) {
				out = at.Add(-before)
			}
		}
	}
	return out
}
