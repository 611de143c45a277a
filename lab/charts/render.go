package charts

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Render renders a chart as "helm install <release> --namespace <namespace>" would, in
// no order. It leaves out the CustomResourceDefinitions, a megabyte of YAML, unless the
// values have something to say about them. Chart and values stay as they are.
func Render(ch *chart.Chart, release, namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	v := runtime.DeepCopyJSON(values)
	if v == nil {
		v = map[string]any{}
	}
	if _, installs := ch.Values["crds"]; installs && v["crds"] == nil {
		v["crds"] = map[string]any{"install": false}
	}
	// A dependency that is off is not rendered. Helm takes it from the chart.
	whole, metadata := *ch, *ch.Metadata
	whole.Metadata = &metadata
	ch = &whole
	if err := chartutil.ProcessDependencies(ch, v); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(ch, v, options, &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"},
		APIVersions: chartutil.DefaultVersionSet,
	})
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(ch, all)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, doc := range strings.Split("\n"+content, "\n---") {
			o := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(doc+"\n"), &o.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if o.Object != nil {
				out = append(out, o)
			}
		}
	}
	return out, nil
}
