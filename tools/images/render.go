package images

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// A release of a chart.
type release struct {
	// composed is the name of the Release in the composition; "" for a chart that installs the platform.
	composed        string
	chart           Chart
	name, namespace string
	values          map[string]any
	kubernetes      string
}

// A rendered release: its objects, those of hooks among them, and all values, with the chart's own.
type rendered struct {
	objects []map[string]any
	values  map[string]any
}

// render renders a chart as Helm does, for an installation, and for an upgrade if the chart tells one from the other. Objects of both are in it twice.
// CustomResourceDefinitions, which are large and have no pods, and tests of the chart, which only `helm test` runs, are left out.
func render(ch *chart.Chart, r release) (rendered, error) {
	out := rendered{}
	for _, options := range []chartutil.ReleaseOptions{{Revision: 1, IsInstall: true}, {Revision: 2, IsUpgrade: true}} {
		if options.IsUpgrade && !asksWhich(ch) {
			break
		}
		options.Name, options.Namespace = r.name, r.namespace
		values := runtime.DeepCopyJSON(r.values)
		if values == nil {
			values = map[string]any{}
		}
		// Helm takes dependencies that are off from the chart.
		whole, metadata := *ch, *ch.Metadata
		whole.Metadata = &metadata
		if err := chartutil.ProcessDependencies(&whole, values); err != nil {
			return out, err
		}
		if err := checkDependencies(&whole); err != nil {
			return out, err
		}
		all, err := chartutil.ToRenderValues(&whole, values, options, capabilities(r.kubernetes))
		if err != nil {
			return out, err
		}
		if merged, ok := all["Values"].(chartutil.Values); ok {
			out.values = merged
		}
		files, err := engine.Render(&whole, all)
		if err != nil {
			return out, err
		}
		for _, file := range slices.Sorted(maps.Keys(files)) {
			if !strings.HasSuffix(file, ".yaml") && !strings.HasSuffix(file, ".yml") {
				continue
			}
			objects, err := documents([]byte(files[file]))
			if err != nil {
				return out, fmt.Errorf("%s: %w", file, err)
			}
			for _, o := range objects {
				if hook := textAt(o, "metadata", "annotations", "helm.sh/hook"); hook != "test" && hook != "test-success" {
					out.objects = append(out.objects, o)
				}
			}
		}
	}
	return out, nil
}

// checkDependencies returns an error if a chart lacks one that its values switch on: templates would fail, in their own words.
func checkDependencies(ch *chart.Chart) error {
	for _, d := range ch.Metadata.Dependencies {
		if !slices.ContainsFunc(ch.Dependencies(), func(is *chart.Chart) bool { return is.Name() == d.Name || is.Name() == d.Alias }) {
			return fmt.Errorf("it lacks the chart %s, which it depends on: run `helm dependency build` in its folder", d.Name)
		}
	}
	return nil
}

// asksWhich reports whether templates of a chart ask whether it is installed or upgraded.
func asksWhich(ch *chart.Chart) bool {
	return slices.ContainsFunc(ch.Templates, func(f *chart.File) bool {
		return bytes.Contains(f.Data, []byte("Release.Is")) || bytes.Contains(f.Data, []byte("Release.Revision"))
	}) ||
		slices.ContainsFunc(ch.Dependencies(), asksWhich)
}

// capabilities are those of a cluster of a version of Kubernetes.
func capabilities(version string) *chartutil.Capabilities {
	out := *chartutil.DefaultCapabilities
	if v, err := chartutil.ParseKubeVersion(version); err == nil {
		out.KubeVersion = *v
	}
	return &out
}

// documents decodes a file of YAML documents, but for CustomResourceDefinitions.
func documents(text []byte) ([]map[string]any, error) {
	var out []map[string]any
	for _, doc := range strings.Split("\n"+string(text), "\n---") {
		// What is behind the dashes is a comment at most.
		_, doc, _ = strings.Cut(doc, "\n")
		if strings.Contains("\n"+doc, "\nkind: CustomResourceDefinition\n") {
			continue
		}
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		if textAt(o, "kind") == "List" {
			for _, item := range listOf(o["items"]) {
				if item, ok := item.(map[string]any); ok {
					out = append(out, item)
				}
			}
		} else if len(o) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}
