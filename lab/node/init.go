package node

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// runInit is the cluster's first process. It sets up the network, keeps the two
// others running, and reaps. It sees the machine's files: so does the artifacts
// server, which serves from them.
func runInit(r *record) error {
	cfg := r.config()
	if err := unix.Sethostname([]byte(cfg.id())); err != nil {
		return fmt.Errorf("cannot set the host name: %w", err)
	}
	if err := privateProc(); err != nil {
		return err
	}
	if err := networkInside(cfg.Addresses(), r.Upstream); err != nil {
		return err
	}
	reaper := newReaper()
	go reaper.run()

	s := newSupervisor(cfg.dir())
	s.start, s.wait = reaper.start, reaper.wait
	s.run(context.Background(),
		daemon{Name: "artifacts", Command: func() *exec.Cmd {
			return roleCommand("vargo-artifacts", cfg.dir().record())
		}},
		daemon{Name: "node", Command: func() *exec.Cmd {
			cmd := roleCommand("vargo-node", cfg.dir().record())
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
			return cmd
		}},
	)
	return nil
}

// runNode arranges the node's files, and keeps its daemons running.
func runNode(r *record) error {
	cfg := r.config()
	if err := mountInside(r); err != nil {
		return err
	}
	if err := raiseOpenFiles(); err != nil {
		return err
	}
	daemons, err := daemonsOf(cfg)
	if err != nil {
		return err
	}
	newSupervisor(cfg.dir()).run(context.Background(), daemons...)
	return nil
}

// raiseOpenFiles allows as many open files as the machine lets us. Setting it by
// hand keeps Go from giving daemons the lower limit that it found.
func raiseOpenFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("cannot raise the limit of open files: %w", err)
	}
	return nil
}
