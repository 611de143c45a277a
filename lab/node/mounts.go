package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Folders that daemons of Kubernetes write to by fixed names. In the cluster's
// mount namespace they are folders of the state folder; the machine's stay as
// they are. /tmp: the provisioner of hostPath volumes knows no other place.
var privateFolders = []string{"/tmp", "/var/lib", "/var/log"}

// Kernel settings of the machine as a whole, to which kubelet insists to give
// these values. It is shown that they have them, and leaves the machine's alone.
var pretended = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// privateProc makes this mount namespace's changes its own, and shows the
// processes of the process namespace that we are in.
func privateProc() error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// mountInside arranges the node's view of the file system.
func mountInside(r *record) error {
	cfg := r.config()
	if err := privateProc(); err != nil {
		return err
	}
	if err := mountSys(r.Cgroups); err != nil {
		return err
	}
	if err := pretend(cfg.dir().etc("sysctl")); err != nil {
		return err
	}
	// The cache may be in a folder that is about to be covered.
	cache, err := unix.Open(r.Cache, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open the cache %s: %w", r.Cache, err)
	}
	defer unix.Close(cache) //nolint:errcheck // Only a handle.
	for _, folder := range privateFolders {
		own := cfg.dir().in("files", folder)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return fmt.Errorf("cannot make folder %s: %w", own, err)
		}
		if err := mount(own, folder, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := os.Chmod("/tmp", 0o777|fs.ModeSticky); err != nil {
		return err
	}
	if err := mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	if !shows(r.Cache, cache) {
		if err := os.MkdirAll(r.Cache, 0o755); err != nil {
			return fmt.Errorf("cannot keep the cache %s in sight: %w", r.Cache, err)
		}
		if err := mount(fmt.Sprintf("/proc/self/fd/%d", cache), r.Cache, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	// Volumes that kubelet mounts must show up in containers that run already.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// shows reports whether a path leads to an open folder.
func shows(path string, folder int) bool {
	var is, wanted unix.Stat_t
	return unix.Fstat(folder, &wanted) == nil && unix.Stat(path, &is) == nil && is.Dev == wanted.Dev && is.Ino == wanted.Ino
}

// mountSys shows the network interfaces and the cgroups of our namespaces.
func mountSys(groups cgroupMount) error {
	if err := mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if groups.V2 {
		if err := mount("cgroup2", cgroupRoot, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return err
		}
		return delegate()
	}
	if err := mount("tmpfs", cgroupRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for name, options := range groups.Hierarchies {
		target := filepath.Join(cgroupRoot, name)
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		if err := mount("cgroup", target, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return err
		}
		// cpu and cpuacct are one hierarchy on some machines: each has its name.
		if parts := strings.Split(options, ","); len(parts) > 1 && !slices.Contains(parts, "none") {
			for _, part := range parts {
				if part != name {
					_ = os.Symlink(name, filepath.Join(cgroupRoot, part)) // A hierarchy of that name is there.
				}
			}
		}
	}
	return nil
}

// delegate lets groups below ours have controllers. Version 2 allows that only to
// a group without processes, so ours go into one below it.
func delegate() error {
	own := filepath.Join(cgroupRoot, "daemons")
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make a cgroup for the daemons: %w", err)
	}
	procs, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("cannot list the cluster's processes: %w", err)
	}
	for _, pid := range strings.Fields(string(procs)) {
		if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(pid), 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("cannot move process %s to its cgroup: %w", pid, err)
		}
	}
	available, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("cannot list the cgroup controllers: %w", err)
	}
	for _, c := range strings.Fields(string(available)) {
		if err := os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+"+c), 0); err != nil {
			return fmt.Errorf("cannot use cgroup controller %s: %w", c, err)
		}
	}
	return nil
}

// pretend puts files with the values that kubelet wants to see over settings.
func pretend(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for setting, value := range pretended {
		target := filepath.Join("/proc/sys", setting)
		if _, err := os.Stat(target); err != nil {
			continue // Not in this kernel; kubelet will say so.
		}
		file := filepath.Join(dir, strings.ReplaceAll(setting, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(file, target, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("cannot mount %s%s on %s: %w", kind, source, target, err)
	}
	return nil
}
