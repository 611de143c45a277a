package helm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	checks "github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
)

// TestKnownValues: what upstream's chart has, and what its own tests set, is known.
func TestKnownValues(t *testing.T) {
	path := os.Getenv("ARGOCD_CHART")
	if path == "" {
		t.Skip("ARGOCD_CHART names no chart")
	}
	ch, err := charts.RealArgoCD(path)
	if err != nil {
		t.Fatal(err)
	}
	version := known.Named("argo-cd").At(ch.Metadata.Version)
	if !version.Exact {
		t.Fatalf("version %s isn't recorded: run make chart-values", ch.Metadata.Version)
	}
	files, _ := filepath.Glob(filepath.Join(path, "ci", "*.yaml"))
	for _, file := range append(files, filepath.Join(path, "values.yaml")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v values.Values
		if err := yaml.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		for _, unknown := range version.Unknown(v) {
			t.Errorf("%s: %v: %s", filepath.Base(file), unknown.Path, unknown.Message)
		}
		if filepath.Base(file) != "values.yaml" {
			continue
		}
		for _, of := range version.SwitchedOff(v, v) {
			t.Errorf("a copy of the chart's values has %v, which %s", of.Path, of.Message)
		}
		for _, leaf := range values.Leaves(v) {
			if is, _ := values.Lookup(v, leaf...); !version.IsDefault(leaf, is) {
				t.Errorf("%v is not recorded as the default", leaf)
			}
		}
	}
}

// TestCopyOfTheChartsValues: a claim with all of the chart's own values.yaml is accepted, and gets what the function sets.
func TestCopyOfTheChartsValues(t *testing.T) {
	path := os.Getenv("ARGOCD_CHART")
	if path == "" {
		t.Skip("ARGOCD_CHART names no chart")
	}
	raw, err := os.ReadFile(filepath.Join(path, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charts.RealArgoCD(path)
	if err != nil {
		t.Fatal(err)
	}
	var copied values.Values
	if err := yaml.Unmarshal(raw, &copied); err != nil {
		t.Fatal(err)
	}
	signs := checks.Signs(string(raw))
	t.Logf("%d leaves, %d signs with the comments", len(values.Leaves(copied)), signs)
	plans := map[string]v1alpha1.PlanSpec{"NoPlan": {}, "HA": {ArgoCD: v1alpha1.PlanArgoCD{HA: true, Server: v1alpha1.PlanWorkload{Replicas: 2}}}}
	for name, data := range plans {
		t.Run(name, func(t *testing.T) {
			d, err := resolve.Tenant(tenant.Given{XRName: "a", Claim: tenant.Claim{Namespace: "team-a", Name: "a"}, Hostnames: held, Plan: plan.Plan{Name: "p", Spec: data},
				Spec: tenant.Ask{ArgoCDChartVersion: ch.Metadata.Version, ArgoCDValues: copied, Ingress: &v1alpha1.IngressSpec{Host: "a.example.org"}}})
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]any{"global.domain": "a.example.org", "server.ingress.enabled": true, "server.ingress.hostname": "a.example.org", "fullnameOverride": tenant.HelmArgoCD} {
				if got, _ := values.Lookup(d.ArgoCD.Values, strings.Split(path, ".")...); got != want {
					t.Errorf("%s: want %v, got %v", path, want, got)
				}
			}
			t.Log(strings.Join(d.NoEffect, "\n"))
		})
	}
}

// TestRecordedTemplates: what isn't recorded as a template is rendered as none, whatever is enabled.
func TestRecordedTemplates(t *testing.T) {
	path := os.Getenv("ARGOCD_CHART")
	if path == "" || testing.Short() {
		t.Skip("ARGOCD_CHART names no chart")
	}
	ch, err := charts.RealArgoCD(path)
	if err != nil {
		t.Fatal(err)
	}
	version := known.Named("argo-cd").At(ch.Metadata.Version)
	all := values.Values{}
	for _, at := range values.Leaves(ch.Values) {
		// What needs a value of its own once it is enabled stays off.
		if last := at[len(at)-1]; at[0] != "redis-ha" && (last == "enabled" || last == "create") {
			values.Insert(all, true, at...)
		}
	}
	if templates := checkTemplates(t, ch, version, all); templates < 10 {
		t.Error("the test tests too little")
	}
}

// checkTemplates looks for values that a chart renders as templates, and that aren't recorded as such. all has switches. It returns how many there
// are.
func checkTemplates(t *testing.T, ch *chart.Chart, version known.Version, all values.Values) int {
	t.Helper()
	const template = `{{ fail "rendered" }}`
	templates, texts := 0, 0
	try := func(at []string, v any) {
		set := runtime.DeepCopyJSON(all)
		values.Insert(set, v, at...)
		_, err := charts.Render(ch, "a", "argocd", set)
		rendered := err != nil && strings.Contains(err.Error(), ": rendered")
		if texts++; rendered {
			templates++
		}
		if rendered && !version.Templated(at) {
			t.Errorf("%v is rendered as a template, and not recorded as one", at)
		}
	}
	var walk func(at []string, v values.Values)
	walk = func(at []string, v values.Values) {
		for key, is := range v {
			at := append(slices.Clone(at), key)
			switch is := is.(type) {
			case values.Values:
				if len(is) == 0 {
					try(at, values.Values{"a": template})
				}
				walk(at, is)
			case []any:
				try(at, []any{template})
				try(at, []any{values.Values{"name": template, "a": template}})
			case nil, string:
				try(at, template)
			}
		}
	}
	walk(nil, ch.Values)
	t.Logf("%d of %d are templates", templates, texts)
	return templates
}
