package maintenance

import (
	"fmt"
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

// At reports whether a tenant is asleep that wakes up so early before each end, and when that changes next; the zero time for never.
func (s Sleep) At(now time.Time, early time.Duration) (asleep bool, next time.Time) {
	var began, ended time.Time
	for _, c := range s.starts {
		if last := c.Last(now); last.After(began) {
			began = last
		}
	}
	for _, c := range s.ends {
		if last := c.Last(now.Add(early)); !last.IsZero() && last.Add(-early).After(ended) {
			ended = last.Add(-early)
		}
	}
	asleep = began.After(ended)
	changes, before := s.starts, time.Duration(0)
	if asleep {
		changes, before = s.ends, early
	}
	for _, c := range changes {
		if at := c.Next(now.Add(before)); !at.IsZero() && (next.IsZero() || at.Add(-before).Before(next)) {
			next = at.Add(-before)
		}
	}
	return asleep, next
}
