package argocd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestVersionOfArgoCD: the status has what runs, if that is a version, and keeps it while nothing can be seen to run.
func TestVersionOfArgoCD(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	for _, step := range []struct {
		image     string
		available bool
		want      string
	}{
		{"quay.io/argoproj/argocd:v3.4.5", true, "v3.4.5"},
		{"quay.io/argoproj/argocd:v3.4.6", false, "v3.4.5"},
		{"quay.io/argoproj/argocd:no-version", true, ""},
		{"quay.io/argoproj/argocd:v3.4.6", true, "v3.4.6"},
	} {
		e.SetWorkload("argocd-server", func(w *proxy.Workload) {
			w.Available, w.Images = step.available, map[string]string{"server": step.image}
		})
		e.Reconcile()
		if got := e.Status("argocd", "version"); got != step.want {
			t.Errorf("%+v: got %q", step, got)
		}
	}
}

func TestValuesReachTheChart(t *testing.T) {
	e := crossplanetest.New(t, `{"argocd":{"values":{"server":{"replicas":2},"dex":{"enabled":false}}},"kubernetes":{"version":"1.35.4"}}`,
		`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"server":{"replicas":1,"logLevel":"debug"}}}},"kubernetes":{"version":"v1.35.4"},"images":{"registry":"mirror.test/m"}}`).Install()
	values := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	probe := map[string]any{"initialDelaySeconds": 1., "periodSeconds": 3., "failureThreshold": 10.}
	want := map[string]any{
		"fullnameOverride": "argocd", "namespaceOverride": "argocd",
		"configs":    map[string]any{"secret": map[string]any{"extra": map[string]any{"virtualargocd.tenant": "customer1-7rw8j"}}},
		"server":     map[string]any{"replicas": 2., "logLevel": "debug", "readinessProbe": probe, "lifecycle": map[string]any{"preStop": map[string]any{"sleep": map[string]any{"seconds": 10.}}}},
		"controller": map[string]any{"readinessProbe": probe}, "repoServer": map[string]any{"readinessProbe": probe},
		"dex":             map[string]any{"enabled": false, "image": map[string]any{"repository": "mirror.test/m/dexidp/dex"}},
		"global":          map[string]any{"domain": "argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc", "image": map[string]any{"repository": "mirror.test/m/argoproj/argocd"}},
		"redisSecretInit": map[string]any{"enabled": false},
		"redis":           map[string]any{"image": map[string]any{"repository": "mirror.test/m/docker/library/redis"}},
		"redis-ha": map[string]any{
			"image":   map[string]any{"repository": "mirror.test/m/docker/library/redis"},
			"haproxy": map[string]any{"image": map[string]any{"repository": "mirror.test/m/docker/library/haproxy"}},
		},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("argo-cd values: -want, +got:\n%s", diff)
	}
	if manifest := crossplanetest.Field(e.Observed(tenant.Workloads), "spec", "forProvider", "manifest", "metadata"); strings.Contains(manifest.String(), "dex") {
		t.Error("a workload that is switched off is observed")
	}
	if got := e.Status("vcluster", "kubernetesVersion"); got != "v1.35.4" {
		t.Errorf("status.vcluster.kubernetesVersion: want v1.35.4, got %s", got)
	}
}
