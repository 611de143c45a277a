package platform

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Prepare starts the embedded cluster with what a cluster of somebody's has before Crossplane and this project come: an ingress controller, and
// packages, charts and images within reach. It also returns a file with the function's input for that cluster.
func Prepare(ctx context.Context, o Options) (Cluster, string, error) {
	if o.Kubeconfig != "" {
		return Cluster{}, "", errors.New("only the embedded cluster is prepared: unset KUBECONFIG")
	}
	i := &installer{Options: o}
	var err error
	if i.embedded, err = i.startEmbedded(ctx); err != nil {
		return Cluster{}, "", err
	}
	i.kubeconfig, i.out = i.embedded.Kubeconfig(), i.embedded.packages()
	if err := os.MkdirAll(i.out, 0o755); err != nil {
		return Cluster{}, "", err
	}
	if i.client, i.config, err = newClient(i.kubeconfig); err != nil {
		return Cluster{}, "", err
	}
	if err := i.ensureNamespace(ctx); err != nil {
		return Cluster{}, "", err
	}
	// The providers get charts from a repository that isn't on the internet.
	policy, err := chartsPolicy(i.embedded.Addresses().Charts)
	if err != nil {
		return Cluster{}, "", err
	}
	if err := apply(ctx, i.client, policy); err != nil {
		return Cluster{}, "", err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return i.Progress.Step("Build and push the providers' packages", func(note func(string)) error {
			return i.pushProviders(gctx, i.embedded.mirror(), note)
		})
	})
	g.Go(func() error {
		return i.Progress.Step("Install the ingress controller Traefik "+toolchain.Version("traefik"), func(note func(string)) error {
			return i.installIngress(gctx, note)
		})
	})
	if err := g.Wait(); err != nil {
		return Cluster{}, "", err
	}
	input, err := i.writeInput()
	if err != nil {
		return Cluster{}, "", err
	}
	a := i.embedded.Addresses()
	return Cluster{
		Kubeconfig: i.kubeconfig, Config: i.config, Client: i.client, Embedded: true, Registry: a.Registry,
		Ingress: Ingress{Address: a.Ingress, Domain: a.Domain, CA: i.embedded.ingressCA()},
	}, input, nil
}
