package maintenance

import (
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
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
	// changes may begin; with Open 0, the window is always open. Both are by the clock.
	Begin int64 `json:"begin,omitempty"`
	Open  int64 `json:"open,omitempty"`
	// Zone is the name of the time zone of that clock; empty for an offset from UTC.
	Zone string `json:"zone,omitempty"`
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
	of := *spec.TimeWindow
	var found []error
	if of.TimeZone != "" {
		if _, err := zoneNamed(of.TimeZone); err != nil {
			found = append(found, fmt.Errorf("%s.timeWindow.timeZone: %.64q is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin", field, of.TimeZone))
		}
	}
	begin, noBegin := timeOfDay(field+".timeWindow.begin", of.Begin, of.TimeZone)
	end, noEnd := timeOfDay(field+".timeWindow.end", of.End, of.TimeZone)
	found = append(found, noBegin, noEnd)
	length := end.Sub(begin) % (24 * time.Hour)
	if length < 0 {
		length += 24 * time.Hour
	}
	if noBegin == nil && noEnd == nil && length < shortest {
		found = append(found, fmt.Errorf("%s.timeWindow: from %s to %s is shorter than %s: write a later end, or leave timeWindow out for all hours", field, of.Begin, of.End, shortest))
	}
	_, offset := begin.Zone()
	w := Window{
		Begin:  int64(begin.Hour()*3600 + begin.Minute()*60 + begin.Second()),
		Open:   int64((length - lastBegin).Seconds()),
		Zone:   of.TimeZone,
		Offset: int64(offset),
	}
	for i, name := range spec.Days {
		day, ok := weekdays[name]
		if !ok {
			found = append(found, fmt.Errorf("%s.days[%d]: %.20q is not a day: write Mon, Tue, Wed, Thu, Fri, Sat or Sun", field, i, name))
		}
		w.Days |= 1 << day
	}
	if err := mistakes.Join(found...); err != nil {
		return Window{}, err
	}
	if w.Days == 0 {
		w.Days = every
	}
	return w, nil
}

// timeOfDay reads a time of day: in a time zone one without an offset, else one with its
// own.
func timeOfDay(field, text, zone string) (time.Time, error) {
	if zone == "" {
		t, err := time.Parse("150405-0700", text)
		if err != nil {
			return t, fmt.Errorf("%s: %.20q is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or set timeZone and write 220000", field, text)
		}
		return t, nil
	}
	if _, err := time.Parse("150405-0700", text); err == nil {
		return time.Time{}, fmt.Errorf("%s: %.20q has an offset from UTC, and timeZone is %s: write hours, minutes and seconds alone, such as 220000, or leave timeZone out", field, text, zone)
	}
	t, err := time.Parse("150405", text)
	if err != nil {
		return t, fmt.Errorf("%s: %.20q is not a time of day: write hours, minutes and seconds, such as 220000, by the clock of timeZone %s", field, text, zone)
	}
	return t, nil
}

// Next returns when a change may begin: at the given time if the window is open then,
// otherwise when it opens next.
func (w Window) Next(at time.Time) time.Time {
	if w.Open == 0 {
		return at
	}
	zone := w.zone()
	_, offset := at.In(zone).Zone()
	today := (at.Unix() + int64(offset)) / secondsOfDay
	// The window may have begun yesterday. Within a week from today it begins on each day.
	for day := today - 1; day <= today+7; day++ {
		// The first day of Unix time was a Thursday.
		if weekday := (day + int64(time.Thursday)) % 7; w.Days&(1<<weekday) == 0 {
			continue
		}
		clock := day*secondsOfDay + w.Begin
		begin := moment(zone, clock)
		end := moment(zone, clock+w.Open+int64(lastBegin.Seconds()))
		if least := begin.Add(shortest); end.Before(least) {
			end = least
		}
		switch {
		case at.Before(begin):
			return begin
		case at.Before(end.Add(-lastBegin)):
			return at
		}
	}
	// Specs can't have such a window.
	return at
}

// moment returns the first moment at which the clock of a zone shows a time or a later one.
// So a time that the clock skips is the moment at which it does, and of one that it shows
// twice the first one counts. The time is given in seconds, as Unix time is where the clock
// shows UTC.
func moment(zone *time.Location, clock int64) time.Time {
	// The day before, each clock of the world shows an earlier time.
	for at := time.Unix(clock-26*60*60, 0).In(zone); ; {
		_, offset := at.Zone()
		_, changes := at.ZoneBounds()
		shows := time.Unix(clock-int64(offset), 0).In(zone)
		switch {
		case shows.Before(at):
			return at
		case changes.IsZero() || shows.Before(changes):
			return shows
		}
		at = changes
	}
}

// zone is the window's own. One that nobody knows, as in a record that somebody has edited,
// is an offset.
func (w Window) zone() *time.Location {
	if w.Zone != "" {
		if zone, err := zoneNamed(w.Zone); err == nil {
			return zone
		}
	}
	return time.FixedZone("", int(w.Offset))
}
