package maintenance

import (
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
		"NoBegin":     {window("", "030000+0100"), `spec.maintenance.timeWindow.begin: "" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100`},
		"NoOffset":    {window("220000+0100", "030000"), `spec.maintenance.timeWindow.end: "030000" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100`},
		"Hour24":      {window("240000+0000", "030000+0000"), `spec.maintenance.timeWindow.begin: "240000+0000" is not a time of day: write hours, minutes, seconds and the offset from UTC, such as 220000+0100`},
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
	for _, w := range []Window{{Open: 60}, {Open: 60, Days: 1 << 7}, {Open: 60, Days: every, Begin: -1 << 40}, {Open: 1 << 40, Days: every}, {Open: -60, Days: every}} {
		if got := w.Next(now); got.Before(now) {
			t.Errorf("%+v opens at %s, which is past", w, got)
		}
	}
}

// TestNextIsOpen holds what Next says against a minute-by-minute look at the week.
func TestNextIsOpen(t *testing.T) {
	for _, spec := range []*v1alpha1.MaintenanceSpec{
		window("220000+0100", "030000+0100", "Sun"), window("000000-1200", "235959-1200", "Mon", "Thu"),
		window("233000+1400", "001500+1400"), window("120000+0530", "113000+0530", "Sat", "Sun"),
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
