package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/debian"
	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// embedded is the cluster that the lab runs itself.
type embedded struct {
	node.Config
}

// mirror is where the public registry's packages are found.
func (e *embedded) mirror() string { return e.Addresses().Registry + "/" + publicRegistry }

// project is where those of the project itself are.
func (e *embedded) project() string { return e.mirror() + "/virtual-argocd" }

// ingressCA is the certificate of the authority that signs for the domain of the
// ingress controller.
func (e *embedded) ingressCA() string { return filepath.Join(e.Dir(), "ingress-ca.crt") }

// packages is a folder for package files.
func (e *embedded) packages() string { return filepath.Join(e.Dir(), "packages") }

// startEmbedded builds whatever the embedded cluster runs and starts it, unless
// it runs already.
func (i *installer) startEmbedded(ctx context.Context) (*embedded, error) {
	if goruntime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil, errors.New("THE EMBEDDED CLUSTER NEEDS ROOT ON LINUX. Run this as root, or set KUBECONFIG to a cluster to use in its place")
	}
	cfg, err := node.FromEnvironment(i.Cache)
	if err != nil {
		return nil, err
	}
	// A cluster that has the web interface keeps it: the images of both have one name.
	if cfg.Web, err = node.HasWeb(cfg); err != nil {
		return nil, err
	}
	cfg.Web = cfg.Web || !i.Tests || i.Full
	purposes := i.purposes(cfg.Web)
	if err := i.Progress.Step("Install Debian packages", func(note func(string)) error {
		return debian.Install(ctx, note, missingPackages(i.Cache, purposes, exec.LookPath)...)
	}); err != nil {
		return nil, err
	}
	if err := i.buildTools(ctx, toolchain.For(purposes...)...); err != nil {
		return nil, err
	}
	if err := i.Progress.Step("Build the images", func(note func(string)) error {
		return artifacts.Build(ctx, i.Cache, purposes, note)
	}); err != nil {
		return nil, err
	}
	cfg.ArgoCDChart, cfg.Upstream = i.ArgoCDChart, i.Upstream
	return &embedded{cfg}, i.Progress.Step("Start Kubernetes "+toolchain.Version("kube-apiserver"), func(note func(string)) error {
		cfg.Progress = note
		if err := node.Up(ctx, cfg); err != nil {
			return fmt.Errorf("cannot start the embedded cluster: %w", err)
		}
		// It may have run before the images were built.
		return artifacts.Publish(ctx, i.Cache, cfg.Addresses().Registry)
	})
}

// purposes are what the cluster's programs and images are for.
func (o Options) purposes(web bool) []toolchain.Purpose {
	out := []toolchain.Purpose{toolchain.Cluster}
	if o.SimulatedProviders {
		// They install nothing, and no test runs pods of its own.
		return out
	}
	out = append(out, toolchain.Tenants)
	if web {
		out = append(out, toolchain.Web)
	}
	if o.Tests {
		out = append(out, toolchain.Tests)
	}
	if o.Full {
		out = append(out, toolchain.Full)
	}
	if o.Full || o.Monitoring {
		out = append(out, toolchain.Monitoring)
	}
	return out
}
