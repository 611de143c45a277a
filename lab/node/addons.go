package node

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
)

// fieldOwner owns what Up applies.
const fieldOwner = client.FieldOwner("virtual-argocd-node")

// newClient makes a client of a cluster that may not answer yet.
func newClient(cfg Config) (client.Client, error) {
	rest, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster's kubeconfig: %w", err)
	}
	rest.QPS = -1
	c, err := client.New(rest, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client of the cluster: %w", err)
	}
	return c, nil
}

// applyAddons makes DNS, the default StorageClass and what enforces NetworkPolicies.
func applyAddons(ctx context.Context, cfg Config, c client.Client) error {
	objects, err := addons(cfg)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.Patch(ctx, o, client.Apply, fieldOwner, client.ForceOwnership); err != nil { //nolint:staticcheck // The typed Apply wants generated types.
			return fmt.Errorf("cannot apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func addons(cfg Config) ([]*unstructured.Unstructured, error) {
	b, err := render("addons.yaml", cfg.settings())
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("cannot parse the addons: %w", err)
	}
	return objects, nil
}
