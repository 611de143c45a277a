// Package demogroup offers the product's function under another API group, as examples/demo-group shows.
package demogroup

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Name of the group.
const Name = "demo.example.org"

// Group is the installed example.
type Group struct {
	host    *kube.Cluster
	objects []*unstructured.Unstructured
}

// Install applies the XRD and the Composition of the example's folder and waits until claims can be made. The
// Composition gets the function's Input of the one that the product installed: the example's default Input is for a
// cluster that reaches the public chart repositories.
func Install(ctx context.Context, t testing.TB, host *kube.Cluster, folder string) *Group {
	t.Helper()
	g := &Group{host: host}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no YAML file in %s (%v)", folder, err)
	}
	for _, file := range files {
		objects, err := decode(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			switch o.GetKind() {
			case "Composition":
				takeInput(ctx, t, host, o)
			case "CompositeResourceDefinition":
			default:
				continue // The folder's claims are for readers.
			}
			g.create(ctx, t, o)
		}
	}
	eventually.True(ctx, t, 2*time.Minute, "claims of group "+Name+" can be made", func(ctx context.Context) (bool, string) {
		host.Forget()
		// The kind of claims and that of composite resources come each in its time.
		for _, kind := range []string{claim.GVK.Kind, "X" + claim.GVK.Kind} {
			client, err := host.Resource(schema.GroupVersionKind{Group: Name, Version: claim.GVK.Version, Kind: kind}, metav1.NamespaceDefault)
			if err == nil {
				_, err = client.List(ctx, metav1.ListOptions{})
			}
			if err != nil {
				return false, err.Error()
			}
		}
		return true, ""
	})
	return g
}

// Remove takes the example away and waits until its kinds are gone.
func (g *Group) Remove(ctx context.Context, t testing.TB) {
	t.Helper()
	if g == nil {
		return
	}
	for _, o := range g.objects {
		client, err := g.host.Resource(o.GroupVersionKind(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Errorf("cannot delete %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		eventually.True(ctx, t, 3*time.Minute, o.GetName()+" is gone", func(ctx context.Context) (bool, string) {
			_, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
			return kerrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
}

func (g *Group) create(ctx context.Context, t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	client, err := g.host.Resource(o.GroupVersionKind(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	g.objects = append(g.objects, o)
}

// takeInput copies the Input of the product's Composition, step by step of the pipeline.
func takeInput(ctx context.Context, t testing.TB, host *kube.Cluster, o *unstructured.Unstructured) {
	t.Helper()
	client, err := host.Resource(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"}, "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("cannot list Compositions: %v", err)
	}
	for _, c := range all.Items {
		kind, _, _ := unstructured.NestedStringMap(c.Object, "spec", "compositeTypeRef")
		if kind["apiVersion"] != claim.GVK.GroupVersion().String() {
			continue
		}
		theirs, _, _ := unstructured.NestedSlice(c.Object, "spec", "pipeline")
		ours, _, _ := unstructured.NestedSlice(o.Object, "spec", "pipeline")
		if len(theirs) != len(ours) {
			t.Fatalf("the example's pipeline has %d steps, the product's %d", len(ours), len(theirs))
		}
		for i := range ours {
			from, to := theirs[i].(map[string]any), ours[i].(map[string]any)
			if from["input"] == nil {
				delete(to, "input")
			} else {
				to["input"] = from["input"]
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, ours, "spec", "pipeline"); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no Composition of %s is installed", claim.GVK.Group)
}

func decode(file string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read example: %w", err)
	}
	objects, err := manifests.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cannot parse %s: %w", file, err)
	}
	return objects, nil
}
