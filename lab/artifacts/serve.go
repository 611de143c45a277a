package artifacts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func imagesDir(c toolchain.Cache) string { return filepath.Join(c.Dir(), "images") }

func serve(ctx context.Context, cfg Config) error {
	defer cfg.Registry.Close() //nolint:errcheck // The server has closed it already, if it ran.
	defer cfg.Charts.Close()   //nolint:errcheck // The same.

	s, err := openStore(imagesDir(cfg.Cache))
	if err != nil {
		return err
	}
	charts, pushed := filepath.Join(cfg.Dir, "charts"), filepath.Join(cfg.Dir, "blobs")
	for _, dir := range []string{charts, pushed} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make a folder of the registry: %w", err)
		}
	}
	all, err := loadCharts(ctx, cfg.Cache, cfg.ArgoCDChart)
	if err != nil {
		return err
	}
	if err := packageCharts(all, charts); err != nil {
		return err
	}

	record := newRecord()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return listen(ctx, cfg.Registry, record.ofImages(newRegistry(s, pushed))) })
	g.Go(func() error { return listen(ctx, cfg.Charts, record.ofCharts(http.FileServer(http.Dir(charts)))) })
	g.Go(func() error {
		if err := publish(ctx, cfg.Registry.Addr().String(), s, furtherNames(all)); err != nil {
			return err
		}
		if cfg.Ready != nil {
			cfg.Ready()
		}
		return nil
	})
	return g.Wait()
}

// listen serves until ctx is done.
func listen(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve on %s: %w", l.Addr(), err)
	}
	return nil
}
