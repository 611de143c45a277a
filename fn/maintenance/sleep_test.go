package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestSleep: of all starts and ends the last one counts.
func TestSleep(t *testing.T) {
	const nights, mornings = "0 20 * * *", "0 7 * * 1-5"
	week := []v1alpha1.HibernationSchedule{{Start: nights, End: mornings, TimeZone: "Europe/Berlin"}}
	for name, tc := range map[string]struct {
		reason    string
		schedules []v1alpha1.HibernationSchedule
		now       string
		early     time.Duration
		asleep    bool
		next      string
	}{
		"None":        {reason: "Without schedules nobody sleeps.", now: "2026-01-07T12:00:00Z"},
		"Day":         {"Wednesday at noon.", week, "2026-01-07T12:00:00Z", 0, false, "2026-01-07T19:00:00Z"},
		"Night":       {"Wednesday night.", week, "2026-01-07T22:00:00Z", 0, true, "2026-01-08T06:00:00Z"},
		"Weekend":     {"Saturday at noon: it begins again before it has ended.", week, "2026-01-10T12:00:00Z", 0, true, "2026-01-12T06:00:00Z"},
		"JustBegun":   {"At the minute itself.", week, "2026-01-07T19:00:00Z", 0, true, "2026-01-08T06:00:00Z"},
		"JustEnded":   {"At the minute itself.", week, "2026-01-08T06:00:00Z", 0, false, "2026-01-08T19:00:00Z"},
		"Early":       {"Some wake up earlier.", week, "2026-01-08T05:50:00Z", 10 * time.Minute, false, "2026-01-08T19:00:00Z"},
		"NotYetEarly": {"Some wake up earlier, and not before that.", week, "2026-01-08T05:49:59Z", 10 * time.Minute, true, "2026-01-08T05:50:00Z"},
		"Summer":      {"By the clock of the zone.", week, "2026-07-08T05:00:00Z", 0, false, "2026-07-08T18:00:00Z"},
		"Endless":     {"Without an end.", []v1alpha1.HibernationSchedule{{Start: "0 0 1 12 *"}}, "2026-11-30T00:00:00Z", 0, true, ""},
		"Both":        {"The end of one wakes it up from another.", []v1alpha1.HibernationSchedule{{Start: "0 0 * * *"}, {Start: "0 12 * * *", End: "0 13 * * *"}}, "2026-01-07T14:00:00Z", 0, false, "2026-01-08T00:00:00Z"},
		"SameMinute":  {"Where one schedule ends and another starts, it goes on sleeping.", []v1alpha1.HibernationSchedule{{Start: "0 20 * * *", End: "0 7 * * *"}, {Start: "0 7 * * 6", End: "0 7 * * 1"}}, "2026-01-10T12:00:00Z", 0, true, "2026-01-11T07:00:00Z"},
		"EarlyToo":    {"And nobody wakes up early there.", []v1alpha1.HibernationSchedule{{Start: "0 20 * * *", End: "0 7 * * 1-5"}, {Start: "0 7 * * 6", End: "0 7 * * 1"}}, "2026-01-10T06:55:00Z", 10 * time.Minute, true, "2026-01-12T06:50:00Z"},
		"ShortPause":  {"A sleep that is shorter than that doesn't come.", []v1alpha1.HibernationSchedule{{Start: "0 12 * * *", End: "10 12 * * *"}}, "2026-01-07T12:05:00Z", 12 * time.Minute, false, ""},
		"Yearly":      {"Rarely.", []v1alpha1.HibernationSchedule{{Start: "0 0 1 1 *", End: "0 0 2 1 *"}}, "2026-01-07T14:00:00Z", 0, false, "2027-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSleep("spec.hibernation.schedules", tc.schedules)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			asleep, at := s.At(now, tc.early)
			next := ""
			if !at.IsZero() {
				next = at.UTC().Format(time.RFC3339)
			}
			if asleep != tc.asleep || next != tc.next {
				t.Errorf("\n%s\nwant %t until %s, got %t until %s", tc.reason, tc.asleep, tc.next, asleep, next)
			}
		})
	}
}

// TestLast: what Last finds is followed by nothing up to the moment, as walking forward shows.
func TestLast(t *testing.T) {
	for _, schedule := range []string{"0 20 * * 1-5", "30 2 1 * *", "0 0 29 2 *", "15 * * * 6", "0 0 1 1 *"} {
		c, err := ParseCron("", "", schedule, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		for _, now := range []time.Time{time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)} {
			var want time.Time
			for at := c.Next(now.AddDate(-4, -1, 0)); !at.After(now); at = c.Next(at) {
				want = at
			}
			if got := c.Last(now); !got.Equal(want) {
				t.Errorf("%s before %s: want %s, got %s", schedule, now, want, got)
			}
		}
	}
}

// TestSleepMistakes names each field.
func TestSleepMistakes(t *testing.T) {
	_, err := ParseSleep("spec.hibernation.schedules", []v1alpha1.HibernationSchedule{{Start: "0 20 * * *", End: "tomorrow"}, {Start: "* * * * *", End: "0 7 * * *"}, {Start: "0 1 * * *", TimeZone: "Mars"}, {Start: "0 0 29 2 *"}})
	for _, want := range []string{"spec.hibernation.schedules[0].end: ", "spec.hibernation.schedules[1].start: ", "spec.hibernation.schedules[2].timeZone: ", "spec.hibernation.schedules[3].start: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

// TestSpread: a thousand tenants with names as they are given are spread over six hours, whether these are numbered or not.
func TestSpread(t *testing.T) {
	for form, name := range map[string]string{"Numbered": "tenant%04d-7rw8j", "Random": "customer-%x"} {
		minutes, hours := map[uint32]int{}, map[uint32]int{}
		for n := range 1000 {
			minute := Spread(fmt.Sprintf(name, n*n), 6*60)
			minutes[minute]++
			hours[minute/60]++
		}
		for minute, n := range minutes {
			if n > 15 {
				t.Errorf("%s: %d tenants at minute %d", form, n, minute)
			}
		}
		for hour := range uint32(6) {
			if n := hours[hour]; n < 120 || n > 220 {
				t.Errorf("%s: %d tenants in hour %d", form, n, hour)
			}
		}
	}
}
