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
		// It takes the longer to find out when one came last, the rarer it is.
		if from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC); err == nil && c.Next(from).After(from.AddDate(1, 0, 2)) {
			err = fmt.Errorf("%s.%s: %.100q doesn't come every year: write one that does, such as 0 0 28 2 *", below, name, schedule)
		}
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

// A sleeper is asleep by the last start and the last end. A start comes before an end of the same moment.
type sleeper struct{ began, ended time.Time }

func (s sleeper) asleep() bool { return !s.began.IsZero() && !s.began.Before(s.ended) }

// at returns the sleeper of a moment.
func (s Sleep) at(now time.Time) *sleeper {
	last := func(of []Cron) (out time.Time) {
		for _, c := range of {
			if at := c.Last(now); at.After(out) {
				out = at
			}
		}
		return out
	}
	return &sleeper{last(s.starts), last(s.ends)}
}

// steps bounds how many starts and ends At looks at: not every one changes something.
const steps = 64

// At reports whether a tenant is asleep that wakes up so early before what ends its sleep, and when that changes next; the zero time for
// never, or not soon. It is asleep while it would be without that, now and so early from now.
func (s Sleep) At(now time.Time, early time.Duration) (asleep bool, next time.Time) {
	// What comes next of each schedule, and of whose time by then it is the last.
	type coming struct {
		Cron
		at     time.Time
		before time.Duration
		last   *time.Time
	}
	var all []*coming
	var sleepers []*sleeper
	for _, before := range slices.Compact([]time.Duration{0, early}) {
		from := now.Add(before)
		is := s.at(from)
		sleepers = append(sleepers, is)
		for last, of := range map[*time.Time][]Cron{&is.began: s.starts, &is.ended: s.ends} {
			for _, c := range of {
				if at := c.Next(from); !at.IsZero() {
					all = append(all, &coming{c, at, before, last})
				}
			}
		}
	}
	is := func() bool {
		return !slices.ContainsFunc(sleepers, func(s *sleeper) bool { return !s.asleep() })
	}
	asleep = is()
	for range steps {
		next = time.Time{}
		for _, c := range all {
			if at := c.at.Add(-c.before); !c.at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		for _, c := range all {
			if !next.IsZero() && !c.at.IsZero() && c.at.Add(-c.before).Equal(next) {
				*c.last, c.at = c.at, c.Next(c.at)
			}
		}
		if next.IsZero() || is() != asleep {
			return asleep, next
		}
	}
	return asleep, time.Time{}
}
