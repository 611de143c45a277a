// Package maintenance says when a change of the platform's may begin on a tenant: in its
// time window, and not while it is frozen.
//
// A window is a part of the day, past midnight or not, on the days of the week on which it
// begins, in the window's own offset from UTC. A change begins in it, and no later than 15
// minutes before its end. How long it takes isn't bounded. A window is 30 minutes long at
// least. All of this is as in Gardener's maintenance.timeWindow.
//
// In place of an offset a window may have a time zone, by whose clock it begins and ends.
// Where that clock is put forward, a time that it skips is the moment at which it does. Where
// it is put back, of a time that it shows twice the first one counts. A window that is
// shortened by that is 30 minutes long all the same, so that it opens on each of its days:
// whoever waits for a window relies on that. The zone stands in records, not the offset that
// it has at the moment: clocks that change are no change of the window.
//
// A freeze is until the beginning of a day. It has no begin, since whoever writes it means
// now, and an end, so that no tenant stays behind for ever.
package maintenance

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// A Schedule says when changes may begin. The zero Schedule is all the time.
type Schedule struct {
	Window Window `json:"window,omitzero"`
	// Thaws is the end of the freeze; the zero time for none.
	Thaws time.Time `json:"thaws,omitzero"`
	// Reason of the freeze.
	Reason string `json:"reason,omitempty"`
}

// A State is whether changes may begin.
type State int

// States of a schedule.
const (
	// Open: they may.
	Open State = iota
	// Closed: the window isn't open.
	Closed
	// Frozen: there is a freeze, whatever the window.
	Frozen
)

// Parse reads a spec; nil is one with nothing in it. field is the path that errors name.
func Parse(field string, spec *v1alpha1.MaintenanceSpec) (Schedule, error) {
	if spec == nil {
		return Schedule{}, nil
	}
	w, err := parseWindow(field, *spec)
	if err != nil || spec.Freeze == nil {
		return Schedule{Window: w}, err
	}
	until, err := time.Parse(time.DateOnly, spec.Freeze.Until)
	if err != nil {
		return Schedule{}, fmt.Errorf("%s.freeze.until: %.20q is no date: write the day from which changes may come again, such as 2027-01-10", field, spec.Freeze.Until)
	}
	return Schedule{Window: w, Thaws: moment(w.zone(), until.Unix()), Reason: spec.Freeze.Reason}, nil
}

// At returns the state at a time, and when changes may begin: then where it is open, else
// later.
func (s Schedule) At(now time.Time) (State, time.Time) {
	if now.Before(s.Thaws) {
		return Frozen, s.Window.Next(s.Thaws)
	}
	if next := s.Window.Next(now); next.After(now) {
		return Closed, next
	}
	return Open, now
}

// Waits says what changes wait for at a time; "" where they may begin.
func (s Schedule) Waits(now time.Time) string {
	switch state, next := s.At(now); {
	case state == Frozen && s.Reason != "":
		return fmt.Sprintf("is frozen until %s: %s", s.Thaws.Format(time.DateOnly), s.Reason)
	case state == Frozen:
		return "is frozen until " + s.Thaws.Format(time.DateOnly)
	case state == Closed:
		return "waits for its window, " + next.In(s.Window.zone()).Format("Monday 2006-01-02 15:04 -0700")
	}
	return ""
}
