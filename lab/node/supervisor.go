package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// A daemon is a process that is started again whenever it ends.
type daemon struct {
	Name string
	// Command makes the command; called anew for each start.
	Command func() *exec.Cmd
	// After must all succeed first: it saves failed starts, and so time.
	After []probe
}

// A supervisor keeps daemons running until the cluster is ended.
type supervisor struct {
	layout layout
	// start starts and wait waits for a command; Wait of os/exec is not for a
	// process that also reaps orphans.
	start func(*exec.Cmd) error
	wait  func(*exec.Cmd) error
}

// A daemon that ran this long was fine: its next start is without delay again.
const healthyAfter = 30 * time.Second

// pauses between a daemon's end and its next start.
var pauses = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

func newSupervisor(l layout) *supervisor {
	return &supervisor{layout: l, start: (*exec.Cmd).Start, wait: (*exec.Cmd).Wait}
}

// run runs the daemons; it returns when ctx is done and all have ended.
func (s *supervisor) run(ctx context.Context, daemons ...daemon) {
	var all sync.WaitGroup
	for _, d := range daemons {
		all.Go(func() { s.keep(ctx, d) })
	}
	all.Wait()
}

func (s *supervisor) keep(ctx context.Context, d daemon) {
	// A daemon that is to die with its parent dies with the parent's thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for failures := 0; ctx.Err() == nil; {
		waitFor(ctx, d.After)
		began := time.Now()
		err := s.once(d)
		if time.Since(began) > healthyAfter {
			failures = 0
		}
		pause := pauses[min(failures, len(pauses)-1)]
		failures++
		fmt.Fprintf(os.Stderr, "%s %s ended after %s (%v), next start in %s\n",
			time.Now().Format(time.TimeOnly), d.Name, time.Since(began).Round(time.Millisecond), err, pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// once runs a daemon until it ends.
func (s *supervisor) once(d daemon) error {
	log, err := os.OpenFile(s.layout.log(d.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // The daemon has its own.
	cmd := d.Command()
	cmd.Stdout, cmd.Stderr = log, log
	if err := s.start(cmd); err != nil {
		return err
	}
	return s.wait(cmd)
}

// environment of a daemon of Kubernetes: none of the user's, such as proxies.
func environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		// The API server spends more than a third of its time on collecting garbage else.
		"GOGC=300",
	}
}
