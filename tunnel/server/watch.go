package server

import (
	"bytes"
	"context"
	"os"
	"time"
)

// Watch configures the server from a file, now and whenever the file changes. A Secret that is mounted is replaced as a whole, which
// notifications of the file system don't tell of the file. One that can't be read is logged, and the one before stays.
func (s *Server) Watch(ctx context.Context, file string, every time.Duration) error {
	raw, err := os.ReadFile(file) //nolint:gosec // Whoever starts the server names its file.
	if err != nil {
		return err
	}
	if err := s.Configure(raw); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			now, err := os.ReadFile(file) //nolint:gosec // As above.
			if err != nil || bytes.Equal(now, raw) {
				continue
			}
			raw = now
			if err := s.Configure(now); err != nil {
				s.Log.Info("The configuration can't be read: the one before stays", "file", file, "error", err.Error())
				continue
			}
			s.Log.Info("The configuration has changed")
		}
	}()
	return nil
}
