package crossplanetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// A log keeps its lines.
type log struct {
	values []any
	lines  *[]string
}

func newLog() log { return log{lines: &[]string{}} }

// Debug keeps a line.
func (l log) Debug(msg string, values ...any) { l.Info(msg, values...) }

// Info keeps a line. Bytes are kept as text.
func (l log) Info(msg string, values ...any) {
	*l.lines = append(*l.lines, fmt.Sprintf("%s %s", msg, slices.Concat(l.values, values)))
}

// WithValues returns the log with values that go with each line.
func (l log) WithValues(values ...any) logging.Logger {
	return log{slices.Concat(l.values, values), l.lines}
}

// Logged returns what the function has logged so far, once.
func (e *Engine) Logged() string {
	lines := e.log.lines
	all := strings.Join(*lines, "\n")
	*lines = nil
	return all
}
