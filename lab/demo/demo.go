package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/lab/platform"
)

// A demo applies one tenant of each kind: a claim, and one of Crossplane 2's namespaced kind. Both are files of the project.
const (
	claimFile      = "examples/claims/customer1.yaml"
	namespacedFile = "examples/namespaced/customer3.yaml"
)

// Install makes a cluster ready for claims and applies none.
func Install(ctx context.Context, o platform.Options) (platform.Cluster, error) {
	o.Progress = platform.Lines(printLine)
	return platform.Ensure(ctx, o)
}

// Run is `make demo`.
func Run(ctx context.Context, o platform.Options) error {
	o.Progress = platform.Lines(printLine)
	cluster, claim, err := run(ctx, o)
	if err != nil {
		return err
	}
	return closing(ctx, os.Stdout, o, cluster, claim)
}

func run(ctx context.Context, o platform.Options) (platform.Cluster, *unstructured.Unstructured, error) {
	cluster, err := platform.Ensure(ctx, o)
	if err != nil {
		return platform.Cluster{}, nil, err
	}
	var claim *unstructured.Unstructured
	err = o.Progress.Step(fmt.Sprintf("Apply %s and wait until it is Ready", claimFile), func(note func(string)) (err error) {
		claim, err = provision(ctx, cluster.Client, filepath.Join(o.Root, claimFile), note)
		return err
	})
	// With providers of one's own, that kind is installed by hand.
	if err != nil || o.ExistingProviders {
		return cluster, claim, err
	}
	err = o.Progress.Step(fmt.Sprintf("Apply %s and wait until it is Ready", namespacedFile), func(note func(string)) error {
		_, err := provision(ctx, cluster.Client, filepath.Join(o.Root, namespacedFile), note)
		return err
	})
	return cluster, claim, err
}

func printLine(line string) { fmt.Println(line) }
