package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// A born is the cluster's first process, which waits to be told to go on.
type born struct {
	cmd *exec.Cmd
	// goOn is closed when everything init needs is there.
	goOn io.Closer
	// ended is closed when the process has ended.
	ended chan struct{}
}

// spawn starts init in namespaces and cgroups of its own. It is the leader of a
// session of its own: it outlives the terminal.
func spawn(cfg Config, groups cgroupMount) (*born, error) {
	log, err := os.OpenFile(cfg.dir().log("init"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot write logs: %w", err)
	}
	defer log.Close() //nolint:errcheck // The process has its own.

	cmd := roleCommand("vargo-init", cfg.dir().record())
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	goOn, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID,
		// Only when it is in its group: that is the root of what it sees.
		Unshareflags: syscall.CLONE_NEWCGROUP,
	}
	if groups.V2 {
		dir, err := os.Open(filepath.Join(cgroupRoot, cfg.id()))
		if err != nil {
			return nil, fmt.Errorf("cannot enter cgroup: %w", err)
		}
		defer dir.Close() //nolint:errcheck // Only a handle.
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	if err := startFromOwnThread(cmd, func() error {
		if groups.V2 {
			return nil
		}
		return groups.enter(cfg.id())
	}); err != nil {
		return nil, err
	}
	b := &born{cmd: cmd, goOn: goOn, ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		_ = cmd.Wait() // Its log says why it ended.
	}()
	return b, nil
}

// startFromOwnThread starts a command from a thread that is prepared for it and
// thrown away: version 1 cgroups are a property of threads, inherited at birth.
func startFromOwnThread(cmd *exec.Cmd, prepare func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with the goroutine.
		if err := prepare(); err != nil {
			failed <- err
			return
		}
		err := cmd.Start()
		if errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("cannot make namespaces (in a container, it must be privileged): %w", err)
		} else if err != nil {
			err = fmt.Errorf("cannot start the cluster's first process: %w", err)
		}
		failed <- err
	}()
	return <-failed
}

// waitForEnd reads a stream to its end.
func waitForEnd(r io.Reader) error {
	var rest bytes.Buffer
	if _, err := io.Copy(&rest, r); err != nil {
		return fmt.Errorf("cannot wait for the start: %w", err)
	}
	return nil
}
