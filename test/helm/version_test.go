package helm

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
)

// TestDefaultChart: the lab serves the version of the argo-cd chart that the function installs by default.
func TestDefaultChart(t *testing.T) {
	if want := tenant.WithDefaults(v1alpha1.Input{}).Charts.ArgoCD.Version; artifacts.DefaultArgoCDChart != want {
		t.Errorf("lab/artifacts: DefaultArgoCDChart is %s, and the function installs %s", artifacts.DefaultArgoCDChart, want)
	}
}
