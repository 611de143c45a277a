package tenants

import (
	"fmt"
	"time"
)

// Month is from when until when a month is, in UTC: at most until the last full quarter of an hour. Empty is the current month.
func Month(month string, now time.Time) (from, to time.Time, err error) {
	now = now.UTC()
	if month == "" {
		month = now.Format("2006-01")
	}
	from, err = time.Parse("2006-01", month)
	if err != nil {
		return from, to, fmt.Errorf("--month is %s: write a year and a month, such as 2026-11", month)
	}
	to = from.AddDate(0, 1, 0)
	if last := now.Truncate(quarter); to.After(last) {
		to = last
	}
	if !to.After(from) {
		return from, to, fmt.Errorf("--month is %s, of which nothing is over yet: write %s or an earlier one", month, now.AddDate(0, 0, -now.Day()).Format("2006-01"))
	}
	return from, to, nil
}
