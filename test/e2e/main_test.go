//go:build e2e

// Package e2e tries the product on a real cluster with a real Crossplane, real providers, real vclusters and real
// Argo CDs. Each file is one story of a platform engineer's; support/ has what the stories have in common.
//
//	make e2e                                 each feature's essential path, on the embedded cluster
//	make e2e-full                            everything
//	KUBECONFIG=... go test -C test -tags e2e -v ./e2e -run TestCustomer
//
// E2E_KEEP=1 leaves the claims of a failed test in place, to look at.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// claims is the namespace that the tests' claims are in; crossplane the one of Crossplane and what it runs.
	claims     = "e2e-claims"
	crossplane = "crossplane-system"

	// readyWithin is long: a machine with two cores brings up several tenants at once. What is measured is printed.
	readyWithin = 12 * time.Minute
	// goneWithin is the product's promise for a tenant in any state.
	goneWithin = 2 * time.Minute
	// promptly is the promise for a tenant whose pods end when they are told to: it takes 8 seconds, unless many tenants share the machine.
	promptly = time.Minute
)

var (
	testenv env.Environment
	host    *kube.Cluster
	dialer  *kube.Dialer

	// before is the cluster without the tests' claims.
	before inventory.Listing

	// clusterEnds is whether a test has installed what it leaves: its cluster ends with it.
	clusterEnds bool

	// dumps is where the state of the cluster is written down when a test fails.
	dumps = filepath.Join(os.TempDir(), fmt.Sprintf("virtual-argocd-e2e-%d", os.Getpid()))
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	cfg, err := envconf.NewFromFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot read flags:", err)
		return 1
	}
	ctx := context.Background()
	testenv = env.NewWithConfig(cfg).Setup(connect, createNamespace(claims), func(ctx context.Context, _ *envconf.Config) (_ context.Context, err error) {
		before, err = inventory.Take(ctx, host)
		return ctx, err
	})
	code := testenv.Run(m)
	measured.print(os.Stdout)
	if code != 0 {
		fmt.Println("\nFAILED")
		if _, err := os.Stat(dumps); err == nil {
			fmt.Println("The state of the cluster at each failure is in", dumps)
		}
		return code
	}
	if clusterEnds {
		return 0
	}
	if installFiles != nil {
		// Everything but the tenants that are gone stays: the platform was installed by a test.
		return 0
	}
	if err := nothingLeft(ctx); err != nil {
		fmt.Println("\nFAILED:", err)
		return 1
	}
	return 0
}

// nothingLeft compares the cluster with its state before the first test: every test has deleted its claims, so
// together they must have left nothing, whatever they did to their tenants.
func nothingLeft(ctx context.Context) error {
	for deadline := time.Now().Add(goneWithin); ; time.Sleep(2 * time.Second) {
		after, err := inventory.Take(ctx, host)
		// The tests restart some of the platform's pods.
		unnamed := func(l inventory.Listing) inventory.Listing {
			return l.UnnamedPods(crossplane)
		}
		diff := inventory.Diff(unnamed(before), unnamed(after))
		if err == nil && len(diff) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			if err != nil {
				return err
			}
			return fmt.Errorf("the tests together left the cluster other than they found it:\n%s", lines(diff))
		}
	}
}
