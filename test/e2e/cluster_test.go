//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

var (
	// keep leaves the claims of failed tests in place.
	keep = os.Getenv("E2E_KEEP") != ""

	// otherKubernetes is a version that the platform offers beside the default one.
	otherKubernetes = toolchain.Version("kube-apiserver-1.36")
)

// connect finds the cluster that the tests run on: the one of KUBECONFIG, else the embedded one, which it starts.
func connect(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" || !installed(ctx, path) {
		cluster, err := ensure(ctx, path)
		if err != nil {
			return ctx, err
		}
		path = cluster.Kubeconfig
	}
	fmt.Println("Testing on the cluster of", path)
	var err error
	if host, err = kube.FromFile(path); err != nil {
		return ctx, err
	}
	dialer = kube.NewDialer(host)
	cfg.WithKubeconfigFile(path)
	return ctx, nil
}

// installed reports whether a cluster serves the product's kinds already. Such a cluster is tested as it is.
func installed(ctx context.Context, kubeconfig string) bool {
	c, err := kube.FromFile(kubeconfig)
	if err != nil {
		return false
	}
	xrds := schema.GroupVersionResource{Group: "apiextensions.crossplane.io", Version: "v1", Resource: "compositeresourcedefinitions"}
	_, err = c.Metadata.Resource(xrds).Get(ctx, "xvirtualargocds.virtualargocd.io", metav1.GetOptions{})
	if err != nil && !kerrors.IsNotFound(err) {
		fmt.Fprintln(os.Stderr, "cannot look for the product's XRD:", err)
	}
	return err == nil
}

func ensure(ctx context.Context, kubeconfig string) (platform.Cluster, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return platform.Cluster{}, err
	}
	return platform.Ensure(ctx, platform.Options{
		Cache:       cache,
		Root:        "../..",
		Kubeconfig:  kubeconfig,
		Registry:    os.Getenv("REGISTRY"),
		Push:        os.Getenv("REGISTRY") != "",
		Upstream:    os.Getenv("UPSTREAM") != "",
		ArgoCDChart: os.Getenv("ARGOCD_CHART"),
		Progress:    platform.Lines(func(line string) { fmt.Println(line) }),
	})
}
