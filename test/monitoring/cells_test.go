package monitoring

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// cellsExamples is what a Prometheus above all cells reads.
const cellsExamples = "../../examples/cells/monitoring"

// TestCellsRules runs the tests in testdata/cells.yaml, in which two cells are seen: each alert is seen to be quiet, to fire and to be quiet again.
func TestCellsRules(t *testing.T) {
	t.Parallel()
	var file ruleTests
	readStrict(t, filepath.Join("testdata", "cells.yaml"), &file)
	tryRules(t, readRules(t, cellsExamples), file, func(t *testing.T, a *alert) { tells(t, a) })
}

// TestCellsMetrics: the rules above all cells read what the cells record, with the name of the cell, or what the Argo CD above them says.
func TestCellsMetrics(t *testing.T) {
	t.Parallel()
	recorded := map[string]bool{"up": true, "argocd_app_info": true}
	for _, g := range readRules(t, examples) {
		for _, r := range g.Rules {
			recorded[r.Record] = true
		}
	}
	for _, g := range readRules(t, cellsExamples) {
		for _, r := range g.Rules {
			for _, query := range append(templateQueries(r.Annotations["summary"]), r.Expr) {
				names, err := metricsOf(query)
				if err != nil {
					t.Error(err)
				}
				for _, name := range names {
					if !recorded[name] {
						t.Errorf("%s: no cell records %s", r.Alert, name)
					}
				}
			}
		}
	}
}

// TestCellsAreFederated: the job takes all that the overview's rules record, and only that.
func TestCellsAreFederated(t *testing.T) {
	t.Parallel()
	var file struct {
		ScrapeConfigs []struct {
			JobName     string              `json:"job_name"`
			Params      map[string][]string `json:"params"`
			HonorLabels bool                `json:"honor_labels"`
			Targets     []struct {
				Labels map[string]string `json:"labels"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	var raw map[string]any
	readStrict(t, filepath.Join(cellsExamples, "scrape-configs.yaml"), &raw)
	text, err := yaml.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	job := file.ScrapeConfigs[0]
	if job.JobName != "virtual-argocd-cells" || job.HonorLabels || len(job.Params["match[]"]) != 1 {
		t.Fatalf("the first job is %+v", job)
	}
	for _, target := range job.Targets {
		if target.Labels["cell"] == "" {
			t.Errorf("a target has the labels %v", target.Labels)
		}
	}
	matchers, err := parser.ParseMetricSelector(job.Params["match[]"][0])
	if err != nil {
		t.Fatal(err)
	}
	taken := func(name string) bool {
		return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(name) })
	}
	read := []string{}
	for _, d := range readDashboards(t) {
		if d.UID != "virtual-argocd-cells" {
			continue
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				names, err := metricsOf(chosen.Replace(target.Expr))
				if err != nil {
					t.Fatal(err)
				}
				read = append(read, names...)
			}
		}
	}
	if len(read) == 0 {
		t.Fatal("the dashboard of all cells reads nothing")
	}
	for _, name := range read {
		if !taken(name) {
			t.Errorf("the dashboard of all cells reads %s, which isn't taken from them", name)
		}
	}
	for _, name := range []string{"virtualargocd_claim_info", "virtualargocd:namespace:owner", "virtualargocd:cluster:connected", "argocd_app_info"} {
		if taken(name) {
			t.Errorf("%s is taken from each cell", name)
		}
	}
}
