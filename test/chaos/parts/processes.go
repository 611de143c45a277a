package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/types"
)

// A Machine is what an embedded cluster runs on: it sees all processes of the cluster.
type Machine struct {
	// cgroup of the cluster. Processes outside of it are never touched.
	cgroup string
}

// NewMachine returns the machine of the embedded cluster of that name.
func NewMachine(cluster string) Machine { return Machine{cgroup: "/vargo-" + cluster} }

// Daemon returns a program of the host's Kubernetes as a part. The lab restarts it when it ends. Programs of the same name in the pods of
// virtual clusters aren't included.
func (m Machine) Daemon(program string) Part {
	return processes{m, func(pod string, args []string) bool { return pod == "" && filepath.Base(args[0]) == program }}
}

// InPod returns the processes of a pod as a part: those of one program, all of them for "". Kubernetes restarts a container that ends.
func (m Machine) InPod(uid types.UID, program string) Part {
	return processes{m, func(pod string, args []string) bool {
		return pod == string(uid) && (program == "" || filepath.Base(args[0]) == program)
	}}
}

// processes are the processes of a machine that are selected by the UID of their pod, "" for those in no pod, and by their command line.
type processes struct {
	machine Machine
	are     func(pod string, args []string) bool
}

// find returns handles of the processes. A handle stays with its process, even if another process gets the same number later.
func (p processes) find() ([]*os.Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("cannot list the processes of the machine: %w", err)
	}
	var out []*os.Process
	for _, is := range all {
		handle, err := os.FindProcess(is.PID)
		if err != nil {
			continue // It has ended.
		}
		if is.PID != os.Getpid() && p.selects(is) {
			out = append(out, handle)
		} else {
			_ = handle.Release()
		}
	}
	if len(out) == 0 {
		return nil, ErrNotThere
	}
	return out, nil
}

func (p processes) selects(is procfs.Proc) bool {
	groups, err := is.Cgroups()
	if err != nil {
		return false
	}
	args, err := is.CmdLine()
	if err != nil || len(args) == 0 {
		return false
	}
	pod, ours := podOf(groups, p.machine.cgroup)
	return ours && p.are(pod, args)
}

// podOf returns the UID of the pod of a process with these cgroups; "" for none. It reports whether the process belongs to the cluster.
func podOf(groups []procfs.Cgroup, cluster string) (pod string, ours bool) {
	for _, g := range groups {
		rest, ok := strings.CutPrefix(g.Path+"/", cluster+"/")
		if !ok {
			continue
		}
		ours = true
		// In some hierarchies, processes of pods are in the node's cgroup.
		if rest, ok = strings.CutPrefix(rest, "kubepods/"); !ok {
			continue
		}
		for folder := range strings.SplitSeq(rest, "/") {
			if uid, ok := strings.CutPrefix(folder, "pod"); ok {
				pod = uid
			}
		}
	}
	return pod, ours
}

// signal sends a signal to processes, and ignores those that have ended.
func signal(to []*os.Process, s syscall.Signal) (err error) {
	for _, p := range to {
		if e := p.Signal(s); e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, fmt.Errorf("cannot send %s to process %d: %w", s, p.Pid, e))
		}
	}
	return err
}

func release(all []*os.Process) {
	for _, p := range all {
		_ = p.Release()
	}
}

// Kill implements Part.
func (p processes) Kill(context.Context) error {
	all, err := p.find()
	if err != nil {
		return err
	}
	defer release(all)
	return signal(all, syscall.SIGKILL)
}

// Stop implements Part.
func (p processes) Stop(context.Context) (func(), error) {
	all, err := p.find()
	if err != nil {
		return nil, err
	}
	goOn := func() {
		_ = signal(all, syscall.SIGCONT)
		release(all)
	}
	if err := signal(all, syscall.SIGSTOP); err != nil {
		goOn()
		return nil, err
	}
	return goOn, nil
}
