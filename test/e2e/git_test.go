//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// gitNamespace is where the Git server is that stands for a customer's own.
const gitNamespace = "e2e-git"

// webManifest is what the customer deploys.
const webManifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: registry.k8s.io/pause:3.10
`

func deleteNamespace(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	namespaces := host.Typed.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatalf("cannot delete namespace %s: %v", name, err)
	}
	eventually.True(ctx, t, 5*time.Minute, "namespace "+name+" is gone", func(ctx context.Context) (bool, string) {
		_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		return kerrors.IsNotFound(err), "still there"
	})
}
