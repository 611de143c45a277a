// Package maintenance says when a platform change may begin for a tenant: in its maintenance
// window, and not during a freeze.
//
// A window is a part of the day, which may span midnight. It begins on certain days of the
// week, at its own offset from UTC. A change begins in the window, at least 15 minutes before
// its end. How long the change takes isn't limited. A window is at least 30 minutes long, and
// shorter than a day. All of this is as in Gardener's maintenance.timeWindow.
//
// Instead of an offset a window may have a time zone, by whose clock it begins and ends. A
// time that this clock skips, when it is put forward, is the moment at which it does; of a
// time that it shows twice, when it is put back, the first one counts. A window that becomes
// shorter by that is still 30 minutes long, so that it opens on each of its days. Records have
// the name of the zone, not its present offset: a clock that changes doesn't change the window.
//
// A freeze lasts until the beginning of a day. It begins at once, and always has an end, so
// that no tenant stays behind forever.
package maintenance

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// A Schedule says when platform changes may begin. The zero Schedule allows them at any time.
type Schedule struct {
	Window Window `json:"window,omitzero"`
	// Thaws is the end of the freeze; the zero time for no freeze.
	Thaws time.Time `json:"thaws,omitzero"`
	// Reason of the freeze, for messages.
	Reason string `json:"reason,omitempty"`
	// Asleep reports whether the tenant is asleep: no change may begin before it has woken up.
	Asleep bool `json:"asleep,omitempty"`
}

// A State says whether changes may begin.
type State int

// States of a schedule.
const (
	// Open: they may begin.
	Open State = iota
	// Closed: the window isn't open.
	Closed
	// Frozen: there is a freeze, or the tenant is asleep, whether the window is open or not.
	Frozen
)

// Parse returns the schedule of a spec. A nil spec is like an empty one. field is the path of
// the spec, such as spec.maintenance; errors begin with the path of the field that is wrong,
// and say what to write.
func Parse(field string, spec *v1alpha1.MaintenanceSpec) (Schedule, error) {
	if spec == nil {
		return Schedule{}, nil
	}
	w, err := parseWindow(field, *spec)
	if spec.Freeze == nil {
		return Schedule{Window: w}, err
	}
	until, notDate := time.Parse(time.DateOnly, spec.Freeze.Until)
	if notDate != nil {
		err = mistakes.Join(err, fmt.Errorf("%s.freeze.until: %.20q is not a date: write the day from which changes may begin again, such as 2027-01-10", field, spec.Freeze.Until))
	}
	if err != nil {
		return Schedule{}, err
	}
	return Schedule{Window: w, Thaws: moment(w.zone(), until.Unix()), Reason: spec.Freeze.Reason}, nil
}

// At returns the state at a time, and when changes may begin: at that time if the state is
// Open, otherwise later; the zero time for unknown.
func (s Schedule) At(now time.Time) (State, time.Time) {
	if s.Asleep {
		return Frozen, time.Time{}
	}
	if now.Before(s.Thaws) {
		return Frozen, s.Window.Next(s.Thaws)
	}
	if next := s.Window.Next(now); next.After(now) {
		return Closed, next
	}
	return Open, now
}

// Waits returns a message that says what changes wait for at a time; "" if they may begin.
func (s Schedule) Waits(now time.Time) string {
	switch state, next := s.At(now); {
	case s.Asleep:
		return "is asleep, and takes changes when it wakes up"
	case state == Frozen && s.Reason != "":
		return fmt.Sprintf("is frozen until %s: %s", s.Thaws.Format(time.DateOnly), s.Reason)
	case state == Frozen:
		return "is frozen until " + s.Thaws.Format(time.DateOnly)
	case state == Closed:
		return "waits for its maintenance window, " + next.In(s.Window.zone()).Format("Monday 2006-01-02 15:04 -0700")
	}
	return ""
}
