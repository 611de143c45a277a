package maintenance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02 15:04:05 -0700", text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func window(begin, end string, days ...v1alpha1.Weekday) *v1alpha1.MaintenanceSpec {
	return &v1alpha1.MaintenanceSpec{TimeWindow: &v1alpha1.TimeWindow{Begin: begin, End: end}, Days: days}
}

func zoned(zone, begin, end string, days ...v1alpha1.Weekday) *v1alpha1.MaintenanceSpec {
	m := window(begin, end, days...)
	m.TimeWindow.TimeZone = zone
	return m
}

func frozen(m *v1alpha1.MaintenanceSpec, until, reason string) *v1alpha1.MaintenanceSpec {
	m.Freeze = &v1alpha1.Freeze{Until: until, Reason: reason}
	return m
}

// 2026-11-22 is a Sunday.
func TestAt(t *testing.T) {
	sunday := window("220000+0100", "030000+0100", "Sun")
	for name, tc := range map[string]struct {
		reason string
		spec   *v1alpha1.MaintenanceSpec
		now    string
		state  State
		next   string // now where it is empty
		waits  string
	}{
		"Nothing":      {"Without a spec changes may begin at all times.", nil, "2026-11-22 12:00:00 +0000", Open, "", ""},
		"Empty":        {"So they may with an empty one.", &v1alpha1.MaintenanceSpec{}, "2026-11-22 12:00:00 +0000", Open, "", ""},
		"Before":       {"It opens later that day.", sunday, "2026-11-22 20:59:59 +0000", Closed, "2026-11-22 22:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-22 22:00 +0100"},
		"Begin":        {"The begin belongs to it.", sunday, "2026-11-22 21:00:00 +0000", Open, "", ""},
		"Midnight":     {"It is open past midnight, though Monday isn't one of its days.", sunday, "2026-11-23 00:30:00 +0100", Open, "", ""},
		"LastBegin":    {"A change begins 15 minutes before its end at the latest.", sunday, "2026-11-23 02:44:59 +0100", Open, "", ""},
		"TooLate":      {"Later it waits for a week.", sunday, "2026-11-23 02:45:00 +0100", Closed, "2026-11-29 22:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-29 22:00 +0100"},
		"OtherNight":   {"Sunday's first hours belong to Saturday's window.", sunday, "2026-11-22 01:00:00 +0100", Closed, "2026-11-22 22:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-22 22:00 +0100"},
		"EveryDay":     {"Without days it begins on each.", window("030000+0000", "040000+0000"), "2026-11-23 03:46:00 +0000", Closed, "2026-11-24 03:00:00 +0000", "waits for its maintenance window, Tuesday 2026-11-24 03:00 +0000"},
		"OwnOffset":    {"Days are those of the window's offset: in UTC this one begins on Saturday.", window("020000+0900", "040000+0900", "Sun"), "2026-11-21 17:00:00 +0000", Open, "", ""},
		"WestOfUTC":    {"And this one on Monday.", window("220000-0800", "235959-0800", "Sun"), "2026-11-23 06:00:00 +0000", Open, "", ""},
		"TwoOffsets":   {"Begin and end may have different ones.", window("220000+0100", "220000+0000", "Sun"), "2026-11-22 22:44:59 +0100", Open, "", ""},
		"SeveralDays":  {"The next of its days is taken.", window("080000+0000", "090000+0000", "Mon", "Wed"), "2026-11-23 12:00:00 +0000", Closed, "2026-11-25 08:00:00 +0000", "waits for its maintenance window, Wednesday 2026-11-25 08:00 +0000"},
		"Frozen":       {"A freeze ends when its day begins.", frozen(&v1alpha1.MaintenanceSpec{}, "2027-01-10", ""), "2027-01-09 23:59:59 +0000", Frozen, "2027-01-10 00:00:00 +0000", "is frozen until 2027-01-10"},
		"Thawed":       {"On that day changes may begin.", frozen(&v1alpha1.MaintenanceSpec{}, "2027-01-10", ""), "2027-01-10 00:00:00 +0000", Open, "", ""},
		"FrozenWindow": {"After it, in the window. 2027-01-10 is a Sunday.", frozen(window("220000+0100", "030000+0100", "Sun"), "2027-01-10", "year end"), "2026-12-27 22:30:00 +0100", Frozen, "2027-01-10 22:00:00 +0100", "is frozen until 2027-01-10: year end"},
		"Winter":       {"In a time zone it opens by the clock there.", zoned("Europe/Berlin", "220000", "030000", "Sun"), "2026-11-22 20:59:59 +0000", Closed, "2026-11-22 22:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-22 22:00 +0100"},
		"Summer":       {"In summer, too.", zoned("Europe/Berlin", "220000", "030000", "Sun"), "2026-07-05 19:59:59 +0000", Closed, "2026-07-05 22:00:00 +0200", "waits for its maintenance window, Sunday 2026-07-05 22:00 +0200"},
		"DayOfZone":    {"Days are those of the time zone: in UTC this one begins on Saturday.", zoned("Asia/Tokyo", "020000", "040000", "Sun"), "2026-11-21 17:00:00 +0000", Open, "", ""},
		"ToSummer":     {"Clocks are put forward from 2 to 3 on 2027-03-28. The window still ends at 3.", zoned("Europe/Berlin", "220000", "030000", "Sat"), "2027-03-28 01:45:00 +0100", Closed, "2027-04-03 22:00:00 +0200", "waits for its maintenance window, Saturday 2027-04-03 22:00 +0200"},
		"NearlySummer": {"It is open until 15 minutes before that.", zoned("Europe/Berlin", "220000", "030000", "Sat"), "2027-03-28 01:44:59 +0100", Open, "", ""},
		"NextSummer":   {"What opens after the change of clocks opens by the new ones.", zoned("Europe/Berlin", "220000", "030000", "Sun"), "2027-03-27 12:00:00 +0100", Closed, "2027-03-28 22:00:00 +0200", "waits for its maintenance window, Sunday 2027-03-28 22:00 +0200"},
		"SkippedBegin": {"No clock shows 2:30 that day: it opens when it is 3.", zoned("Europe/Berlin", "023000", "040000", "Sun"), "2027-03-28 00:59:59 +0000", Closed, "2027-03-28 03:00:00 +0200", "waits for its maintenance window, Sunday 2027-03-28 03:00 +0200"},
		"SkippedEnd":   {"One that ends at 2:30 ends then.", zoned("Europe/Berlin", "013000", "023000", "Sun"), "2027-03-28 01:45:00 +0100", Closed, "2027-04-04 01:30:00 +0200", "waits for its maintenance window, Sunday 2027-04-04 01:30 +0200"},
		"Skipped":      {"One that clocks skip as a whole is 30 minutes long.", zoned("Europe/Berlin", "020000", "024500", "Sun"), "2027-03-28 03:14:59 +0200", Open, "", ""},
		"SkippedLate":  {"And closes as any does.", zoned("Europe/Berlin", "020000", "024500", "Sun"), "2027-03-28 03:15:00 +0200", Closed, "2027-04-04 02:00:00 +0200", "waits for its maintenance window, Sunday 2027-04-04 02:00 +0200"},
		"TwiceBegin":   {"Clocks are put back from 3 to 2 on 2026-10-25. It opens at the first 2:30.", zoned("Europe/Berlin", "023000", "040000", "Sun"), "2026-10-25 00:30:00 +0000", Open, "", ""},
		"TwiceInside":  {"And is open until the end.", zoned("Europe/Berlin", "023000", "040000", "Sun"), "2026-10-25 02:10:00 +0100", Open, "", ""},
		"TwiceEnd":     {"One that ends at 2:30 ends at the first.", zoned("Europe/Berlin", "010000", "023000", "Sun"), "2026-10-25 00:15:00 +0000", Closed, "2026-11-01 01:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-01 01:00 +0100"},
		"Twice":        {"One that clocks show twice opens once.", zoned("Europe/Berlin", "020000", "024500", "Sun"), "2026-10-25 02:10:00 +0100", Closed, "2026-11-01 02:00:00 +0100", "waits for its maintenance window, Sunday 2026-11-01 02:00 +0100"},
		"FrozenZone":   {"A freeze ends by the clock of the window's time zone.", frozen(zoned("Europe/Berlin", "000000", "040000"), "2026-07-05", ""), "2026-07-04 21:59:59 +0000", Frozen, "2026-07-05 00:00:00 +0200", "is frozen until 2026-07-05"},
		"NoMidnight":   {"On 2027-04-30 no clock of Cairo shows midnight: it ends when it is 1.", frozen(zoned("Africa/Cairo", "000000", "040000"), "2027-04-30", ""), "2027-04-29 21:59:59 +0000", Frozen, "2027-04-30 01:00:00 +0300", "is frozen until 2027-04-30"},
		"ThawsInside":  {"It may end while the window is open.", frozen(window("220000+0100", "030000+0100", "Sat"), "2027-01-10", ""), "2027-01-09 22:30:00 +0100", Frozen, "2027-01-10 00:00:00 +0100", "is frozen until 2027-01-10"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("spec.maintenance", tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			now := at(t, tc.now)
			want := now
			if tc.next != "" {
				want = at(t, tc.next)
			}
			state, next := s.At(now)
			if state != tc.state || !next.Equal(want) {
				t.Errorf("%s\nAt(%s): want %d and %s, got %d and %s", tc.reason, now, tc.state, want, state, next)
			}
			if diff := cmp.Diff(tc.waits, s.Waits(now)); diff != "" {
				t.Errorf("%s\nWaits(%s): -want, +got:\n%s", tc.reason, now, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *v1alpha1.MaintenanceSpec
		want string
	}{
		"NoBegin":     {window("", "030000+0100"), `spec.maintenance.timeWindow.begin: "" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or set timeZone and write 220000`},
		"NoOffset":    {window("220000+0100", "030000"), `spec.maintenance.timeWindow.end: "030000" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or set timeZone and write 220000`},
		"NoSuchZone":  {zoned("Europe/Berlim", "220000", "030000"), `spec.maintenance.timeWindow.timeZone: "Europe/Berlim" is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin`},
		"Local":       {zoned("local", "220000", "030000"), `spec.maintenance.timeWindow.timeZone: "local" is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin`},
		"Path":        {zoned("../../etc/passwd", "220000", "030000"), `spec.maintenance.timeWindow.timeZone: "../../etc/passwd" is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin`},
		"ZoneOffset":  {zoned("+01:00", "220000", "030000"), `spec.maintenance.timeWindow.timeZone: "+01:00" is not a time zone: write a name of the IANA time zone database, such as Europe/Berlin`},
		"Both":        {zoned("Europe/Berlin", "220000+0100", "030000"), `spec.maintenance.timeWindow.begin: "220000+0100" has an offset from UTC, and timeZone is Europe/Berlin: write hours, minutes and seconds alone, such as 220000, or leave timeZone out`},
		"BothAtEnd":   {zoned("Europe/Berlin", "220000", "030000+0100"), `spec.maintenance.timeWindow.end: "030000+0100" has an offset from UTC, and timeZone is Europe/Berlin: write hours, minutes and seconds alone, such as 220000, or leave timeZone out`},
		"NoTime":      {zoned("Europe/Berlin", "22:00", "03:00"), `spec.maintenance.timeWindow.begin: "22:00" is not a time of day: write hours, minutes and seconds, such as 220000, by the clock of timeZone Europe/Berlin; (2) spec.maintenance.timeWindow.end: "03:00" is not a time of day: write hours, minutes and seconds, such as 220000, by the clock of timeZone Europe/Berlin`},
		"ZoneShort":   {zoned("Europe/Berlin", "220000", "222959"), "spec.maintenance.timeWindow: from 220000 to 222959 is shorter than 30m0s: write a later end, or leave timeWindow out for all hours"},
		"Hour24":      {window("240000+0000", "030000+0000"), `spec.maintenance.timeWindow.begin: "240000+0000" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100, or set timeZone and write 220000`},
		"TooShort":    {window("220000+0100", "222959+0100"), "spec.maintenance.timeWindow: from 220000+0100 to 222959+0100 is shorter than 30m0s: write a later end, or leave timeWindow out for all hours"},
		"Empty":       {window("220000+0100", "220000+0100"), "spec.maintenance.timeWindow: from 220000+0100 to 220000+0100 is shorter than 30m0s: write a later end, or leave timeWindow out for all hours"},
		"Day":         {window("220000+0100", "030000+0100", "Sun", "Sunday"), `spec.maintenance.days[1]: "Sunday" is not a day: write Mon, Tue, Wed, Thu, Fri, Sat or Sun`},
		"DaysAlone":   {&v1alpha1.MaintenanceSpec{Days: []v1alpha1.Weekday{"Sun"}}, "spec.maintenance.days: there is no time window: write spec.maintenance.timeWindow, too"},
		"NoEnd":       {frozen(&v1alpha1.MaintenanceSpec{}, "", ""), `spec.maintenance.freeze.until: "" is not a date: write the day from which changes may begin again, such as 2027-01-10`},
		"NoSuchDate":  {frozen(&v1alpha1.MaintenanceSpec{}, "2027-02-30", ""), `spec.maintenance.freeze.until: "2027-02-30" is not a date: write the day from which changes may begin again, such as 2027-01-10`},
		"WholeMoment": {frozen(&v1alpha1.MaintenanceSpec{}, "2027-01-10T00:00:00Z", ""), `spec.maintenance.freeze.until: "2027-01-10T00:00:00Z" is not a date: write the day from which changes may begin again, such as 2027-01-10`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("spec.maintenance", tc.spec)
			if err == nil || err.Error() != tc.want {
				t.Errorf("want %s\ngot  %v", tc.want, err)
			}
		})
	}
}

// TestDamagedWindow: a window that no spec has, such as one of a record that somebody has
// edited, has an answer, too.
func TestDamagedWindow(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, w := range []Window{{Open: 60}, {Open: 60, Days: 1 << 7}, {Open: 60, Days: every, Begin: -1 << 40}, {Open: 1 << 40, Days: every}, {Open: -60, Days: every}, {Open: 60, Days: every, Zone: "Nowhere"}, {Open: 1 << 40, Begin: -1 << 40, Days: every, Zone: "Europe/Berlin"}} {
		if got := w.Next(now); got.Before(now) {
			t.Errorf("%+v opens at %s, which is past", w, got)
		}
	}
}

// TestNextIsOpen holds what Next says against a minute-by-minute look at the week.
func TestNextIsOpen(t *testing.T) {
	for _, spec := range []*v1alpha1.MaintenanceSpec{
		window("220000+0100", "030000+0100", "Sun"), window("000000-1200", "235959-1200", "Mon", "Thu"),
		window("233000+1400", "001500+1400"), window("120000+0530", "113000+0530", "Sat", "Sun"), zoned("America/New_York", "233000", "001500"),
	} {
		s, err := Parse("m", spec)
		if err != nil {
			t.Fatal(err)
		}
		from := at(t, "2026-11-21 00:00:00 +0000")
		var next time.Time
		for now := from; now.Before(from.Add(15 * 24 * time.Hour)); now = now.Add(time.Minute) {
			state, opens := s.At(now)
			switch {
			case state == Open:
				next = now
			case next.Before(now):
				next = opens
			case !opens.Equal(next):
				t.Fatalf("%v: at %s it opens at %s, a minute before it was %s", spec.TimeWindow, now, opens, next)
			}
			if state == Closed && next.Equal(now) {
				t.Fatalf("%v: closed at %s, when it was to open", spec.TimeWindow, now)
			}
		}
	}
}

// TestZones holds windows in time zones against a minute-by-minute look at the clock there, in the days around each of a
// year's changes.
func TestZones(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	clock := func() int { return random.IntN(24*12) * 5 }
	for _, name := range []string{
		"Europe/Berlin", "America/New_York",
		// An hour before midnight, at midnight, by half an hour, by two hours, twice a year for Ramadan, at a quarter to.
		"America/Nuuk", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Pacific/Chatham", "UTC",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, around := range changes(zone, 2027) {
			for range 20 {
				// Most windows are near the change.
				minutes := (around.In(zone).Hour()*60 + random.IntN(180) - 90 + 24*60) % (24 * 60)
				length := 30 + random.IntN(90)
				if random.IntN(3) == 0 {
					minutes, length = clock(), min(30+clock(), 24*60-1)
				}
				text := func(minutes int) string { return fmt.Sprintf("%02d%02d00", minutes/60%24, minutes%60) }
				spec := zoned(name, text(minutes), text(minutes+length))
				for _, day := range []v1alpha1.Weekday{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} {
					if random.IntN(3) == 0 {
						spec.Days = append(spec.Days, day)
					}
				}
				holds(t, spec, zone, around, minutes, length)
			}
		}
	}
}

// changes are the moments of a year at which the clock of a zone is changed, or the begin of the year.
func changes(zone *time.Location, year int) []time.Time {
	at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).In(zone)
	var out []time.Time
	for {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Year() > year {
			break
		}
		out, at = append(out, end), end
	}
	if len(out) == 0 {
		return []time.Time{at}
	}
	return out
}

// holds compares a window with what the clock shows, minute by minute.
func holds(t *testing.T, spec *v1alpha1.MaintenanceSpec, zone *time.Location, around time.Time, begin, length int) {
	t.Helper()
	s, err := Parse("m", spec)
	if err != nil {
		t.Fatal(err)
	}
	const before, after = 4 * 24 * 60, 4 * 24 * 60
	from := around.UTC().Truncate(time.Minute).Add(-before * time.Minute)
	// The clock at each minute, as if it were UTC, and since when it has shown that or more.
	shown := map[time.Time]time.Time{}
	highest := time.Time{}
	for i := range before + after {
		at := from.Add(time.Duration(i) * time.Minute)
		_, offset := at.In(zone).Zone()
		shows := at.Add(time.Duration(offset) * time.Second)
		if highest.IsZero() {
			highest = shows.Add(-time.Minute)
		}
		for ; highest.Before(shows); highest = highest.Add(time.Minute) {
			shown[highest.Add(time.Minute)] = at
		}
	}
	open := map[time.Time]bool{}
	for day := range 7 {
		midnight := from.Truncate(24*time.Hour).AddDate(0, 0, day+1)
		if len(spec.Days) > 0 && !slices.Contains(spec.Days, v1alpha1.Weekday(midnight.Format("Mon"))) {
			continue
		}
		opens := shown[midnight.Add(time.Duration(begin)*time.Minute)]
		ends, ok := shown[midnight.Add(time.Duration(begin+length)*time.Minute)]
		if opens.IsZero() || !ok {
			continue
		}
		if least := opens.Add(30 * time.Minute); ends.Before(least) {
			ends = least
		}
		for at := opens; at.Before(ends.Add(-15 * time.Minute)); at = at.Add(time.Minute) {
			open[at] = true
		}
	}
	for i := 2 * 24 * 60; i < before+after-2*24*60; i++ {
		at := from.Add(time.Duration(i) * time.Minute)
		state, next := s.At(at)
		if (state == Open) != open[at] {
			t.Fatalf("%s %+v with %v: at %s it is %d", zone, *spec.TimeWindow, spec.Days, at.In(zone), state)
		}
		// Whoever waits for windows relies on it: see channel.
		if wait := next.Sub(at); wait > 7*24*time.Hour+2*time.Hour {
			t.Fatalf("%s %+v with %v: at %s it opens %s later", zone, *spec.TimeWindow, spec.Days, at.In(zone), wait)
		}
	}
}
