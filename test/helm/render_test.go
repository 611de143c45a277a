package helm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// objects are rendered objects by "Kind/name".
type objects map[string]map[string]any

// argoCD returns the test chart with the manifests of the toolchain's Argo CD.
func argoCD(t *testing.T) *chart.Chart {
	t.Helper()
	ch, err := loadArgoCD()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

var loadArgoCD = sync.OnceValues(func() (*chart.Chart, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return nil, err
	}
	dir, err := cache.ModuleDir(context.Background(), "argocd")
	if err != nil {
		return nil, err
	}
	return charts.ArgoCD(os.DirFS(dir))
})

// render renders a chart in namespace argocd, with values in YAML.
func render(ch *chart.Chart, release, values string) (objects, error) {
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		return nil, err
	}
	rendered, err := charts.Render(ch, release, "argocd", v)
	all := objects{}
	for _, o := range rendered {
		all[o.GetKind()+"/"+o.GetName()] = o.Object
	}
	return all, err
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

// subjects are the test chart and, with ARGOCD_CHART, a real one.
func subjects(t *testing.T) map[string]*chart.Chart {
	t.Helper()
	all := map[string]*chart.Chart{"test": argoCD(t)}
	if path := os.Getenv("ARGOCD_CHART"); path != "" {
		ch, err := charts.RealArgoCD(path)
		if err != nil {
			t.Fatal(err)
		}
		all["real"] = ch
	}
	return all
}

// plain makes numbers of different Go types comparable.
func plain(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
