package provider

import (
	"context"
	"reflect"
	"sync"

	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hostObjects applies the manifests of Objects to the host.
type hostObjects struct {
	client client.Client

	mu sync.Mutex
	// dry are results of dry runs, which the real provider keeps, too.
	dry map[types.UID]dryRun
}

// A dryRun is what applying the manifest of one generation of an Object would lead to.
type dryRun struct {
	generation int64
	result     *unstructured.Unstructured
}

func newHostObjects(c client.Client) *hostObjects {
	return &hostObjects{client: c, dry: map[types.UID]dryRun{}}
}

func (h *hostObjects) get(ctx context.Context, _ *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	is := manifest.DeepCopy()
	return is, h.client.Get(ctx, client.ObjectKeyFromObject(manifest), is)
}

func (h *hostObjects) desired(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	h.mu.Lock()
	known := h.dry[o.GetUID()]
	h.mu.Unlock()
	if known.result != nil && known.generation == o.GetGeneration() {
		return known.result, nil
	}
	result, err := h.patch(ctx, o, manifest, client.DryRunAll)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dry[o.GetUID()] = dryRun{generation: o.GetGeneration(), result: result}
	return result, nil
}

func (h *hostObjects) apply(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return h.patch(ctx, o, manifest)
}

func (h *hostObjects) patch(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured, options ...client.PatchOption) (*unstructured.Unstructured, error) {
	result := manifest.DeepCopy()
	options = append(options, client.ForceOwnership, client.FieldOwner("provider-kubernetes/"+o.GetName()))
	return result, h.client.Patch(ctx, result, client.Apply, options...) //nolint:staticcheck // The typed Apply wants generated types.
}

func (h *hostObjects) remove(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) error {
	h.mu.Lock()
	delete(h.dry, o.GetUID())
	h.mu.Unlock()
	return h.client.Delete(ctx, manifest.DeepCopy())
}

// same reports whether a and b agree in all fields that a manifest has. They are compared with each other and not with the manifest,
// because an API server may normalize its values.
func same(manifest, a, b any) bool {
	m, ok := manifest.(map[string]any)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	inA, okA := a.(map[string]any)
	inB, okB := b.(map[string]any)
	for key, value := range m {
		if !same(value, inA[key], inB[key]) {
			return false
		}
	}
	return okA && okB
}
