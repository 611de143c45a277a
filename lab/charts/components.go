package charts

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

//go:embed components
var components embed.FS

// ComponentVersion is the version of the test charts of components, and NextComponentVersion that of the same charts under another one.
const (
	ComponentVersion     = "1.0.0"
	NextComponentVersion = "1.0.1"
)

// definitions are where a component's Go module has its CustomResourceDefinitions, by the name of its chart.
var definitions = map[string]string{
	"argo-rollouts":  "manifests/crds",
	"argo-workflows": "manifests/base/crds/minimal",
	"argo-events":    "manifests/base/crds",
}

// images are values of a chart that name an image which its pods don't have, as argo-helm's chart does, by the name of the chart. What lists
// images looks for them there.
var images = map[string]string{"argo-workflows": "executor:\n  image: {registry: quay.io, repository: argoproj/argoexec, tag: \"\"}\n"}

// Component makes a test chart that stands for one of argo-helm's: the controller of a component, whose program has a version, with the
// CustomResourceDefinitions in its Go module, which outlive the chart, as in argo-helm.
func Component(name, version string, module fs.FS) (*chart.Chart, error) {
	metadata := "apiVersion: v2\nname: " + name + "\nversion: " + ComponentVersion + "\nappVersion: " + version + "\n"
	template, err := components.ReadFile("components/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no test chart %s: %w", name, err)
	}
	files := []*loader.BufferedFile{
		{Name: "Chart.yaml", Data: []byte(metadata)},
		{Name: "values.yaml", Data: []byte("controller:\n  replicas: 1\n  resources: {}\n" + images[name])},
		{Name: "templates/controller.yaml", Data: template},
		{Name: "templates/crds.yaml", Data: []byte("{{ range $path, $_ := .Files.Glob \"crds-of-the-module/*.yaml\" }}\n---\n{{ $.Files.Get $path }}\n{{ end }}\n")},
	}
	in := definitions[name]
	entries, err := fs.ReadDir(module, in)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CustomResourceDefinitions of %s: %w", name, err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".yaml") || e.Name() == "kustomization.yaml" {
			continue
		}
		raw, err := fs.ReadFile(module, path.Join(in, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("cannot read a CustomResourceDefinition of %s: %w", name, err)
		}
		kept, err := keep(raw)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %s of %s: %w", e.Name(), name, err)
		}
		files = append(files, &loader.BufferedFile{Name: "crds-of-the-module/" + e.Name(), Data: kept})
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("cannot load the test chart %s: %w", name, err)
	}
	return ch, nil
}

// keep has Helm leave an object where it is when its chart is uninstalled.
func keep(raw []byte) ([]byte, error) {
	var object map[string]any
	if err := yaml.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it has no metadata")
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations["helm.sh/resource-policy"] = "keep"
	return yaml.Marshal(object)
}
