package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupRoot = "/sys/fs/cgroup"

// A cgroupMount says how the machine's cgroups are mounted.
type cgroupMount struct {
	// V2 is true where there is one unified hierarchy with all controllers.
	V2 bool `json:"v2"`
	// Hierarchies are those of version 1: folder below /sys/fs/cgroup to mount
	// options, such as "cpu": "cpu".
	Hierarchies map[string]string `json:"hierarchies,omitempty"`
}

// The controllers without which kubelet does not start, under version 1.
var needControllers = []string{"cpu", "cpuacct", "cpuset", "memory"}

func findCgroups() (cgroupMount, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &st); err != nil {
		return cgroupMount{}, fmt.Errorf("cannot find the machine's cgroups: %w", err)
	}
	if st.Type == unix.CGROUP2_SUPER_MAGIC {
		return cgroupMount{V2: true}, checkControllers(filepath.Join(cgroupRoot, "cgroup.controllers"))
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return cgroupMount{}, fmt.Errorf("cannot find the machine's cgroups: %w", err)
	}
	return parseCgroups(string(b))
}

func checkControllers(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the machine's cgroup controllers: %w", err)
	}
	for _, c := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !strings.Contains(" "+strings.TrimSpace(string(b))+" ", " "+c+" ") {
			return fmt.Errorf("cgroup controller %s is not available (%s has only %q): run on the machine itself or in a container with all controllers delegated", c, file, strings.TrimSpace(string(b)))
		}
	}
	return nil
}

// parseCgroups finds the version 1 hierarchies in a mountinfo.
func parseCgroups(mountinfo string) (cgroupMount, error) {
	m := cgroupMount{Hierarchies: map[string]string{}}
	have := map[string]bool{}
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		mount, fsys := strings.Fields(left), strings.Fields(right)
		if !ok || len(mount) < 5 || len(fsys) < 3 || fsys[0] != "cgroup" || filepath.Dir(mount[4]) != cgroupRoot {
			continue
		}
		var options []string
		for o := range strings.SplitSeq(fsys[2], ",") {
			if name, named := strings.CutPrefix(o, "name="); named {
				options = append(options, "none", "name="+name)
			} else if o != "rw" && o != "ro" && !strings.Contains(o, "=") && o != "xattr" && o != "clone_children" {
				options = append(options, o)
				have[o] = true
			}
		}
		m.Hierarchies[filepath.Base(mount[4])] = strings.Join(options, ",")
	}
	for _, c := range needControllers {
		if !have[c] {
			return m, fmt.Errorf("cgroup controller %s is not mounted below %s: neither cgroup version 2 nor all of version 1 is here", c, cgroupRoot)
		}
	}
	return m, nil
}

// groups are the cluster's own top-level groups, one in each hierarchy.
func (m cgroupMount) groups(name string) []string {
	if m.V2 {
		return []string{filepath.Join(cgroupRoot, name)}
	}
	var out []string
	for h := range m.Hierarchies {
		out = append(out, filepath.Join(cgroupRoot, h, name))
	}
	return out
}

// create makes the groups.
func (m cgroupMount) create(name string) error {
	for _, group := range m.groups(name) {
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot make cgroup %s: %w", group, err)
		}
		if !m.V2 {
			// A group of cpuset takes no process before these two are set.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				b, err := os.ReadFile(filepath.Join(filepath.Dir(group), file))
				if errors.Is(err, fs.ErrNotExist) {
					continue // Not cpuset.
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(group, file), b, 0)
				}
				if err != nil {
					return fmt.Errorf("cannot set up cgroup %s: %w", group, err)
				}
			}
		}
	}
	return nil
}

// enter moves the calling thread into the groups of version 1: what it starts is
// born there. The thread must be locked to its goroutine, and end with it.
func (m cgroupMount) enter(name string) error {
	for _, group := range m.groups(name) {
		if err := os.WriteFile(filepath.Join(group, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return fmt.Errorf("cannot enter cgroup %s: %w", group, err)
		}
	}
	return nil
}

// remove removes the groups, and those that kubelet and runc left below them.
// A process that was just killed holds its group for a moment.
func (m cgroupMount) remove(name string) error {
	deadline := time.Now().Add(10 * time.Second)
	for _, group := range m.groups(name) {
		for {
			err := removeGroup(group)
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("cannot remove cgroup %s: %w", group, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// removeGroup removes a group, those below it first. The files in it go with it.
func removeGroup(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroup(filepath.Join(group, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(group); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
