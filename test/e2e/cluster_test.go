//go:build e2e

package e2e

import (
	"context"
	"errors"
	"os"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// keep leaves the claims of failed tests in place.
var keep = os.Getenv("E2E_KEEP") != ""

// connect finds the cluster that the tests run on.
func connect(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return ctx, errors.New("set KUBECONFIG")
	}
	var err error
	if host, err = kube.FromFile(path); err != nil {
		return ctx, err
	}
	dialer = kube.NewDialer(host)
	cfg.WithKubeconfigFile(path)
	return ctx, nil
}

// otherKubernetes is a version that the cluster offers beside the default one.
var otherKubernetes = toolchain.Version("kube-apiserver-1.36")
