package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// A record is what is written down about a running cluster. The processes of the
// cluster read their configuration from it, and Down whom to end.
type record struct {
	Name        string      `json:"name"`
	Index       int         `json:"index"`
	Cache       string      `json:"cache"`
	ArgoCDChart string      `json:"argocdChart,omitempty"`
	Upstream    bool        `json:"upstream,omitempty"`
	Web         bool        `json:"web,omitempty"`
	Cgroups     cgroupMount `json:"cgroups"`
	// PID is the cluster's first process, as the machine numbers it.
	PID int `json:"pid"`
	// Began is when that process was started, in clock ticks since boot: with
	// it, a number that another process has got since is not taken for ours.
	Began uint64 `json:"began"`
	// Forwarding is what net.ipv4.ip_forward was on the machine, if we changed it.
	Forwarding string `json:"forwarding,omitempty"`
	// Inotify is what the limit of inotify instances was on the machine, if we changed it.
	Inotify string `json:"inotify,omitempty"`
	// Started is for people.
	Started time.Time `json:"started"`
}

func (r record) config() Config {
	return Config{
		Cache: toolchain.At(r.Cache), Name: r.Name, Index: r.Index,
		ArgoCDChart: r.ArgoCDChart, Upstream: r.Upstream, Web: r.Web,
	}
}

func (r record) write(file string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return fmt.Errorf("cannot write down that the cluster runs: %w", err)
	}
	return nil
}

// readRecord returns nil when there is none.
func readRecord(file string) (*record, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the record of the cluster: %w", err)
	}
	r := &record{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("cannot read the record of the cluster %s: %w", file, err)
	}
	return r, nil
}

// HasWeb reports whether the cluster runs, with an Argo CD that has a web interface.
func HasWeb(cfg Config) (bool, error) {
	r, err := readRecord(cfg.dir().record())
	return err == nil && r.running() && r.Web, err
}

// running reports whether the recorded process is alive, and is still that process.
func (r *record) running() bool {
	if r == nil || r.PID <= 1 {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID))
	if err != nil {
		return false
	}
	state, began, err := parseStat(stat)
	return err == nil && state != 'Z' && state != 'X' && began == r.Began
}

// parseStat reads a process's state and start time from /proc/<pid>/stat. The
// command's name in it may hold spaces and parentheses.
func parseStat(stat []byte) (state byte, began uint64, err error) {
	_, rest, ok := cutLast(stat, ") ")
	fields := bytes.Fields(rest)
	const starttime = 19 // counted from the field after the name
	if !ok || len(fields) <= starttime {
		return 0, 0, fmt.Errorf("cannot make sense of %q", stat)
	}
	began, err = strconv.ParseUint(string(fields[starttime]), 10, 64)
	return fields[0][0], began, err
}

func cutLast(b []byte, sep string) (before, after []byte, found bool) {
	i := bytes.LastIndex(b, []byte(sep))
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+len(sep):], true
}
