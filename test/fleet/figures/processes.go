package figures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// A Process is what a program uses.
type Process struct {
	// CPU time in seconds since its start, and resident memory in bytes: now, and at most since its start.
	CPU, Memory, Peak float64
}

// ReadProcesses reads what the programs of an embedded cluster use, and this process, which counts as the simulated providers. cgroup is
// the name of the cluster's cgroup on this machine.
func ReadProcesses(cgroup string) (map[string]Process, error) {
	return read(func(p procfs.Proc) string {
		if p.PID == os.Getpid() {
			return "providers (simulated, with the test)"
		}
		return programOf(commandOf(p, "/"+cgroup+"/"))
	})
}

// ReadPod reads what the programs of a pod of this machine use, by the container's first argument if it has one, such as proxy, and
// otherwise by the name of its program.
func ReadPod(uid string) (map[string]Process, error) {
	return read(func(p procfs.Proc) string { return programInPod(p, uid) })
}

// programInPod returns the name that ReadPod gives to a process of a pod; "" for others.
func programInPod(p procfs.Proc, uid string) string {
	switch args := commandOf(p, "pod"+uid+"/"); {
	case len(args) == 0 || filepath.Base(args[0]) == "pause":
		return ""
	case len(args) > 1 && !strings.HasPrefix(args[1], "-"):
		return args[1]
	default:
		return filepath.Base(args[0])
	}
}

// ForgetPeaks has Peak of the programs of a pod of this machine count from now. It needs root.
func ForgetPeaks(uid string) error {
	all, err := procfs.AllProcs()
	if err != nil {
		return fmt.Errorf("cannot list the processes of the machine: %w", err)
	}
	for _, p := range all {
		if programInPod(p, uid) == "" {
			continue
		}
		// proc_pid_clear_refs(5): 5 resets the peak to what is resident.
		err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot reset the most memory of process %d: %w", p.PID, err)
		}
	}
	return nil
}

// read reads what the processes of the machine use, by the names that nameOf gives them; "" for those that aren't measured.
func read(nameOf func(procfs.Proc) string) (map[string]Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("cannot list the processes of the machine: %w", err)
	}
	out := map[string]Process{}
	for _, p := range all {
		name := nameOf(p)
		if name == "" {
			continue
		}
		stat, err := p.Stat()
		if err != nil {
			continue // It is gone.
		}
		status, err := p.NewStatus()
		if err != nil {
			continue
		}
		was := out[name]
		out[name] = Process{
			CPU: was.CPU + stat.CPUTime(), Memory: was.Memory + float64(stat.ResidentMemory()), Peak: was.Peak + float64(status.VmHWM),
		}
	}
	return out, nil
}

// commandOf returns the command line of a process in a cgroup whose path contains a string; nothing for other processes.
func commandOf(p procfs.Proc, path string) []string {
	groups, err := p.Cgroups()
	if err != nil {
		return nil
	}
	inside := slices.ContainsFunc(groups, func(g procfs.Cgroup) bool { return strings.Contains(g.Path+"/", path) })
	args, err := p.CmdLine()
	if err != nil || !inside {
		return nil
	}
	return args
}

// programOf returns the name of a program in the table, by its command line; "" for others.
func programOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	switch program := filepath.Base(args[0]); {
	case program == "crossplane" && slices.Contains(args, "core"):
		return "Crossplane"
	case program == "function" && !slices.Contains(args, "proxy"):
		return "function"
	case program == "kube-apiserver":
		return "API server"
	case program == "kube-controller-manager":
		return "controller manager"
	case program == "etcd":
		return "etcd"
	}
	return ""
}
