package platform

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
)

// fieldOwner is who owns the fields that are applied here.
const fieldOwner = client.FieldOwner("virtual-argocd-lab")

// newClient makes a client for the current context of a kubeconfig.
func newClient(kubeconfig string) (client.Client, *rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read kubeconfig %s: %w", kubeconfig, err)
	}
	// What slows us down must be the cluster.
	cfg.QPS = -1
	// Crossplane warns that claims are to go some day; each apply would repeat it.
	cfg.WarningHandler = rest.NoWarnings{}
	log.SetLogger(logr.Discard())
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a client from kubeconfig %s: %w", kubeconfig, err)
	}
	return c, cfg, nil
}

// apply makes the cluster have these objects, by server-side apply: what is
// there already stays untouched.
func apply(ctx context.Context, c client.Client, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := c.Patch(ctx, o.DeepCopy(), client.Apply, fieldOwner, client.ForceOwnership); err != nil { //nolint:staticcheck // The typed Apply wants generated types.
			return fmt.Errorf("cannot apply %s: %w", describe(o), err)
		}
	}
	return nil
}

// readManifests reads every object in YAML files.
func readManifests(files ...string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read manifest: %w", err)
		}
		objects, err := manifests.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("cannot parse %s: %w", file, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

func describe(o *unstructured.Unstructured) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.GetKind() + " " + name
}

// ApplyFile applies a file with a single object, and returns that object.
func ApplyFile(ctx context.Context, c client.Client, file string) (*unstructured.Unstructured, error) {
	objects, err := readManifests(file)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %d objects: want one", file, len(objects))
	}
	o := objects[0]
	if o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	return o, apply(ctx, c, o)
}
