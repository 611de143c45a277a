package charts

import (
	"context"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

// objects are rendered objects by "Kind/name".
type objects map[string]map[string]any

// argoCD loads the test chart with the manifests of the toolchain's Argo CD.
func argoCD(t *testing.T) *chart.Chart {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := cache.ModuleDir(context.Background(), "argocd")
	if err != nil {
		t.Fatal(err)
	}
	ch, err := ArgoCD(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// render renders a chart as "helm install <release> --namespace argocd" would.
// It leaves out the CustomResourceDefinitions, a megabyte of YAML, unless the
// values have something to say about them.
func render(ch *chart.Chart, release, values string) (objects, error) {
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		return nil, err
	}
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
	rv, err := chartutil.ToRenderValues(ch, v, chartutil.ReleaseOptions{Name: release, Namespace: "argocd"}, &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: "v1.35.4", Major: "1", Minor: "35"},
		APIVersions: chartutil.DefaultVersionSet,
	})
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(ch, rv)
	if err != nil {
		return nil, err
	}
	all := objects{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, doc := range strings.Split("\n"+content, "\n---") {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(doc+"\n"), &o); err != nil {
				return nil, err
			}
			if o != nil {
				all[o["kind"].(string)+"/"+at(o, "metadata|name").(string)] = o
			}
		}
	}
	return all, nil
}

// at looks up a path: keys and list indexes, or names of list entries, with
// bars between. Secrets are read as text, however the chart writes them.
func at(o map[string]any, path string) any {
	var v any = o
	for key := range strings.SplitSeq(path, "|") {
		switch x := v.(type) {
		case map[string]any:
			if key == "text" {
				v = text(x)
				continue
			}
			v = x[key]
		case []any:
			v = entry(x, key)
		default:
			return nil
		}
	}
	return v
}

func entry(list []any, key string) any {
	if i, err := strconv.Atoi(key); err == nil {
		if i < 0 {
			i += len(list)
		}
		if i >= len(list) {
			return nil
		}
		return list[i]
	}
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["name"] == key {
			return m
		}
	}
	return nil
}

func text(secret map[string]any) map[string]any {
	out := map[string]any{}
	if data, ok := secret["data"].(map[string]any); ok {
		for k, v := range data {
			b, _ := base64.StdEncoding.DecodeString(v.(string))
			out[k] = string(b)
		}
	}
	if data, ok := secret["stringData"].(map[string]any); ok {
		for k, v := range data {
			out[k] = v
		}
	}
	return out
}
