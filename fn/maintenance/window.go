package maintenance

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

const (
	// shortest is the least length of a window, and lastBegin is how long before its end the
	// last change begins. Both are as in Gardener.
	shortest  = 30 * time.Minute
	lastBegin = 15 * time.Minute

	secondsOfDay = 24 * 60 * 60
)

// A Window is a part of some days of the week. The zero Window is always open.
type Window struct {
	// Begin of the window in seconds from the beginning of the day, and for how many seconds
	// changes may begin; with Open 0, the window is always open.
	Begin int64 `json:"begin,omitempty"`
	Open  int64 `json:"open,omitempty"`
	// Offset of the window's days from UTC, in seconds.
	Offset int64 `json:"offset,omitempty"`
	// Days on which it begins, as bits: Sunday is the lowest, 1.
	Days uint8 `json:"days,omitempty"`
}

// every is all days of the week.
const every = 1<<7 - 1

// weekdays has the days by their names in the API.
var weekdays = map[v1alpha1.Weekday]time.Weekday{
	"Sun": time.Sunday, "Mon": time.Monday, "Tue": time.Tuesday, "Wed": time.Wednesday,
	"Thu": time.Thursday, "Fri": time.Friday, "Sat": time.Saturday,
}

// parseWindow returns the window of a spec. field is the path of the spec.
func parseWindow(field string, spec v1alpha1.MaintenanceSpec) (Window, error) {
	if spec.TimeWindow == nil {
		if len(spec.Days) > 0 {
			return Window{}, fmt.Errorf("%s.days: there is no time window: write %[1]s.timeWindow, too", field)
		}
		return Window{}, nil
	}
	begin, err := timeOfDay(field+".timeWindow.begin", spec.TimeWindow.Begin)
	if err != nil {
		return Window{}, err
	}
	end, err := timeOfDay(field+".timeWindow.end", spec.TimeWindow.End)
	if err != nil {
		return Window{}, err
	}
	length := end.Sub(begin) % (24 * time.Hour)
	if length < 0 {
		length += 24 * time.Hour
	}
	if length < shortest {
		return Window{}, fmt.Errorf("%s.timeWindow: from %s to %s is shorter than %s: write a later end, or leave timeWindow out for all hours", field, spec.TimeWindow.Begin, spec.TimeWindow.End, shortest)
	}
	_, offset := begin.Zone()
	w := Window{
		Begin:  int64(begin.Hour()*3600 + begin.Minute()*60 + begin.Second()),
		Open:   int64((length - lastBegin).Seconds()),
		Offset: int64(offset),
	}
	for i, name := range spec.Days {
		day, ok := weekdays[name]
		if !ok {
			return Window{}, fmt.Errorf("%s.days[%d]: %.20q is not a day: write Mon, Tue, Wed, Thu, Fri, Sat or Sun", field, i, name)
		}
		w.Days |= 1 << day
	}
	if w.Days == 0 {
		w.Days = every
	}
	return w, nil
}

func timeOfDay(field, text string) (time.Time, error) {
	t, err := time.Parse("150405-0700", text)
	if err != nil {
		return t, fmt.Errorf("%s: %.20q is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100", field, text)
	}
	return t, nil
}

// Next returns when a change may begin: at the given time if the window is open then,
// otherwise when it opens next.
func (w Window) Next(at time.Time) time.Time {
	if w.Open == 0 {
		return at
	}
	local := at.Unix() + w.Offset
	today := local / secondsOfDay
	// The window may have begun yesterday. Within a week from today it begins on each day.
	for day := today - 1; day <= today+7; day++ {
		// The first day of Unix time was a Thursday.
		if weekday := (day + int64(time.Thursday)) % 7; w.Days&(1<<weekday) == 0 {
			continue
		}
		begin := day*secondsOfDay + w.Begin
		switch {
		case local < begin:
			return time.Unix(begin-w.Offset, 0).In(w.zone())
		case local < begin+w.Open:
			return at
		}
	}
	// Specs can't have such a window.
	return at
}

// zone returns the time zone of the window's offset.
func (w Window) zone() *time.Location { return time.FixedZone("", int(w.Offset)) }
