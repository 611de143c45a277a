package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock keeps two processes from building the same module at once: the second
// waits for the first, and then finds the tools in the cache. The kernel drops the
// lock with the process, however that ends.
func (c Cache) lock(ctx context.Context, m module) (unlock func(), err error) {
	dir := filepath.Join(c.dir, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Programs that users other than root run in containers.
		return nil, fmt.Errorf("cannot make the cache folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock-"+m.id()), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of %s: %w", m.path, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("stopped waiting for another process that builds %s: %w", m.path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
