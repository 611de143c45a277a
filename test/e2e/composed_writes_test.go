//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/written"
)

// nameOf is the kind and name of an object. Both providers have ProviderConfigs, of the same names.
func nameOf(o *unstructured.Unstructured) string {
	return o.GroupVersionKind().GroupKind().String() + " " + o.GetName()
}

// settles waits for what follows on Ready: a Usage of the tenant's namespace, which Crossplane then labels.
func settles(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	eventually.True(ctx, t, 2*time.Minute, "the namespace of claim "+l.Name+" is in use", func(ctx context.Context) (bool, string) {
		composed, err := l.Composed(ctx)
		return slices.ContainsFunc(composed, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "Object" && o.GetLabels()["crossplane.io/in-use"] == "true"
		}), fmt.Sprint(err)
	})
}

// writtenFor returns the composed resources of a claim, by kind and name, as texts that change when they are written.
func writtenFor(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return textsOf(t, composed)
}

// allWrittenFor is writtenFor with the claim, its composite resource, and the Secrets with connection details of both and of what is composed.
// Crossplane and the providers publish such details at each look, and write these Secrets only when their data changes.
func allWrittenFor(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	state, errClaim := l.State(ctx)
	all, errAll := l.All(ctx)
	if err := errors.Join(errClaim, errAll); err != nil {
		t.Fatal(err)
	}
	all = append(all, state.Object)
	for _, o := range slices.Clone(all) {
		ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "writeConnectionSecretToRef")
		if ref["name"] == "" {
			continue
		}
		secrets, err := host.Resource(corev1.SchemeGroupVersion.WithKind("Secret"), cmp.Or(ref["namespace"], o.GetNamespace()))
		if err != nil {
			t.Fatal(err)
		}
		secret, err := secrets.Get(ctx, ref["name"], metav1.GetOptions{})
		if err != nil {
			t.Fatalf("cannot get the connection Secret of %s: %v", nameOf(o), err)
		}
		all = append(all, secret)
	}
	return textsOf(t, all)
}

func textsOf(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range objects {
		text, err := written.Text(o)
		if err != nil {
			t.Fatal(err)
		}
		out[nameOf(o)] = text
	}
	return out
}
