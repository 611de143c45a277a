package figures

import (
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
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("cannot list the processes of the machine: %w", err)
	}
	out := map[string]Process{}
	for _, p := range all {
		name := nameOf(p, cgroup)
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

// nameOf returns the name of a process that is measured; "" for others.
func nameOf(p procfs.Proc, cgroup string) string {
	if p.PID == os.Getpid() {
		return "providers (simulated, with the test)"
	}
	groups, err := p.Cgroups()
	if err != nil {
		return ""
	}
	inside := false
	for _, g := range groups {
		inside = inside || g.Path == "/"+cgroup || strings.HasPrefix(g.Path, "/"+cgroup+"/")
	}
	args, err := p.CmdLine()
	if err != nil || !inside || len(args) == 0 {
		return ""
	}
	return programOf(args)
}

// programOf returns the name of a program in the table, by its command line; "" for others.
func programOf(args []string) string {
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
