// Package monitoring tries what users copy from examples/monitoring.
package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	GroupEvalOrder     []string       `json:"group_eval_order"`
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
	tryRules(t, readRules(t, examples), readRuleTests(t), namesCustomer)
}

// tryRules runs promtool's tests of rules, and looks at each alert that fires.
func tryRules(t *testing.T, groups []rulefmt.RuleGroup, file ruleTests, look func(*testing.T, *alert)) {
	t.Helper()
	var order []string
	for _, g := range groups {
		order = append(order, g.Name)
	}
	if !slices.Equal(order, file.GroupEvalOrder) {
		t.Errorf("promtool evaluates the groups %q, this test %q", file.GroupEvalOrder, order)
	}
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
			// A test of days, whose samples are farther apart, takes less time than with promtool, which evaluates all rules each minute.
			step := max(time.Duration(file.EvaluationInterval), time.Duration(tc.Interval))
			for _, e := range tc.ExprTests {
				for ; at.Sub(time.Unix(0, 0)) <= time.Duration(e.EvalTime); at = at.Add(step) {
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
					look(t, a)
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

func readRuleTests(t *testing.T) ruleTests {
	t.Helper()
	var file ruleTests
	readStrict(t, filepath.Join("testdata", "rules.yaml"), &file)
	return file
}

// readFleet reads the series that the dashboards are tried with.
func readFleet(t *testing.T) ruleTest {
	t.Helper()
	var fleet ruleTest
	readStrict(t, filepath.Join("testdata", "fleet.yaml"), &fleet)
	return fleet
}

// nameless are the alerts that are about no customer.
var nameless = []string{"VirtualArgoCDNotSeen", "VirtualArgoCDChannelLarge", "VirtualArgoCDChannelStalled"}

// namesCustomer holds an alert to naming the customer that it is about, in its summary, and to telling what to do.
func namesCustomer(t *testing.T, a *alert) {
	t.Helper()
	tells(t, a)
	// Those that are about a whole fleet name some, by a query. Claims are called shop, main or c, and a channel stable.
	named := []string{"acme/shop", "globex/main", "t0/c", "channel stable"}
	if l := a.labels.Get("claim"); l != "" {
		named = []string{a.labels.Get("claim_namespace") + "/" + l}
	}
	summary := a.annotations["summary"]
	if !slices.Contains(nameless, a.rule) && !slices.ContainsFunc(named, func(n string) bool { return strings.Contains(summary, n) }) {
		t.Errorf("%s: %q names none of %v", a.rule, summary, named)
	}
	if strings.Contains(summary, "globex") && a.labels.Get("channel") == "stable" {
		t.Errorf("%s: %q names a customer of another channel or revision", a.rule, summary)
	}
}

// tells holds an alert to saying what is wrong and what to do.
func tells(t *testing.T, a *alert) {
	t.Helper()
	for _, name := range []string{"summary", "description", "runbook"} {
		if text := a.annotations[name]; text == "" || strings.Contains(text, "<no value>") {
			t.Errorf("%s: annotation %s is %q", a.rule, name, text)
		}
	}
	if address := a.annotations["runbook_url"]; strings.Contains(address, "<no value>") || strings.HasSuffix(address, "#") {
		t.Errorf("%s: annotation runbook_url is %q", a.rule, address)
	}
}

// TestRuleMetrics holds the rules to metrics that something exports.
func TestRuleMetrics(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	for _, expr := range ruleQueries(t) {
		names, err := metricsOf(expr)
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if known[name] == "" {
				t.Errorf("%s: nothing is known to export %s", expr, name)
			}
		}
	}
}

// TestWordsOfTheAPI holds the phases, conditions and reasons in rules, dashboards and the series that they are tried with to
// those that claims, composite resources and channels have.
func TestWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	// Crossplane's own.
	words := map[string]bool{}
	for _, word := range []string{"Ready", "Available", "Creating", "Synced", "ReconcileSuccess", "ReconcileError", "Responsive", "WatchCircuitOpen", "WatchCircuitClosed", "FatalError"} {
		words[word] = true
	}
	files, err := filepath.Glob("../../apis/v1alpha1/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\s(?:Phase|Condition|Reason)\w+(?: Phase)? += "(\w+)"`).FindAllSubmatch(source, -1) {
			words[string(m[1])] = true
		}
	}
	series := slices.Concat(ruleQueries(t), dashboardQueries(t))
	for _, tc := range append(readRuleTests(t).Tests, readFleet(t)) {
		for _, s := range tc.InputSeries {
			series = append(series, s.Series)
		}
	}
	for _, s := range series {
		expr, err := parser.ParseExpr(s)
		if err != nil {
			t.Fatalf("%v: %s", err, s)
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			v, ok := n.(*parser.VectorSelector)
			if !ok || !strings.HasPrefix(v.Name, "virtualargocd_") {
				return nil
			}
			for _, m := range v.LabelMatchers {
				if !slices.Contains([]string{"phase", "type", "reason"}, m.Name) {
					continue
				}
				for word := range strings.SplitSeq(m.Value, "|") {
					if !words[word] {
						t.Errorf("%s: the API has no %s %s", v, m.Name, word)
					}
				}
			}
			return nil
		})
	}
}

// ruleQueries returns the queries of all rules, those in annotations, too.
func ruleQueries(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, g := range readRules(t, examples) {
		for _, r := range g.Rules {
			out = append(out, r.Expr)
			for _, text := range r.Annotations {
				out = append(out, templateQueries(text)...)
			}
		}
	}
	return out
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

// readRules reads rules.yaml in a folder as the operator does, and what is in it as Prometheus does.
func readRules(t *testing.T, folder string) []rulefmt.RuleGroup {
	t.Helper()
	var r monitoringv1.PrometheusRule
	readStrict(t, filepath.Join(folder, "rules.yaml"), &r)
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
