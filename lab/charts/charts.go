// Package charts has the Helm charts that the lab serves: those in Go modules of programs that it builds, and one that stands for argo-cd.
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

//go:embed all:argo-cd
var files embed.FS

// installManifest is Argo CD's own installation, in its Go module.
const installManifest = "manifests/install.yaml"

// ArgoCD makes the test chart: the files of argo-cd/ here, the manifests of
// Argo CD's Go module, one file each, and that module's configuration as the
// defaults of the values that stand for it.
func ArgoCD(module fs.FS) (*chart.Chart, error) {
	install, err := fs.ReadFile(module, installManifest)
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests of Argo CD: %w", err)
	}
	manifests, err := split(string(install))
	if err != nil {
		return nil, err
	}
	var buffered []*loader.BufferedFile
	err = fs.WalkDir(files, "argo-cd", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(p, "argo-cd/")
		if name == "values.yaml" {
			if data, err = withDefaults(data, manifests); err != nil {
				return err
			}
			// Templates see the merged values only; this is to tell a value
			// they know from one they would ignore.
			buffered = append(buffered, &loader.BufferedFile{Name: "defaults.yaml", Data: data})
		}
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the test chart argo-cd: %w", err)
	}
	for name, manifest := range manifests {
		buffered = append(buffered, &loader.BufferedFile{Name: path.Join("manifests", name), Data: []byte(manifest)})
	}
	ch, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("cannot load the test chart argo-cd: %w", err)
	}
	return ch, nil
}

// split cuts a stream of manifests into files <kind>.<name>.yaml.
func split(stream string) (map[string]string, error) {
	manifests := map[string]string{}
	for _, doc := range strings.Split(stream, "\n---\n") {
		var object struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, fmt.Errorf("cannot parse %s: %w", installManifest, err)
		}
		if object.Kind != "" {
			manifests[object.Kind+"."+object.Metadata.Name+".yaml"] = doc
		}
	}
	return manifests, nil
}

// withDefaults adds to values.yaml what Argo CD's module configures: the chart
// of the project too has these as defaults of its values.
func withDefaults(values []byte, manifests map[string]string) ([]byte, error) {
	var v map[string]any
	if err := yaml.Unmarshal(values, &v); err != nil {
		return nil, fmt.Errorf("cannot parse values.yaml: %w", err)
	}
	for _, d := range []struct {
		configMap string
		value     func(key string) (parent []string, name string)
	}{
		{"argocd-cm", func(key string) ([]string, string) { return []string{"configs", "cm"}, key }},
		{"argocd-ssh-known-hosts-cm", func(string) ([]string, string) { return []string{"configs", "ssh"}, "knownHosts" }},
	} {
		var cm struct {
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(manifests["ConfigMap."+d.configMap+".yaml"]), &cm); err != nil {
			return nil, fmt.Errorf("cannot parse ConfigMap %s: %w", d.configMap, err)
		}
		for key, data := range cm.Data {
			parents, name := d.value(key)
			m := v
			for _, p := range parents {
				next, ok := m[p].(map[string]any)
				if !ok {
					return nil, fmt.Errorf("values.yaml has no %s", strings.Join(parents, "."))
				}
				m = next
			}
			m[name] = data
		}
	}
	return yaml.Marshal(v)
}
