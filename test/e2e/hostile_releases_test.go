//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// A helmRelease is what provider-helm says of a tenant's virtual cluster.
type helmRelease struct {
	Status struct {
		AtProvider struct {
			Revision    int64  `json:"revision"`
			State       string `json:"state"`
			Description string `json:"releaseDescription"`
		} `json:"atProvider"`
		Failed     int64              `json:"failed"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (r *helmRelease) String() string {
	return fmt.Sprintf("%+v", r.Status)
}

// says reports whether what provider-helm did last has failed with these words.
func (r *helmRelease) says(words ...string) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == "Synced" && c.Status == metav1.ConditionFalse && says(fmt.Errorf("%s", c.Message), words...) {
			return true
		}
	}
	return false
}

// id is how the platform names the tenant.
func (n *tenant) id() string { return strings.TrimPrefix(n.namespace, "vargo-") }

func releases(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := host.Resource(schema.GroupVersionKind{Group: "helm.crossplane.io", Version: "v1beta1", Kind: "Release"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A tenant's two Releases.
const (
	vclusterRelease = "vcluster"
	argocdRelease   = "argocd"
)

func (n *tenant) release(ctx context.Context, t *testing.T, name string) (*helmRelease, error) {
	t.Helper()
	o, err := releases(t).Get(ctx, n.id()+"-"+name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	r := &helmRelease{}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &r.Status); err != nil {
		return nil, fmt.Errorf("a Release's status is of an unexpected shape: %w", err)
	}
	return r, nil
}

// awaitRelease waits until a Release is as wanted. provider-helm looks at it every ten minutes, and when it changes: so it does
// from time to time.
func (n *tenant) awaitRelease(ctx context.Context, t *testing.T, name, what string, wanted func(*helmRelease) bool) {
	t.Helper()
	poked := time.Time{}
	eventually.True(ctx, t, 5*time.Minute, "Release "+name+" of "+n.live.Name+" "+what, func(ctx context.Context) (bool, string) {
		if time.Since(poked) > 10*time.Second {
			poked = time.Now()
			n.poke(ctx, t, name)
		}
		r, err := n.release(ctx, t, name)
		return err == nil && wanted(r), fmt.Sprint(r, err)
	})
}

// poke has provider-helm look at a Release, as it does by itself every ten minutes.
func (n *tenant) poke(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"example.org/poked": time.Now().String()}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releases(t).Patch(ctx, n.id()+"-"+name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// awaitRevision waits for a revision, or a later one: an edit may have come after provider-helm has mended what was forged.
func (n *tenant) awaitRevision(ctx context.Context, t *testing.T, revision int64) {
	t.Helper()
	n.awaitRelease(ctx, t, vclusterRelease, fmt.Sprintf("is deployed as Helm's own revision %d", revision), func(r *helmRelease) bool {
		is := r.Status.AtProvider
		return is.Revision >= revision && is.State == "deployed" && is.Description == "Upgrade complete"
	})
}

// forgedName is a name that vcluster would give. Helm has objects in the order of their names, and takes the last of a revision.
var forgedName = onHost("zz", metav1.NamespaceDefault)

// forge puts a record into the tenant's namespace, or another one in its place, as its administrator. provider-helm is to try what it
// says however often it has failed.
func (n *tenant) forge(ctx context.Context, t *testing.T, record *corev1.Secret) {
	t.Helper()
	record.Name = forgedName
	secrets := host.Typed.CoreV1().Secrets(n.namespace)
	_, err := secrets.Create(ctx, record, metav1.CreateOptions{})
	if kerrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, record, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releases(t).Patch(ctx, n.id()+"-vcluster", types.MergePatchType, []byte(`{"status":{"failed":0}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	n.poke(ctx, t, vclusterRelease)
}

// awaitRefusal waits until provider-helm has tried what a record says, and was refused.
func (n *tenant) awaitRefusal(ctx context.Context, t *testing.T, what, words string) {
	t.Helper()
	n.awaitRelease(ctx, t, vclusterRelease, "says that "+what+" is refused", func(r *helmRelease) bool {
		if !r.says("forbidden", words) {
			return false
		}
		t.Logf("%s: %v", what, r.Status.Conditions)
		return true
	})
}

// heal takes the forged record away, and writes the genuine one again, which Helm has written over.
func (n *tenant) heal(ctx context.Context, t *testing.T, genuine *corev1.Secret) {
	t.Helper()
	secrets := host.Typed.CoreV1().Secrets(n.namespace)
	if err := secrets.Delete(ctx, forgedName, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if genuine == nil {
		return
	}
	again := genuine.DeepCopy()
	again.ResourceVersion = ""
	if _, err := secrets.Update(ctx, again, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.awaitRelease(ctx, t, vclusterRelease, "is deployed again", func(r *helmRelease) bool {
		// Helm may have been at work with the forged one, and have written over it once more.
		if is, err := secrets.Get(ctx, genuine.Name, metav1.GetOptions{}); err == nil && is.Labels["status"] == "uninstalling" {
			if _, err := secrets.Update(ctx, again, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		return r.Status.AtProvider.State == "deployed" && r.Status.AtProvider.Description != forged && r.Status.Failed == 0 && !r.says("")
	})
}

// awaitAnswer waits for the virtual cluster, whose control plane may have been restarted.
func (n *tenant) awaitAnswer(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually.True(ctx, t, 5*time.Minute, "the virtual cluster answers", func(ctx context.Context) (bool, string) {
		_, err := n.cluster.Typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}
