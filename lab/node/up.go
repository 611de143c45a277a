package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/virtual-argocd/virtual-argocd/lab/debian"
)

// Up starts the cluster and returns when it is ready: its node and DNS are Ready,
// images and charts are served. It stays when this process ends. Up does nothing
// when the cluster runs already; one that lacks the web interface that is asked for
// is ended first, since its node keeps the image without.
func Up(ctx context.Context, cfg Config) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if err := Possible(); err != nil {
		return err
	}
	if err := absolute(&cfg.ArgoCDChart); err != nil {
		return err
	}
	unlock, err := lock(cfg)
	if err != nil {
		return err
	}
	defer unlock()

	old, err := readRecord(cfg.dir().record())
	if err != nil {
		return err
	}
	if old.running() {
		if err := sameAs(old, cfg); err != nil {
			return err
		}
		if old.Web || !cfg.Web {
			return waitReady(ctx, cfg, nil)
		}
		cfg.say("cluster %s runs an Argo CD without its web interface: ending it, to start it with", cfg.Name)
	}
	if err := clean(cfg); err != nil { // Also what a crash has left.
		return err
	}
	if err := debian.Install(ctx, func(line string) { cfg.say("%s", line) }, debian.Missing(needed)...); err != nil {
		return err
	}
	if err := enoughDisk(cfg.Cache.Dir()); err != nil {
		return err
	}
	for _, name := range binaries {
		if _, err := cfg.Cache.Binary(name); err != nil {
			return err
		}
	}
	b, err := start(cfg)
	if err != nil {
		return errors.Join(err, end(cfg))
	}
	if err := waitReady(ctx, cfg, b.ended); err != nil {
		return fmt.Errorf("%w\nall logs are in %s; `lab down` removes what was started", err, cfg.Logs())
	}
	return nil
}

// start brings the processes of the cluster up.
func start(cfg Config) (*born, error) {
	if hasInterface(cfg.Addresses().Interface) {
		return nil, fmt.Errorf("interface %s is there already: another cluster runs with index %d, choose another --index (VARGO_CLUSTER_INDEX)",
			cfg.Addresses().Interface, cfg.Index)
	}
	groups, err := findCgroups()
	if err != nil {
		return nil, err
	}
	if err := writeFiles(cfg); err != nil {
		return nil, err
	}
	if err := groups.create(cfg.id()); err != nil {
		return nil, err
	}
	b, err := spawn(cfg, groups)
	if err != nil {
		return nil, err
	}
	r := record{
		Name: cfg.Name, Index: cfg.Index, Cache: cfg.Cache.Dir(), ArgoCDChart: cfg.ArgoCDChart, Upstream: cfg.Upstream, Web: cfg.Web,
		Cgroups: groups, PID: b.cmd.Process.Pid, Started: time.Now(),
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID))
	if err != nil {
		return nil, fmt.Errorf("cannot find the cluster's first process: %w", err)
	}
	if _, r.Began, err = parseStat(stat); err != nil {
		return nil, err
	}
	// Before anything else: it is by the record that Down finds the rest.
	if err := r.write(cfg.dir().record()); err != nil {
		return nil, errors.Join(err, b.cmd.Process.Kill())
	}
	if err := connect(cfg.Addresses(), r.PID); err != nil {
		return nil, err
	}
	if err := raiseInotify(cfg, &r); err != nil {
		return nil, err
	}
	if cfg.Upstream {
		if err := openUpstream(&r); err != nil {
			return nil, err
		}
	}
	return b, b.goOn.Close()
}

// Possible says why a cluster can't run here.
func Possible() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the embedded cluster needs Linux, this is %s: set KUBECONFIG to a cluster to use instead", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("the embedded cluster needs root: run this as root, or set KUBECONFIG to a cluster to use instead")
	}
	return nil
}

// sameAs says when a cluster runs, but not as it is asked to.
func sameAs(r *record, cfg Config) error {
	for _, d := range []struct {
		what      string
		has, want any
	}{
		{"index", r.Index, cfg.Index},
		{"argo-cd chart (ARGOCD_CHART)", r.ArgoCDChart, cfg.ArgoCDChart},
		{"access to the machine's network (UPSTREAM)", r.Upstream, cfg.Upstream},
	} {
		if d.has != d.want {
			return fmt.Errorf("cluster %s runs with another %s, %q and not %q: end it with `lab down` first", cfg.Name, d.what, fmt.Sprint(d.has), fmt.Sprint(d.want))
		}
	}
	return nil
}

func absolute(path *string) error {
	if *path == "" {
		return nil
	}
	var err error
	*path, err = filepath.Abs(*path)
	return err
}

// lock lets one process at a time start or end clusters.
func lock(cfg Config) (unlock func(), err error) {
	dir := filepath.Dir(cfg.Dir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder of clusters: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the folder of clusters: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("cannot lock the folder of clusters: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
