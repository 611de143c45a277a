//go:build e2e

// Package chaos creates, changes and deletes tenants while parts of the platform are killed, paused and slowed, at times that follow from a
// seed. Some tenants are in a channel, whose offer changes. After each run, every tenant must be as its claim asked for last and have what its
// channel offers, and nothing may be left of deleted tenants.
//
//	make chaos                 5 runs with simulated virtual clusters, after those of seeds that have failed once
//	make chaos REAL=1          a run with real virtual clusters
//	make chaos SEED=7          the run of a printed seed again
package chaos

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// realParts says that providers and virtual clusters are real.
var realParts = os.Getenv("REAL") != ""

var (
	host *kube.Cluster
	// tenants are what the runs are about.
	tenants world
	// machine is the one that the embedded cluster runs on, and pods are those of the cluster.
	machine parts.Machine
	pods    *parts.Pods
)

// answersWithin is how long a request may take: the API server may be paused.
const answersWithin = 10 * time.Second

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
	// A test may kill parts of an embedded cluster only.
	options.Kubeconfig, options.Tests, options.SimulatedProviders = "", true, !realParts
	// Real tenants are upgraded to a Kubernetes that isn't the host's.
	options.Full = realParts
	options.Progress = platform.Lines(func(line string) { fmt.Println(line) })
	c, err := platform.Ensure(ctx, options)
	if err != nil {
		return 0, err
	}
	config, err := node.FromEnvironment(options.Cache)
	if err != nil {
		return 0, err
	}
	patient := rest.CopyConfig(c.Config)
	patient.Timeout = answersWithin
	if host, err = kube.New(patient); err != nil {
		return 0, err
	}
	machine = parts.NewMachine(config.Name)
	pods = parts.NewPods(machine, host.Typed)
	go pods.Follow(ctx)
	if realParts {
		tenants, err = newReal(ctx)
	} else {
		tenants, err = newSimulated(ctx, c.Config, options.Root)
	}
	if err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// number reads an environment variable.
func number(t *testing.T, name string, byDefault uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return byDefault
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("cannot use %s=%s: write a number", name, v)
	}
	return n
}
