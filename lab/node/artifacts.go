package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
)

// chartPort is the port of the chart repository.
const chartPort = ":8879"

// runArtifacts serves images and charts on the node's address.
func runArtifacts(r *record) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := r.config()
	registry, err := net.Listen("tcp", cfg.Addresses().Registry)
	if err != nil {
		return fmt.Errorf("cannot serve images: %w", err)
	}
	charts, err := net.Listen("tcp", cfg.Addresses().Node+chartPort)
	if err != nil {
		return fmt.Errorf("cannot serve charts: %w", err)
	}
	ready := cfg.dir().in("artifacts-ready")
	_ = os.Remove(ready) // Of an earlier start.
	return artifacts.Serve(ctx, artifacts.Config{
		Cache: cfg.Cache, Dir: cfg.dir().in("artifacts"),
		Registry: registry, Charts: charts,
		ArgoCDChart: cfg.ArgoCDChart,
		Ready:       func() { _ = os.WriteFile(ready, nil, 0o644) }, // Up waits for it, and says when it waits in vain.
	})
}

// artifactsReady reports whether everything is served.
func artifactsReady(cfg Config) error {
	if _, err := os.Stat(cfg.dir().in("artifacts-ready")); err != nil {
		return errors.New("the registry does not serve every image yet")
	}
	return nil
}
