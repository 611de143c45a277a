package figures

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// A Table is printed as Markdown.
type Table struct {
	head string
	rows [][2]string
}

// NewTable returns a table with one column of values.
func NewTable(head string) *Table { return &Table{head: head} }

// Add adds a row.
func (t *Table) Add(what, format string, args ...any) {
	t.rows = append(t.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

// AddTimes adds a row with the distribution of times.
func (t *Table) AddTimes(what string, times []time.Duration) {
	t.Add(what, "%s / %s / %s", seconds(Percentile(times, 50)), seconds(Percentile(times, 95)), seconds(Percentile(times, 100)))
}

// Print writes the table.
func (t *Table) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "| | %s |\n| --- | --- |\n", t.head)
	for _, r := range t.rows {
		if err == nil {
			_, err = fmt.Fprintf(w, "| %s | %s |\n", r[0], r[1])
		}
	}
	return err
}

// Percentile returns the smallest of the times that at least a percentage of them don't exceed; 0 if there are none.
func Percentile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// MiB formats a number of bytes in MiB.
func MiB(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }
