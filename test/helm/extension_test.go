package helm

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/extension"
)

// TestExtensionOfAComponent: with the argocdValues that the catalogue has in comments, the API server of a tenant with Rollouts has an init container that
// puts the UI extension where the API server looks for it. Nothing else of Argo CD is different, and nothing at all for a tenant without Rollouts.
func TestExtensionOfAComponent(t *testing.T) {
	const catalogue = "../../examples/install/components.yaml"
	raw, err := os.ReadFile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	var in v1alpha1.Input
	if err := yaml.UnmarshalStrict(raw, &in); err != nil {
		t.Fatal(err)
	}
	shown, err := yaml.Marshal(extension.ArgoCDValues(t, catalogue, ""))
	if err != nil {
		t.Fatal(err)
	}
	if shown, err = yaml.YAMLToJSON(shown); err != nil {
		t.Fatal(err)
	}
	with := in.DeepCopy()
	with.Components[0].ArgoCDValues = &runtime.RawExtension{Raw: shown}
	rollouts := []tenant.AskedComponent{{Name: "rollouts"}}

	const server = "Deployment/argocd-server"
	for of, ch := range subjects(t) {
		t.Run(of, func(t *testing.T) {
			objectsOf := func(in v1alpha1.Input, asked []tenant.AskedComponent) objects {
				t.Helper()
				p, err := resolve.Tenant(tenant.Given{XRName: "a", Input: tenant.WithDefaults(in), Platform: tenant.WithDefaults(in), Spec: tenant.Ask{Components: asked}})
				if err != nil {
					t.Fatal(err)
				}
				return rendered(t, ch, tenant.HelmArgoCD, p.ArgoCD.Values)
			}
			plainly, got := objectsOf(in, rollouts), objectsOf(*with, rollouts)
			want := map[string]any{
				"spec|template|spec|initContainers": []any{map[string]any{
					"name": "rollout-extension", "image": "quay.io/argoprojlabs/argocd-extension-installer:v1.0.1", "imagePullPolicy": "IfNotPresent", "resources": map[string]any{},
					"env": []any{map[string]any{"name": "EXTENSION_URL", "value": "https://github.com/argoproj-labs/rollout-extension/releases/download/v0.3.7/extension.tar"}},
					"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": 1000, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
						"seccompProfile": map[string]any{"type": "RuntimeDefault"}, "capabilities": map[string]any{"drop": []any{"ALL"}}},
					"volumeMounts": []any{map[string]any{"name": "extensions", "mountPath": "/tmp/extensions/"}, map[string]any{"name": "tmp", "mountPath": "/tmp"}},
				}},
				"spec|template|spec|volumes|extensions":                        map[string]any{"name": "extensions", "emptyDir": map[string]any{}},
				"spec|template|spec|containers|server|volumeMounts|extensions": map[string]any{"name": "extensions", "mountPath": "/tmp/extensions"},
				"spec|template|spec|containers|server|volumeMounts|tmp":        map[string]any{"name": "tmp", "mountPath": "/tmp"},
			}
			for path, value := range want {
				if diff := cmp.Diff(plain(t, value), plain(t, at(got[server], path))); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", path, diff)
				}
			}
			delete(got, server)
			delete(plainly, server)
			if diff := cmp.Diff(plain(t, plainly), plain(t, got)); diff != "" {
				t.Errorf("other objects differ: -without, +with:\n%s", diff)
			}
			if diff := cmp.Diff(plain(t, objectsOf(in, nil)), plain(t, objectsOf(*with, nil))); diff != "" {
				t.Errorf("a tenant without Rollouts: -without, +with:\n%s", diff)
			}
		})
	}
}
