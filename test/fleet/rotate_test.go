//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

const (
	// rotating is the claim with a repository, whose credentials are in the Secret credential.
	rotating   = "tenant0000"
	credential = "credential"
)

// repositories returns the repositories of the claim rotating.
func repositories() []any {
	return []any{map[string]any{"name": "private", "url": "https://192.0.2.7/private.git", "secretRef": map[string]any{"name": credential}}}
}

// writeCredential writes the Secret credential, and has it deleted after the test.
func writeCredential(ctx context.Context, t *testing.T, password string) {
	t.Helper()
	secrets := host.Typed.CoreV1().Secrets(namespace)
	o := applycorev1.Secret(credential, namespace).WithLabels(map[string]string{tenant.LabelCredentials: "true"}).
		WithStringData(map[string]string{"username": "a", "password": password})
	if _, err := secrets.Apply(ctx, o, metav1.ApplyOptions{FieldManager: "fleet", Force: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is done by now.
		_ = secrets.Delete(context.WithoutCancel(ctx), credential, metav1.DeleteOptions{})
	})
}

// rotates changes the password of a repository, and measures when Helm has installed it.
func rotates(ctx context.Context, t *testing.T, table *figures.Table, claims, composites crowd) {
	t.Helper()
	id := ""
	for _, o := range composites.store.List() {
		xr := o.(*unstructured.Unstructured) //nolint:forcetypeassert // The informer is dynamic.
		if name, _, _ := unstructured.NestedString(xr.Object, "spec", "claimRef", "name"); name == rotating {
			id = xr.GetName()
		}
	}
	const password = "the rotated password"
	writeCredential(ctx, t, password)
	took := eventually.True(ctx, t, inVain, "Argo CD has the rotated password", func(context.Context) (bool, string) {
		is, err := check.Installed(host.Typed, tenant.NewNames(id, "").Namespace, tenant.HelmArgoCD)
		if err != nil {
			return false, err.Error()
		}
		values, err := json.Marshal(is.Config)
		has := strings.Contains(string(values), password)
		return is.Info.Status == release.StatusDeployed && has, fmt.Sprintf("revision %d is %s, and has it: %t, %v", is.Version, is.Info.Status, has, err)
	})
	promised(t, table, "from a rotated Secret to its use", took, rotatedWithin)
	claims.awaitReady(ctx, t, rotating)
}
