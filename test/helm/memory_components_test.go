package helm

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/virtual-argocd/virtual-argocd/fn/parts/components"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
)

// worstComponent is in the environment of a process of its own, and names what that installs.
const worstComponent = "VARGO_WORST_COMPONENT"

// multiplies is a template as many charts have: an object for each item of a list, with the whole of another value.
const multiplies = `{{ range $i, $name := .Values.controller.workflowNamespaces }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $.Values.workflow.serviceAccount.name | default "a" }}
  annotations:
    {{- toYaml ($.Values.workflow.serviceAccount.annotations | default dict) | nindent 4 }}
{{ end }}`

// TestMemoryOfComponents: installing a chart that writes one value for each item of another, with the worst values of a claim that are
// accepted, takes Helm less than a quarter of the memory that provider-helm may take: two may come at once, beside everything else.
func TestMemoryOfComponents(t *testing.T) {
	t.Parallel()
	claims := worstOfComponents()
	if of := os.Getenv(worstComponent); of != "" {
		subject, claim, _ := strings.Cut(of, "|")
		ch := chartsThatMultiply(t)[subject]
		objects, err := charts.Render(ch, "workflows", "argo", claims[claim])
		if err != nil {
			t.Fatalf("%.300s", err)
		}
		records := storage.Init(driver.NewSecrets(fake.NewClientset().CoreV1().Secrets("argo")))
		r := &release.Release{Name: "workflows", Namespace: "argo", Version: 1, Info: &release.Info{}, Chart: ch, Config: claims[claim], Manifest: manifestOf(t, objects)}
		if err := records.Create(r); err != nil {
			t.Fatalf("%.300s", err)
		}
		runtime.KeepAlive(objects)
		sayPeak(t)
		return
	}
	needsProc(t)
	for claim, v := range claims {
		if err := components.CheckSize("values", v); err != nil {
			t.Errorf("%s is refused, so it is not the worst that is accepted: %v", claim, err)
		}
	}
	most := limitOfHelm(t)
	for subject := range chartsThatMultiply(t) {
		nothing := peak(t, worstComponent+"="+subject+"|Nothing")
		for _, claim := range slices.Sorted(maps.Keys(claims)) {
			more := peak(t, worstComponent+"="+subject+"|"+claim) - nothing
			t.Logf("%s, %s: %d MiB more than the %d MiB with no values, of %d MiB", subject, claim, more>>20, nothing>>20, most>>20)
			if more > most/4 {
				t.Errorf("%s, %s: installing takes %d MiB, want at most a quarter of provider-helm's %d MiB", subject, claim, more>>20, most>>20)
			}
		}
	}
}

// chartsThatMultiply are a chart with that template, and upstream's Argo Workflows where COMPONENT_CHARTS names the folder of charts.
func chartsThatMultiply(t *testing.T) map[string]*chart.Chart {
	t.Helper()
	all := map[string]*chart.Chart{"test": {
		Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "multiplies", Version: "1.0.0"},
		Values:    map[string]any{"controller": map[string]any{"workflowNamespaces": []any{}}, "workflow": map[string]any{"serviceAccount": map[string]any{}}},
		Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(multiplies)}},
	}}
	if folder := os.Getenv("COMPONENT_CHARTS"); folder != "" {
		ch, err := loader.Load(filepath.Join(folder, "argo-workflows"))
		if err != nil {
			t.Fatal(err)
		}
		all["argo-workflows"] = ch
	}
	return all
}

// worstOfComponents are values of a claim, close to what is accepted, for charts that write one value for each item of another.
func worstOfComponents() map[string]map[string]any {
	of := func(namespaces int, account map[string]any) map[string]any {
		var names []any
		for i := range namespaces {
			names = append(names, fmt.Sprintf("n%d", i))
		}
		account["create"] = true
		return map[string]any{"controller": map[string]any{"workflowNamespaces": names}, "workflow": map[string]any{"serviceAccount": account}}
	}
	many := map[string]any{}
	for i := range components.MaxValues/2 - 10 {
		many[fmt.Sprintf("k%d", i)] = "a"
	}
	return map[string]map[string]any{
		"Nothing": {},
		"Text":    of(components.MaxValues-20, map[string]any{"annotations": map[string]any{"a": strings.Repeat("x", components.MaxBytes-2000)}}),
		"Signs":   of(components.MaxValues-20, map[string]any{"name": "[" + strings.Repeat("[],", components.MaxSigns/2-10) + "]"}),
		"Maps":    of(components.MaxValues-20, map[string]any{"name": "[" + strings.Repeat("{a: b},", components.MaxSigns/3-10) + "]"}),
		"Values":  of(components.MaxValues/2-10, map[string]any{"annotations": many}),
	}
}
