// Package maintenance says when a change of the platform's may begin on a tenant: in its
// time window, and not while it is frozen.
//
// A window is a part of the day, past midnight or not, on the days of the week on which it
// begins, in the window's own offset from UTC. A change begins in it, and no later than 15
// minutes before its end. How long it takes isn't bounded. A window is 30 minutes long at
// least. All of this is as in Gardener's maintenance.timeWindow.
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
	until, err := time.ParseInLocation(time.DateOnly, spec.Freeze.Until, w.zone())
	if err != nil {
		return Schedule{}, fmt.Errorf("%s.freeze.until: %.20q is not a date: write the day from which changes may begin again, such as 2027-01-10", field, spec.Freeze.Until)
	}
	return Schedule{Window: w, Thaws: until, Reason: spec.Freeze.Reason}, nil
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
		return "waits for its maintenance window, " + next.In(s.Window.zone()).Format("Monday 2006-01-02 15:04 -0700")
	}
	return ""
}
