//go:build e2e

// Package fleet tests the product with many tenants whose virtual clusters are simulated. The API server, Crossplane and
// the product's packages are real; package provider simulates both providers.
//
//	make fleet               30 tenants, which are left alone for a minute
//	make fleet TENANTS=1000 QUIET=22m
//	make fleet TENANTS=1000 RUN=TestChannel
//	make fleet PROJECT=/tmp/release   with the packages and examples/install of another checkout
package fleet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

var (
	host   *kube.Cluster
	faults = provider.NewFaults(1)
	// cluster is the name of the embedded cluster, kubeconfig the path of its kubeconfig, and providers are the simulated ones.
	cluster, kubeconfig string
	providers           []parts.Provider
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Println("FAILED:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	options, err := platform.FromEnvironment()
	if err != nil {
		return 0, err
	}
	// On another cluster, real providers may be in use, which must not be stopped.
	options.Kubeconfig, options.Tests, options.SimulatedProviders = "", true, true
	if dir := os.Getenv("PROJECT"); dir != "" {
		if options.Root, err = xpkg.FindRoot(dir); err != nil {
			return 0, err
		}
	}
	simulation, err := provider.Defaults(options.Root)
	if err != nil {
		return 0, err
	}
	simulation.Faults = faults
	options.Progress = platform.Lines(func(line string) { fmt.Println(line) })
	c, err := platform.Ensure(ctx, options)
	if err != nil {
		return 0, err
	}
	config, err := node.FromEnvironment(options.Cache)
	if err != nil {
		return 0, err
	}
	cluster, kubeconfig = config.Name, c.Kubeconfig
	if host, err = kube.New(c.Config); err != nil {
		return 0, err
	}
	simulated, err := provider.New(c.Config, simulation)
	if err != nil {
		return 0, err
	}
	providers = []parts.Provider{
		parts.NewProvider("provider-helm", simulated.Helm), parts.NewProvider("provider-kubernetes", simulated.Kubernetes),
	}
	running := sync.WaitGroup{}
	for _, p := range providers {
		running.Go(func() { p.Keep(ctx) })
	}
	running.Go(func() { simulated.KeepJobs(ctx) })
	if err := awaitResolver(ctx); err != nil {
		return 0, err
	}
	code := m.Run()
	stop()
	running.Wait()
	return code, nil
}

// awaitResolver waits until the address of the resolver for tenants has been observed, without which no tenant is created.
func awaitResolver(ctx context.Context) error {
	objects := host.Dynamic.Resource(objectKind)
	return wait.PollUntilContextTimeout(ctx, time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		o, err := objects.Get(ctx, "virtual-argocd-dns", metav1.GetOptions{})
		if err != nil {
			// Releases before this one have no resolver.
			return kerrors.IsNotFound(err), nil
		}
		address, _, err := unstructured.NestedString(o.Object, "status", "atProvider", "manifest", "spec", "clusterIP")
		return address != "", err
	})
}

// setting reads an environment variable.
func setting[T any](t *testing.T, name string, byDefault T, parse func(string) (T, error)) T {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return byDefault
	}
	out, err := parse(v)
	if err != nil {
		t.Fatalf("cannot use %s=%s: %v", name, v, err)
	}
	return out
}

// deletedWithin is how long the deletion of many tenants may take.
const deletedWithin = 30 * time.Minute

// each is how long something may take if all of n tenants do it at once.
func each(n int) time.Duration { return 10*time.Minute + time.Duration(n)*5*time.Second }
