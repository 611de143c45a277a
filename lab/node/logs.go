package node

import (
	"io"
	"os"
	"strings"
)

// tail is the end of a log. Logs can be long: only their last part is read.
func tail(file string, lines int) string {
	f, err := os.Open(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer f.Close() //nolint:errcheck // Only read.
	if info, err := f.Stat(); err == nil && info.Size() > 64*1024 {
		_, _ = f.Seek(-64*1024, io.SeekEnd)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return lastLines(string(b), lines)
}

func lastLines(s string, n int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
