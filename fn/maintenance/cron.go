package maintenance

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Cron is a schedule as a CronJob has it.
type Cron struct {
	cron.Schedule
	zone *time.Location
}

// minutes are the bits of cron.SpecSchedule.Minute that stand for minutes of an hour.
const minutes = 1<<60 - 1

// ParseCron reads a schedule and its time zone, "" for UTC, with the parser of Kubernetes' CronJob controller. Schedules that run more
// often than once an hour are errors, which begin with the path of the field, such as schedule, below the one that has it and timeZone.
func ParseCron(below, field, schedule, timeZone string) (Cron, error) {
	example := "write minute, hour, day of the month, month and day of the week, such as 30 2 * * *"
	if strings.HasPrefix(schedule, "@every") || strings.Contains(schedule, "TZ=") {
		return Cron{}, fmt.Errorf("%s.%s: %.100q isn't the schedule of a CronJob: %s", below, field, schedule, example)
	}
	s, err := cron.ParseStandard(schedule)
	if err != nil {
		return Cron{}, fmt.Errorf("%s.%s: %.100q isn't the schedule of a CronJob (%w): %s", below, field, schedule, err, example)
	}
	zone, err := zoneNamed(cmp.Or(timeZone, "Etc/UTC"))
	if err != nil {
		return Cron{}, fmt.Errorf("%s.timeZone: %.64q is not in the IANA time zone database: write a name such as Europe/Berlin", below, timeZone)
	}
	// Two minutes of an hour are less than an hour apart, and one minute of two hours isn't.
	if spec, ok := s.(*cron.SpecSchedule); !ok || bits.OnesCount64(spec.Minute&minutes) > 1 {
		return Cron{}, fmt.Errorf("%s.%s: %.100q runs more often than once an hour: %s", below, field, schedule, example)
	}
	c := Cron{s, zone}
	if c.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%s.%s: %.100q never comes: %s", below, field, schedule, example)
	}
	return c, nil
}

// Next returns when the schedule runs next after a moment; the zero time for never.
func (c Cron) Next(after time.Time) time.Time {
	if after.IsZero() {
		return after
	}
	return c.Schedule.Next(after.In(c.zone)).UTC()
}

// Spread returns a number below n that follows from the name of a tenant, so that not all of them do something at once.
func Spread(name string, n uint32) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32() % n
}

// longest is how far back Last looks, which is as far as Next looks ahead.
const longest = 5 * 366 * 24 * time.Hour

// Last returns when the schedule ran last, at a moment or before it; the zero time for not in longest.
func (c Cron) Last(until time.Time) time.Time {
	// Whether it runs between a moment and until is true up to the last time that it runs.
	runs := func(from time.Time) bool {
		next := c.Next(from)
		return !next.IsZero() && !next.After(until)
	}
	back, late := time.Hour, until
	for !runs(until.Add(-back)) {
		if late, back = until.Add(-back), 2*back; back > longest {
			return time.Time{}
		}
	}
	// It runs at whole minutes.
	early := until.Add(-back)
	for late.Sub(early) > time.Minute {
		if middle := early.Add(late.Sub(early) / 2); runs(middle) {
			early = middle
		} else {
			late = middle
		}
	}
	return c.Next(early)
}
