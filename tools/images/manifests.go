package images

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Platform is what installs the platform.
type Platform struct {
	// Paths are files and folders of manifests, and folders or archives of Helm charts.
	Paths []string
	// Crossplane is the version of Crossplane's chart, "" for none, and CrossplaneValues the file with its values.
	Crossplane, CrossplaneValues string
}

// crossplaneCharts is the repository of Crossplane's chart.
const crossplaneCharts = "https://charts.crossplane.io/stable"

// platform adds what installs the platform.
func (l *Lister) platform(ctx context.Context, p Platform, into collection) error {
	for _, path := range p.Paths {
		if isChart(path) {
			ch, err := loader.Load(path)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			done, err := render(ch, release{name: ch.Name(), namespace: "crossplane-system", kubernetes: tenant.DefaultKubernetesVersion})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for _, o := range done.objects {
				if err := l.add(o, ch.Name()+": "+identity(o), into); err != nil {
					return err
				}
			}
			continue
		}
		objects, err := ReadObjects(path)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := l.add(o, identity(o), into); err != nil {
				return err
			}
		}
	}
	if p.Crossplane == "" {
		return nil
	}
	r := release{chart: Chart{Repository: crossplaneCharts, Name: "crossplane", Version: p.Crossplane}, name: "crossplane", namespace: "crossplane-system", kubernetes: tenant.DefaultKubernetesVersion}
	if p.CrossplaneValues != "" {
		raw, err := os.ReadFile(p.CrossplaneValues)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(raw, &r.values); err != nil {
			return fmt.Errorf("%s: %w", p.CrossplaneValues, err)
		}
	}
	return l.release(ctx, r, into)
}

// isChart reports whether a path is that of a Helm chart.
func isChart(path string) bool {
	_, err := os.Stat(filepath.Join(path, "Chart.yaml"))
	return err == nil || strings.HasSuffix(path, ".tgz")
}

// ReadObjects reads the objects in a file, or in all files of a folder whose names end with .yaml. YAML that is no object, such as Helm values, is left
// out.
func ReadObjects(path string) ([]map[string]any, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			return nil, err
		}
	}
	var out []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := documents(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, slices.DeleteFunc(objects, func(o map[string]any) bool { return textAt(o, "kind") == "" })...)
	}
	return out, nil
}

// ReadInput reads the function's input from a file: an Input, or a Composition whose pipeline has one.
func ReadInput(file string) (map[string]any, error) {
	objects, err := ReadObjects(file)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if isInput(o) {
			return o, nil
		}
		for _, step := range listOf(mapAt(o, "spec")["pipeline"]) {
			if in := mapAt(step, "input"); isInput(in) {
				return in, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no input of the function: want an object of kind %s and version %s, or a Composition with one", file, inputv1alpha1.Kind, inputv1alpha1.APIVersion)
}

func isInput(o map[string]any) bool {
	return textAt(o, "kind") == inputv1alpha1.Kind && textAt(o, "apiVersion") == inputv1alpha1.APIVersion
}

// secretText returns the text at a key of a Secret; "" for none.
func secretText(secret map[string]any, key string) (string, error) {
	if text := textAt(secret, "stringData", key); text != "" {
		return text, nil
	}
	raw, err := base64.StdEncoding.DecodeString(textAt(secret, "data", key))
	if err != nil {
		return "", fmt.Errorf("key %s of Secret %s: %w", key, textAt(secret, "metadata", "name"), err)
	}
	return string(raw), nil
}
