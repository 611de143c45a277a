package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A cluster takes about 20 inotify instances, a virtual cluster in it inotifyOfATenant
// more. Without one, programs fail with "too many open files".
const inotifyOfATenant = 14

// enoughInotify is a limit that leaves memory, not inotify, to bound the number of tenants.
const enoughInotify = 1024

// inotifyLimit is how many instances root may have: one limit of the machine and the user, namespaces or not.
const inotifyLimit = "/proc/sys/fs/inotify/max_user_instances"

// raiseInotify raises the machine's limit for as long as a cluster runs, since no
// namespace has one of its own. The record keeps what it was, in every cluster that
// relies on it.
func raiseInotify(cfg Config, r *record) error {
	for _, other := range others(cfg) {
		if other.Inotify != "" {
			r.Inotify = other.Inotify
			return r.write(cfg.dir().record())
		}
	}
	b, _ := os.ReadFile(inotifyLimit)
	limit, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	if limit >= enoughInotify {
		return nil
	}
	r.Inotify = strconv.Itoa(limit)
	if err := r.write(cfg.dir().record()); err != nil {
		return err
	}
	if err := os.WriteFile(inotifyLimit, []byte(strconv.Itoa(enoughInotify)), 0o600); err != nil {
		// A sandbox may forbid it. The cluster works, for fewer tenants.
		cfg.say("root may have %d inotify instances, enough for about %d virtual clusters, and it can't be changed here: %v", limit, limit/inotifyOfATenant, err)
		return nil
	}
	cfg.say("raised fs.inotify.max_user_instances from %d to %d, until `lab down`", limit, enoughInotify)
	return nil
}

// lowerInotify sets the limit back when the last cluster that relies on it ends.
func lowerInotify(cfg Config, r *record) error {
	if r.Inotify == "" {
		return nil
	}
	for _, other := range others(cfg) {
		if other.Inotify != "" {
			return nil
		}
	}
	if err := os.WriteFile(inotifyLimit, []byte(r.Inotify), 0o600); err != nil && !os.IsPermission(err) {
		return fmt.Errorf("cannot set the machine's limit of inotify instances back to %s: %w", r.Inotify, err)
	}
	return nil
}

// others are the records of the other clusters of the same cache that run.
func others(cfg Config) []*record {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(cfg.Dir()), "*", filepath.Base(cfg.dir().record())))
	var out []*record
	for _, f := range files {
		if f == cfg.dir().record() {
			continue
		}
		if r, err := readRecord(f); err == nil && r.running() {
			out = append(out, r)
		}
	}
	return out
}
