// Package monitoring tries what users copy from examples/monitoring.
package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// examples is the folder that is tried.
const examples = "../../examples/monitoring"

// ruleTests is a file of promtool's tests, with what the ones here use of it.
type ruleTests struct {
	RuleFiles          []string       `json:"rule_files"`
	EvaluationInterval model.Duration `json:"evaluation_interval"`
	Tests              []ruleTest     `json:"tests"`
}

type ruleTest struct {
	Name        string         `json:"name"`
	Interval    model.Duration `json:"interval"`
	InputSeries []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	ExprTests []exprTest `json:"promql_expr_test"`
}

type exprTest struct {
	Expr       string         `json:"expr"`
	EvalTime   model.Duration `json:"eval_time"`
	ExpSamples []struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	} `json:"exp_samples"`
}

// TestRules runs the tests in testdata/rules.yaml. Each alert is seen to be quiet, to fire and to be quiet again, and while
// it fires its summary names customers.
func TestRules(t *testing.T) {
	t.Parallel()
	groups := readRules(t)
	var file ruleTests
	readStrict(t, filepath.Join("testdata", "rules.yaml"), &file)

	quiet, fired, resolved := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, tc := range file.Tests {
		t.Run(tc.Name, func(t *testing.T) {
			p := newPrometheus()
			for _, s := range tc.InputSeries {
				if err := p.load(s.Series, s.Values, time.Duration(tc.Interval)); err != nil {
					t.Fatalf("%s: %v", s.Series, err)
				}
			}
			at := time.Unix(0, 0)
			for _, e := range tc.ExprTests {
				for ; at.Sub(time.Unix(0, 0)) <= time.Duration(e.EvalTime); at = at.Add(time.Duration(file.EvaluationInterval)) {
					p.evaluate(t.Context(), t, groups, at)
				}
				got, err := p.query(t.Context(), e.Expr, time.Unix(0, 0).Add(time.Duration(e.EvalTime)))
				if err != nil {
					t.Fatal(err)
				}
				want := promql.Vector{}
				for _, s := range e.ExpSamples {
					l, err := parser.ParseMetric(s.Labels)
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, promql.Sample{Metric: l, F: s.Value})
				}
				if g, w := lines(got), lines(want); g != w {
					t.Errorf("at %s: %s:\ngot  %s\nwant %s", e.EvalTime, e.Expr, g, w)
				}
				name := alertname(t, e.Expr)
				if name == "" {
					continue
				}
				for _, a := range p.firing(name) {
					namesCustomer(t, a)
				}
				switch {
				case len(want) > 0:
					fired[name] = true
				case fired[name]:
					resolved[name] = true
				default:
					quiet[name] = true
				}
			}
		})
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" && (!quiet[r.Alert] || !fired[r.Alert] || !resolved[r.Alert]) {
				t.Errorf("%s: tested quiet %t, firing %t, resolved %t", r.Alert, quiet[r.Alert], fired[r.Alert], resolved[r.Alert])
			}
		}
	}
}

// nameless are the alerts that are about no customer.
var nameless = []string{"VirtualArgoCDNotSeen", "VirtualArgoCDChannelLarge"}

// namesCustomer holds an alert to naming the customer that it is about, in its summary, and to telling what to do.
func namesCustomer(t *testing.T, a *alert) {
	t.Helper()
	for _, name := range []string{"summary", "description", "runbook"} {
		if text := a.annotations[name]; text == "" || strings.Contains(text, "<no value>") {
			t.Errorf("%s: annotation %s is %q", a.rule, name, text)
		}
	}
	// Those that are about a whole fleet name some, by a query. Claims are called shop, main or c.
	named := []string{"acme/shop", "globex/main", "t0/c"}
	if l := a.labels.Get("claim"); l != "" {
		named = []string{a.labels.Get("claim_namespace") + "/" + l}
	}
	summary := a.annotations["summary"]
	if !slices.Contains(nameless, a.rule) && !slices.ContainsFunc(named, func(n string) bool { return strings.Contains(summary, n) }) {
		t.Errorf("%s: %q names none of %v", a.rule, summary, named)
	}
	if strings.Contains(summary, "globex") && a.labels.Get("channel") == "stable" {
		t.Errorf("%s: %q names a customer of another channel", a.rule, summary)
	}
}

// TestRuleMetrics holds the rules to metrics that something exports.
func TestRuleMetrics(t *testing.T) {
	t.Parallel()
	groups := readRules(t)
	known := knownMetrics(t)
	for _, g := range groups {
		for _, r := range g.Rules {
			exprs := []string{r.Expr}
			for _, text := range r.Annotations {
				exprs = append(exprs, templateQueries(text)...)
			}
			for _, expr := range exprs {
				names, err := metricsOf(expr)
				if err != nil {
					t.Errorf("%s%s: %v", r.Record, r.Alert, err)
				}
				for _, name := range names {
					if known[name] == "" {
						t.Errorf("%s%s: nothing is known to export %s", r.Record, r.Alert, name)
					}
				}
			}
		}
	}
}

// templateQueries returns the queries in an annotation's template.
func templateQueries(text string) []string {
	var out []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			out = append(out, strings.ReplaceAll(part, "%q", `""`))
		}
	}
	return out
}

// readRules reads rules.yaml as the operator does, and what is in it as Prometheus does.
func readRules(t *testing.T) []rulefmt.RuleGroup {
	t.Helper()
	var r monitoringv1.PrometheusRule
	readStrict(t, filepath.Join(examples, "rules.yaml"), &r)
	spec, err := yaml.Marshal(r.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.LegacyValidation)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups
}

// readStrict reads a file with one document. An unknown field is an error.
func readStrict(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, path, raw, into)
}

func decode(t *testing.T, path string, raw []byte, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d := json.NewDecoder(bytes.NewReader(asJSON))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// alertname returns the alert that a test's expression is about, if any.
func alertname(t *testing.T, expr string) string {
	t.Helper()
	e, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && v.Name == "ALERTS" {
			for _, m := range v.LabelMatchers {
				if m.Name == labels.AlertName {
					name = m.Value
				}
			}
		}
		return nil
	})
	return name
}

func lines(v promql.Vector) string {
	set := map[string]bool{}
	for _, s := range v {
		set[fmt.Sprintf("%s %g", s.Metric, s.F)] = true
	}
	return "[" + strings.Join(slices.Sorted(maps.Keys(set)), "\n     ") + "]"
}
