package helm

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestDefaultChart: tests install the version of the argo-cd chart that the function installs by default.
func TestDefaultChart(t *testing.T) {
	want := tenant.WithDefaults(v1alpha1.Input{}).Charts.ArgoCD.Version
	if got := argoCD(t).Metadata.Version; got != want {
		t.Errorf("lab/charts/argo-cd is version %s, and the function installs %s", got, want)
	}
}
