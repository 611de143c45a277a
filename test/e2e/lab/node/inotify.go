package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A cluster takes about 20 inotify instances, a virtual cluster in it 14 more.
// Without one, programs fail with "too many open files".
const inotifyOfATenant = 14

// inotify counts the instances that processes of root have, and returns how many
// they may have. The limit is one of the machine and the user, namespaces or not:
// a cluster cannot raise it for itself alone.
func inotify() (used, limit int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		info, err := os.Stat(dir)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			continue
		}
		handles, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, h := range handles {
			if to, _ := os.Readlink(filepath.Join(dir, "fd", h.Name())); to == "anon_inode:inotify" {
				used++
			}
		}
	}
	b, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	limit, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	return used, limit
}

// warnInotify says when only a few tenants will find room.
func warnInotify(cfg Config) {
	used, limit := inotify()
	if room := max(0, limit-used) / inotifyOfATenant; room < 4 {
		cfg.say("root has %d of %d inotify instances: enough for %d virtual clusters; for more, `sysctl -w fs.inotify.max_user_instances=1024`", used, limit, room)
	}
}
