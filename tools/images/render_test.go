package images

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// TestMissingDependency: a chart that needs another one, which its folder lacks, says so; where that is off, it is rendered.
func TestMissingDependency(t *testing.T) {
	ch := func() *chart.Chart {
		return &chart.Chart{
			Metadata:  &chart.Metadata{Name: "argo-cd", Version: "1.0.0", Dependencies: []*chart.Dependency{{Name: "redis-ha", Version: "4", Condition: "redis-ha.enabled"}}},
			Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("kind: ConfigMap")}},
		}
	}
	for on, want := range map[bool]string{true: "helm dependency build", false: ""} {
		r := release{name: "a", namespace: "b", kubernetes: "v1.36.0", values: map[string]any{"redis-ha": map[string]any{"enabled": on}}}
		done, err := render(ch(), r)
		if want == "" && (err != nil || len(done.objects) != 1) {
			t.Errorf("off: %v, %v", done.objects, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("on: want %q, got %v", want, err)
		}
	}
}
