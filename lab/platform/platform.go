package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// Options say which cluster to install into, and from where.
type Options struct {
	// Cache has the programs, or gets them.
	Cache toolchain.Cache
	// Root is the project's folder.
	Root string
	// Kubeconfig is a reachable cluster to install into. Empty starts the
	// embedded cluster, if it doesn't run yet.
	Kubeconfig string
	// Registry is the host and organisation from which a cluster of your own
	// takes the project's packages. Empty means where they are published.
	Registry string
	// Push builds the project's packages and pushes them to Registry first.
	Push bool
	// Upstream makes the embedded cluster take charts and images from the
	// public registries.
	Upstream bool
	// Crossplane is the tool to install as Crossplane: toolchain.Crossplane or an older one.
	Crossplane string
	// ArgoCDChart is a folder or archive of a real argo-cd chart for the
	// embedded cluster to serve in place of the test chart.
	ArgoCDChart string
	// Tests makes the embedded cluster one that the end-to-end tests can run on,
	// with images that only they need, and without Argo CD's web interface.
	Tests bool
	// SimulatedProviders installs the packages of both providers without pods and conversion
	// webhooks: something else plays their part.
	SimulatedProviders bool
	// ExistingProviders has the embedded cluster run both providers before this project comes, as somebody has them who uses them for other
	// things, with examples/install used as its README tells such people.
	ExistingProviders bool
	// FromGit leaves the embedded cluster without Crossplane and this project, for a test that installs both from a Git repository. The
	// packages are pushed, and Cluster.Files is what that repository has.
	FromGit bool
	// Full adds what the tests need that take long, and the web interface.
	Full bool
	// Monitoring installs what shows a platform its tenants: see InstallMonitoring.
	Monitoring bool
	// Progress is told what happens.
	Progress Progress
}

// Cluster is a cluster with everything installed.
type Cluster struct {
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
	// Config is what that file says.
	Config *rest.Config
	// Client reads and writes any kind.
	Client client.Client
	// Embedded is whether it is the cluster that the lab itself runs.
	Embedded bool
	// Registry is host and port of the embedded cluster's OCI registry, which
	// speaks plain http.
	Registry string
	// Packages is the host and organisation to which the project's packages were pushed, and from
	// which the cluster takes them; empty where it takes published ones.
	Packages string
	// Charts is the URL of the embedded cluster's Helm repository.
	Charts string
	// Files are those of examples/install by their names, as this cluster needs them, and "cluster.yaml" with what it needs beside them.
	// Only with Options.FromGit.
	Files map[string]string
	// Ingress is where the embedded cluster's ingress controller is.
	Ingress Ingress
	// Monitoring is the address of the metrics' API and web interface; empty where they aren't installed.
	Monitoring string
}

// Ingress is an ingress controller as clients see it.
type Ingress struct {
	// Address is its IP address, for ports 80 and 443.
	Address string
	// Domain is one of which every name means that address, where DNS can be asked.
	Domain string
	// CA is a file with the authority that its certificate for the domain is signed by.
	CA string
}

// installer is one run of Ensure.
type installer struct {
	Options
	embedded   *embedded
	kubeconfig string
	client     client.Client
	config     *rest.Config
	// out is a folder for package files.
	out string
	// files are Cluster.Files.
	files map[string]string
}

// Ensure returns a cluster that is ready for claims.
func Ensure(ctx context.Context, o Options) (Cluster, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return Cluster{}, err
	}
	o.Root = root
	i := &installer{Options: o, kubeconfig: o.Kubeconfig, out: filepath.Join(root, "_output")}
	if o.Kubeconfig == "" {
		e, err := i.startEmbedded(ctx)
		if err != nil {
			return Cluster{}, err
		}
		i.embedded, i.kubeconfig, i.out = e, e.Kubeconfig(), e.packages()
	} else if err := i.buildTools(ctx, "helm"); err != nil {
		return Cluster{}, err
	}
	if err := os.MkdirAll(i.out, 0o755); err != nil {
		return Cluster{}, fmt.Errorf("cannot make folder %s: %w", i.out, err)
	}
	if i.client, i.config, err = newClient(i.kubeconfig); err != nil {
		return Cluster{}, err
	}
	if err := i.install(ctx); err != nil {
		return Cluster{}, err
	}
	out := Cluster{Kubeconfig: i.kubeconfig, Config: i.config, Client: i.client}
	if i.embedded != nil {
		a := i.embedded.Addresses()
		out.Embedded, out.Registry, out.Packages, out.Charts, out.Files = true, a.Registry, i.embedded.project(), a.Charts, i.files
		out.Ingress = Ingress{Address: a.Ingress, Domain: a.Domain, CA: i.embedded.ingressCA()}
	} else if i.Push {
		out.Packages = i.Registry
	}
	if i.Monitoring {
		err = i.Progress.Step("Install what monitors tenants, from examples/monitoring", func(note func(string)) error {
			out.Monitoring, err = InstallMonitoring(ctx, i.client, i.Root, nil, note)
			return err
		})
	}
	return out, err
}

func (i *installer) buildTools(ctx context.Context, names ...string) error {
	return i.Progress.Step("Build the programs", func(note func(string)) error {
		return i.Cache.Build(ctx, note, names...)
	})
}

func (i *installer) install(ctx context.Context) error {
	if !i.FromGit {
		if err := i.ensureNamespace(ctx); err != nil {
			return err
		}
	}
	var pushed []xpkg.Pushed
	crossplane := func(ctx context.Context) error {
		if i.FromGit {
			return nil
		}
		return i.Progress.Step("Install Crossplane "+toolchain.Version(i.Crossplane), func(note func(string)) error {
			return i.installCrossplane(ctx, note)
		})
	}
	g, gctx := errgroup.WithContext(ctx)
	if upgrades, err := i.hasCrossplane(ctx); err != nil {
		return err
	} else if upgrades {
		// Its packages' tags may be those that are pushed: one that starts meanwhile would find other content for its revisions.
		if err := crossplane(ctx); err != nil {
			return err
		}
	} else {
		// Packages are built and pushed while Crossplane starts.
		g.Go(func() error { return crossplane(gctx) })
	}
	g.Go(func() (err error) {
		pushed, err = i.push(gctx)
		return err
	})
	if i.embedded != nil {
		g.Go(func() error {
			return i.Progress.Step("Install the ingress controller Traefik "+toolchain.Version("traefik"), func(note func(string)) error {
				return i.installIngress(gctx, note)
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if i.FromGit {
		return i.writeFiles(pushed)
	}
	return i.Progress.Step("Install the Configuration and what it depends on", func(note func(string)) error {
		return i.installConfiguration(ctx, pushed, note)
	})
}
