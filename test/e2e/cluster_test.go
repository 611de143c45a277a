//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

var (
	// keep leaves the claims of failed tests in place.
	keep = os.Getenv("E2E_KEEP") != ""

	// full runs what continuous integration has no time for, too.
	full = os.Getenv("E2E_FULL") != ""

	// ingress is the embedded cluster's ingress controller. It has no address where the tests run on another cluster.
	ingress platform.Ingress

	// machine sees the processes of the embedded cluster.
	machine parts.Machine

	// registry is the embedded cluster's registry. It has no address where the tests run on another cluster.
	registry string

	// packages is where the tests push packages that the cluster takes from there. It is empty on a cluster that takes published ones.
	packages string

	// chartsURL is the URL of the embedded cluster's Helm repository.
	chartsURL string

	// installFiles are what a cluster that has nothing of the project is to get from a Git repository: see platform.Cluster. nil on others.
	installFiles map[string]string

	// defaultKubernetes is the version of the embedded cluster's tenants, and otherKubernetes the minor version before it, which the
	// platform offers beside it in make e2e-full.
	defaultKubernetes = toolchain.Version("kube-apiserver")
	otherKubernetes   = toolchain.Version("kube-apiserver-1.35")
	// oldKubernetes is one that vcluster before 0.36.1 can't run on this host.
	oldKubernetes = toolchain.Version("kube-apiserver-1.33")
)

// connect finds the cluster that the tests run on: the one of KUBECONFIG, else the embedded one. Where something of the
// platform is missing, it is installed; the embedded cluster is started when it does not run yet.
func connect(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	options, err := platform.FromEnvironment()
	if err != nil {
		return ctx, err
	}
	options.Tests, options.Full = true, full
	options.Progress = platform.Lines(func(line string) { fmt.Println(line) })
	cluster, err := platform.Ensure(ctx, options)
	if err != nil {
		return ctx, err
	}
	fmt.Println("The tests run on the cluster of", cluster.Kubeconfig)
	if host, err = kube.New(cluster.Config); err != nil {
		return ctx, err
	}
	dialer = kube.NewDialer(host)
	registry, packages, chartsURL, installFiles = cluster.Registry, cluster.Packages, cluster.Charts, cluster.Files
	if ingress = cluster.Ingress; ingress.Domain != "" {
		dialer.Resolve(ingress.Domain, ingress.Address)
	}
	embedded, err := node.FromEnvironment(options.Cache)
	if err != nil {
		return ctx, err
	}
	machine = parts.NewMachine(embedded.Name)
	cfg.WithKubeconfigFile(cluster.Kubeconfig)
	return ctx, nil
}

// startAnother starts another embedded cluster beside the one that the tests run on, which it also returns. What is at config ends the other one, also
// where it doesn't come up. with changes what it is.
func startAnother(ctx context.Context, t *testing.T, name string, index int, config *node.Config, with func(*platform.Options)) (node.Config, *kube.Cluster) {
	t.Helper()
	options, err := platform.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	first, err := node.FromEnvironment(options.Cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARGO_CLUSTER", name)
	t.Setenv("VARGO_CLUSTER_INDEX", fmt.Sprint(index))
	if *config, err = node.FromEnvironment(options.Cache); err != nil {
		t.Fatal(err)
	}
	options.Tests, options.Full = true, full
	options.Progress = platform.Lines(func(line string) { fmt.Println(name+":", line) })
	with(&options)
	cluster, err := platform.Ensure(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kube.New(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	return first, started
}

// needsEmbedded skips a test of servers that stand for a customer's own: their image is in the embedded cluster alone.
func needsEmbedded(t *testing.T) {
	t.Helper()
	if registry == "" {
		t.Skip("the image of the servers that this test needs is in the embedded cluster alone: unset KUBECONFIG")
	}
}
