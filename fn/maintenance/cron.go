package maintenance

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Cron is a schedule as a CronJob has it.
type Cron struct {
	cron.Schedule
	zone *time.Location
}

// leastInterval is the shortest time between two runs of a schedule, with room for changes of clocks.
const leastInterval = time.Hour

// ParseCron reads a schedule and its time zone, "" for UTC, with the parser of Kubernetes' CronJob controller. Schedules that run more
// often than once an hour are errors, which begin with the field.
func ParseCron(field, schedule, timeZone string) (Cron, error) {
	example := "write minute, hour, day of the month, month and day of the week, such as 30 2 * * *"
	if strings.HasPrefix(schedule, "@every") || strings.Contains(schedule, "TZ=") {
		return Cron{}, fmt.Errorf("%s.schedule: %.100q isn't the schedule of a CronJob: %s", field, schedule, example)
	}
	s, err := cron.ParseStandard(schedule)
	if err != nil {
		return Cron{}, fmt.Errorf("%s.schedule: %.100q isn't the schedule of a CronJob (%w): %s", field, schedule, err, example)
	}
	zone, err := zoneNamed(cmp.Or(timeZone, "Etc/UTC"))
	if err != nil {
		return Cron{}, fmt.Errorf("%s.timeZone: %.64q is not in the IANA time zone database: write a name such as Europe/Berlin", field, timeZone)
	}
	c := Cron{s, zone}
	// The minutes and hours of a day are what a schedule can repeat within an hour; the next day with a run may be years away.
	at := c.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	if at.IsZero() {
		return Cron{}, fmt.Errorf("%s.schedule: %.100q never comes: %s", field, schedule, example)
	}
	for range 48 {
		next := c.Next(at)
		if !next.IsZero() && next.Sub(at) < leastInterval {
			return Cron{}, fmt.Errorf("%s.schedule: %.100q runs more often than once an hour: %s", field, schedule, example)
		}
		at = next
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
