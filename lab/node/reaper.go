package node

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A reaper collects the children of the first process: those it started itself,
// and orphans of any other process, which the kernel gives to it.
type reaper struct {
	// mu is held from before a process is started until it is known to be ours.
	mu   sync.Mutex
	ours map[int]bool
}

func newReaper() *reaper { return &reaper{ours: map[int]bool{}} }

func (r *reaper) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		r.ours[cmd.Process.Pid] = true
	}
	return err
}

func (r *reaper) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ours, cmd.Process.Pid)
	return err
}

// run reaps for ever.
func (r *reaper) run() {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	// Deaths at one time make one signal: the ticker finds what was missed.
	tick := time.NewTicker(time.Second)
	for {
		select {
		case <-deaths:
		case <-tick.C:
		}
		for r.reapOne() {
		}
	}
}

// reapOne collects one orphan, if any has ended. One of ours is left to wait; as
// it hides the orphans behind it, we come back for those.
func (r *reaper) reapOne() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	pid := siginfoPID(&info)
	if err != nil || pid == 0 || r.ours[pid] {
		return false
	}
	_, err = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return err == nil
}
