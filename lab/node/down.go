package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Down ends the cluster and removes everything that it wrote: processes, network,
// cgroups and state folder. It does nothing when there is none.
func Down(_ context.Context, cfg Config) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if err := Possible(); err != nil {
		return err
	}
	unlock, err := lock(cfg)
	if err != nil {
		return err
	}
	defer unlock()
	return clean(cfg)
}

// clean leaves nothing of a cluster, whether it runs or not.
func clean(cfg Config) error {
	if err := end(cfg); err != nil {
		return err
	}
	if err := os.RemoveAll(cfg.Dir()); err != nil {
		return fmt.Errorf("cannot remove the state of cluster %s: %w", cfg.Name, err)
	}
	return nil
}

// end ends a cluster, and leaves its files.
func end(cfg Config) error {
	r, err := readRecord(cfg.dir().record())
	if err != nil {
		return err
	}
	groups, err := findCgroups()
	if err != nil {
		return err
	}
	if r == nil {
		// At most a cgroup: a record is written before anything else is made.
		return groups.remove(cfg.id())
	}
	if err := kill(r); err != nil {
		return err
	}
	return errors.Join(
		disconnect(AddressesOf(r.Index)),
		closeUpstream(r),
		stopForwarding(r),
		lowerInotify(cfg, r),
		groups.remove(cfg.id()),
	)
}

// kill kills the first process of the cluster: the kernel kills all others in its
// process namespace, before that one counts as ended.
func kill(r *record) error {
	if !r.running() {
		return nil
	}
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot end process %d of cluster %s: %w", r.PID, r.Name, err)
	}
	for deadline := time.Now().Add(time.Minute); r.running(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d of cluster %s does not end", r.PID, r.Name)
		}
	}
	return nil
}
