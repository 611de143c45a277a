package claim

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Live is a claim that exists in the host cluster.
type Live struct {
	Namespace, Name string
	// Created is when the API server had accepted the claim.
	Created time.Time

	host   *kube.Cluster
	client dynamic.ResourceInterface
	gvk    schema.GroupVersionKind
}

// Submit sends a claim to the API server, which validates it strictly, as kubectl asks it to: a field that the schema
// does not have is an error.
func Submit(ctx context.Context, host *kube.Cluster, c *Claim) (*Live, error) {
	o := c.Object()
	client, err := host.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return nil, err
	}
	_, err = client.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, err
	}
	return &Live{
		Namespace: o.GetNamespace(), Name: o.GetName(), Created: time.Now(),
		host: host, client: client, gvk: o.GroupVersionKind(),
	}, nil
}

// Create is Submit for claims that must be accepted.
func Create(ctx context.Context, t testing.TB, host *kube.Cluster, c *Claim) *Live {
	t.Helper()
	l, err := Submit(ctx, host, c)
	if err != nil {
		t.Fatalf("cannot create claim %s: %v", c.Name(), err)
	}
	return l
}

// Find returns a claim that exists, or may exist.
func Find(host *kube.Cluster, namespace, name string) (*Live, error) {
	return find(host, GVK, namespace, name)
}

// FindNamespaced is Find for the namespaced kind of Crossplane 2.
func FindNamespaced(host *kube.Cluster, namespace, name string) (*Live, error) {
	gvk := GVK
	gvk.Group = v1alpha1.FrontGroup
	return find(host, gvk, namespace, name)
}

func find(host *kube.Cluster, gvk schema.GroupVersionKind, namespace, name string) (*Live, error) {
	client, err := host.Resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return &Live{Namespace: namespace, Name: name, host: host, client: client, gvk: gvk}, nil
}

// State reads the claim.
func (l *Live) State(ctx context.Context) (*State, error) {
	o, err := l.client.Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot get claim %s: %w", l.Name, err)
	}
	return stateOf(o)
}

// Await waits until the state is as wanted, and returns that state. If it isn't in time, the test's log says what keeps the claim from it.
func (l *Live) Await(ctx context.Context, t testing.TB, within time.Duration, what string, wanted func(*State) bool) *State {
	t.Helper()
	var s *State
	defer func() {
		if t.Failed() && (s == nil || !wanted(s)) {
			t.Log(l.trouble(ctx))
		}
	}()
	eventually.True(ctx, t, within, fmt.Sprintf("claim %s: %s", l.Name, what), func(ctx context.Context) (bool, string) {
		var err error
		if s, err = l.State(ctx); err != nil {
			return false, err.Error()
		}
		return wanted(s), s.String()
	})
	return s
}

// AwaitReady waits until the claim is Ready.
func (l *Live) AwaitReady(ctx context.Context, t testing.TB, within time.Duration) *State {
	t.Helper()
	return l.Await(ctx, t, within, "becomes Ready", (*State).IsReady)
}

// Patch merges fields into the claim, as kubectl patch --type merge does. A nil value takes a field away.
func (l *Live) Patch(ctx context.Context, t testing.TB, value any, path ...string) {
	t.Helper()
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("cannot marshal patch: %v", err)
	}
	if _, err := l.client.Patch(ctx, l.Name, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		t.Fatalf("cannot patch claim %s: %v", l.Name, err)
	}
}

// Delete asks for the claim's deletion and does not wait for it. A claim that is gone already is no error.
func (l *Live) Delete(ctx context.Context, t testing.TB) {
	t.Helper()
	if err := l.client.Delete(ctx, l.Name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatalf("cannot delete claim %s: %v", l.Name, err)
	}
}

// Events recorded on the claim, oldest first.
func (l *Live) Events(ctx context.Context) ([]corev1.Event, error) {
	events, err := EventsOf(ctx, l.host, l.Namespace, l.gvk.Kind, l.Name)
	if err != nil {
		return nil, fmt.Errorf("cannot list events of claim %s: %w", l.Name, err)
	}
	return events, nil
}

// EventsOf returns the events recorded on an object. Those of an object without a namespace, such as a channel, are in any namespace.
func EventsOf(ctx context.Context, host *kube.Cluster, namespace, kind, name string) ([]corev1.Event, error) {
	list, err := host.Typed.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fmt.Sprintf("involvedObject.name=%s,involvedObject.kind=%s", name, kind),
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// XRName is the name of the composite resource Crossplane made for the claim. It waits for it: binding takes a moment.
func (l *Live) XRName(ctx context.Context, t testing.TB) string {
	t.Helper()
	name := ""
	l.Await(ctx, t, time.Minute, "is bound to a composite resource", func(s *State) bool {
		if l.namespaced() {
			if xr, err := l.behind(ctx); err == nil {
				name = xr.GetName()
			}
			return name != ""
		}
		name, _, _ = unstructured.NestedString(s.Object.Object, "spec", "resourceRef", "name")
		return name != ""
	})
	return name
}

// XR reads the claim's composite resource.
func (l *Live) XR(ctx context.Context) (*unstructured.Unstructured, error) {
	s, err := l.State(ctx)
	if err != nil {
		return nil, err
	}
	if l.namespaced() {
		return l.behind(ctx)
	}
	ref, _, _ := unstructured.NestedStringMap(s.Object.Object, "spec", "resourceRef")
	gvk := schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"])
	client, err := l.host.Resource(gvk, "")
	if err != nil {
		return nil, fmt.Errorf("claim %s is not bound yet: %w", l.Name, err)
	}
	xr, err := client.Get(ctx, ref["name"], metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot get composite resource of claim %s: %w", l.Name, err)
	}
	return xr, nil
}

// namespaced reports whether it is no claim, but of the namespaced kind of Crossplane 2.
func (l *Live) namespaced() bool { return strings.HasPrefix(l.gvk.Group, v1alpha1.FrontPrefix) }

// behind reads the composite resource behind one of the namespaced kind.
func (l *Live) behind(ctx context.Context) (*unstructured.Unstructured, error) {
	client, err := l.host.Resource(schema.GroupVersionKind{Group: strings.TrimPrefix(l.gvk.Group, v1alpha1.FrontPrefix), Version: l.gvk.Version, Kind: "X" + l.gvk.Kind}, "")
	if err != nil {
		return nil, err
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-namespace=" + l.Namespace + ",crossplane.io/claim-name=" + l.Name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the composite resources of %s: %w", l.Name, err)
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%s has %d composite resources", l.Name, len(list.Items))
	}
	return &list.Items[0], nil
}

// Composed reads every composed resource of the claim.
func (l *Live) Composed(ctx context.Context) ([]*unstructured.Unstructured, error) {
	xr, err := l.XR(ctx)
	if err != nil {
		return nil, err
	}
	// Crossplane 1.x and legacy XRs keep the references in spec, others under spec.crossplane.
	refs, _, _ := unstructured.NestedSlice(xr.Object, "spec", "resourceRefs")
	var out []*unstructured.Unstructured
	for _, r := range refs {
		ref, ok := r.(map[string]any)
		if !ok {
			continue
		}
		str := func(key string) string { s, _ := ref[key].(string); return s }
		client, err := l.host.Resource(schema.FromAPIVersionAndKind(str("apiVersion"), str("kind")), str("namespace"))
		if err != nil {
			return nil, err
		}
		o, err := client.Get(ctx, str("name"), metav1.GetOptions{})
		if kerrors.IsNotFound(err) {
			continue // Crossplane notes a reference before it creates the resource.
		}
		if err != nil {
			return nil, fmt.Errorf("cannot get composed %s %s: %w", str("kind"), str("name"), err)
		}
		out = append(out, o)
	}
	return out, nil
}

// All reads the claim's composite resource and every composed resource.
func (l *Live) All(ctx context.Context) ([]*unstructured.Unstructured, error) {
	xr, err := l.XR(ctx)
	if err != nil {
		return nil, err
	}
	composed, err := l.Composed(ctx)
	return append([]*unstructured.Unstructured{xr}, composed...), err
}

// ConnectionSecret reads the Secret that the claim's spec.writeConnectionSecretToRef names.
func (l *Live) ConnectionSecret(ctx context.Context) (*corev1.Secret, error) {
	s, err := l.State(ctx)
	if err != nil {
		return nil, err
	}
	name, _, _ := unstructured.NestedString(s.Object.Object, "spec", "writeConnectionSecretToRef", "name")
	if name == "" {
		return nil, fmt.Errorf("claim %s names no connection Secret: set spec.writeConnectionSecretToRef.name", l.Name)
	}
	secret, err := l.host.Typed.CoreV1().Secrets(l.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot get connection Secret of claim %s: %w", l.Name, err)
	}
	return secret, nil
}
