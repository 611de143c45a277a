package monitoring

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard has of a Grafana dashboard what is held to rules.
type dashboard struct {
	source        string
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	ID            *int    `json:"id"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Query json.RawMessage `json:"query"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Targets []struct {
		RefID      string     `json:"refId"`
		Expr       string     `json:"expr"`
		Format     string     `json:"format"`
		Datasource datasource `json:"datasource"`
	} `json:"targets"`
	Panels []panel `json:"panels"`
}

// chosen puts values in place of variables: those of testdata/fleet.yaml's broken tenant.
var chosen = strings.NewReplacer("$__rate_interval", "5m", "$__range_s", "3600", "$__range", "1h",
	"$claim_namespace", "acme", "$claim", "shop", "$namespace", "vargo-shop-x1", "$plan", ".*", "$channel", ".*", "$version", ".*", "$cell", ".*")

// TestDashboards holds the dashboards to what Grafana's linter, which TestDashboardLinter runs, doesn't ask, or not of panels of every
// type.
func TestDashboards(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	dashboards := readDashboards(t)
	for _, d := range dashboards {
		t.Run(d.UID, func(t *testing.T) {
			t.Parallel()
			// With an id, Grafana would take it for another dashboard that has this id.
			if d.Title == "" || d.ID != nil || d.SchemaVersion < 39 {
				t.Errorf("title %q, id %v, schema %d", d.Title, d.ID, d.SchemaVersion)
			}
			variables := d.variables(t, known)
			ids := map[int]bool{}
			for i, p := range d.Panels {
				if ids[p.ID] {
					t.Errorf("%s: another panel has the id %d", p.Title, p.ID)
				}
				ids[p.ID] = true
				if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 || p.GridPos.H == 0 {
					t.Errorf("%s: outside of the page: %+v", p.Title, p.GridPos)
				}
				for _, o := range d.Panels[:i] {
					a, b := p.GridPos, o.GridPos
					if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
						t.Errorf("%s is over %s", p.Title, o.Title)
					}
				}
				p.lint(t, variables, known)
			}
		})
	}
	// The dashboards link to each other by these.
	for _, d := range dashboards {
		for _, link := range regexp.MustCompile(`"/d/([a-z-]+)`).FindAllStringSubmatch(d.source, -1) {
			if !slices.ContainsFunc(dashboards, func(o *dashboard) bool { return o.UID == link[1] }) {
				t.Errorf("%s links to %s, which isn't there", d.UID, link[1])
			}
		}
	}
}

// readDashboards reads the dashboards of examples/monitoring.
func readDashboards(t *testing.T) []*dashboard {
	t.Helper()
	var out []*dashboard
	for _, name := range []string{"fleet", "tenant", "cells"} {
		raw, err := os.ReadFile(filepath.Join(examples, "dashboards", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		d := &dashboard{source: string(raw)}
		if err := json.Unmarshal(raw, d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, d)
	}
	return out
}

// dashboardQueries returns the queries of all dashboards to Prometheus, those of variables, too, with values in place of variables.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, d := range readDashboards(t) {
		for _, v := range d.Templating.List {
			if query := v.selector(); query != "" {
				out = append(out, chosen.Replace(query))
			}
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if p.Type != "logs" {
					out = append(out, chosen.Replace(target.Expr))
				}
			}
		}
	}
	return out
}

// TestPanelsShowSomething evaluates each query of the dashboards over two tenants with every trouble that panels are for.
func TestPanelsShowSomething(t *testing.T) {
	t.Parallel()
	p, now := fleetInPrometheus(t)
	for _, d := range readDashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				if panel.Type == "logs" {
					continue
				}
				query := chosen.Replace(target.Expr)
				got, err := p.query(t.Context(), query, now)
				if err != nil || len(got) == 0 {
					t.Errorf("%s: %s shows nothing: %v\n%s", d.UID, panel.Title, err, query)
				}
			}
		}
	}
}

// TestFleetIsSplit looks for tenants of each phase by plan, versions and channel.
func TestFleetIsSplit(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"By plan":                  `[{phase="Degraded", plan="small"} 1` + "\n     " + `{phase="Ready", plan="large"} 1]`,
		"By version of Argo CD":    `[{argocd_version="v3.2.6", phase="Ready"} 1` + "\n     " + `{argocd_version="v3.4.4", phase="Degraded"} 1]`,
		"By version of Kubernetes": `[{kubernetes_version="v1.35.4", phase="Degraded"} 1` + "\n     " + `{kubernetes_version="v1.35.4", phase="Ready"} 1]`,
		"By channel":               `[{channel="none", phase="Ready"} 1` + "\n     " + `{channel="stable", phase="Degraded"} 1]`,
	}
	p, now := fleetInPrometheus(t)
	for _, panel := range readDashboards(t)[0].Panels {
		if want[panel.Title] == "" {
			continue
		}
		got, err := p.query(t.Context(), chosen.Replace(panel.Targets[0].Expr)+" > 0", now)
		if err != nil || lines(got) != want[panel.Title] {
			t.Errorf("%s: %v\ngot  %s\nwant %s", panel.Title, err, lines(got), want[panel.Title])
		}
		delete(want, panel.Title)
	}
	if len(want) > 0 {
		t.Errorf("no panels %q", slices.Sorted(maps.Keys(want)))
	}
}

// TestSyncsAreCounted looks for the syncs of the last day, of which each controller's first begins a series.
func TestSyncsAreCounted(t *testing.T) {
	t.Parallel()
	// Two days with a sample each half hour.
	cases := map[string]struct {
		series []string
		want   float64
	}{
		"FirstOfAnApplication":  {[]string{"_x90 1x6"}, 1},
		"DaysAgo":               {[]string{"7x96"}, 0},
		"OneMore":               {[]string{"7x90 8x5"}, 1},
		"ContainerRestarted":    {[]string{"7x60 9x20 _x2 1x5 3x6"}, 5},
		"PodReplaced":           {[]string{"7x60 8x20 stale", "_x82 1x14"}, 2},
		"NewAndPodReplaced":     {[]string{"_x60 1x20 stale", "_x82 1x5 2x8"}, 3},
		"NotScrapedForAQuarter": {[]string{"7x48 _x1 7x40 8x5"}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrometheus()
			for i, values := range tc.series {
				series := fmt.Sprintf(`argocd_app_sync_total{job="virtual-argocd-controllers", instance="%d", namespace="vargo-shop-x1", name="shop", phase="Succeeded", dry_run="false"}`, i)
				if err := p.load(series, values, 30*time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			for title, query := range queriesOf(t, "Deployments, one day", "Deployments a day", "Syncs a day") {
				got, err := p.query(t.Context(), query, time.Unix(0, 0).Add(48*time.Hour))
				if err != nil || len(got) != 1 || got[0].F != tc.want {
					t.Errorf("%s: want %v, got %v, %v", title, tc.want, got, err)
				}
			}
		})
	}
}

// TestForgedValues has one of the two tenants serve values that would ruin a sum over all tenants.
func TestForgedValues(t *testing.T) {
	t.Parallel()
	const deployments, perDay, connected, clusters = "Deployments, one day", "Deployments a day", "Clusters connected", "Clusters"
	cases := map[string]struct {
		value float64
		want  map[string]string
	}{
		"NotANumber": {math.NaN(), map[string]string{deployments: "[{} 1]", perDay: `[{phase="Succeeded"} 1]`, connected: "[{} 1]", clusters: "[{} 1]"}},
		"Large":      {1e12, map[string]string{deployments: "[{} 10001]", perDay: `[{phase="Succeeded"} 10001]`, connected: "[{} 1]", clusters: "[{} 1]"}},
		"Infinite":   {math.Inf(1), map[string]string{deployments: "[{} 1]", perDay: `[{phase="Succeeded"} 1]`, connected: "[{} 1]", clusters: "[{} 1]"}},
		"Negative":   {-1e12, map[string]string{deployments: "[{} 1]", perDay: `[{phase="Succeeded"} 1]`, connected: "[{} 1]", clusters: "[{} 1]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, now := fleetInPrometheus(t)
			for _, series := range []string{
				`argocd_cluster_connection_status{job="virtual-argocd-controllers", namespace="vargo-main-x2", server="https://a"}`,
				`argocd_app_sync_total{job="virtual-argocd-controllers", namespace="vargo-main-x2", name="a", phase="Succeeded", dry_run="false"}`,
				`argocd_app_sync_total{job="virtual-argocd-controllers", namespace="vargo-main-x2", name="a", phase="Pretended", dry_run="false"}`,
			} {
				l, err := parser.ParseMetric(series)
				if err != nil {
					t.Fatal(err)
				}
				p.append(l, now, tc.value)
			}
			for title, query := range queriesOf(t, slices.Collect(maps.Keys(tc.want))...) {
				got, err := p.query(t.Context(), query, now)
				if err != nil || lines(got) != tc.want[title] {
					t.Errorf("%s: want %s, got %s, %v", title, tc.want[title], lines(got), err)
				}
			}
		})
	}
}

// queriesOf returns the first query of each of these panels.
func queriesOf(t *testing.T, titles ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range readDashboards(t) {
		for _, p := range d.Panels {
			if slices.Contains(titles, p.Title) && p.Type != "row" && out[p.Title] == "" {
				out[p.Title] = chosen.Replace(p.Targets[0].Expr)
			}
		}
	}
	if len(out) != len(titles) {
		t.Fatalf("there are not all of the panels %q", titles)
	}
	return out
}

// fleetInPrometheus returns the series of testdata/fleet.yaml, with what rules make of them, and the moment of the last.
func fleetInPrometheus(t *testing.T) (*prometheus, time.Time) {
	t.Helper()
	fleet, p := readFleet(t), newPrometheus()
	for _, s := range fleet.InputSeries {
		if err := p.load(s.Series, s.Values, time.Duration(fleet.Interval)); err != nil {
			t.Fatalf("%s: %v", s.Series, err)
		}
	}
	now, groups := time.Unix(0, 0), readRules(t, examples)
	for range 59 {
		now = now.Add(time.Minute)
		p.evaluate(t.Context(), t, groups, now)
	}
	return p, now
}

// variables holds the queries of the dashboard's variables to metrics that there are, and returns the variables' names.
func (d *dashboard) variables(t *testing.T, known map[string]string) []string {
	t.Helper()
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		if query := v.selector(); query != "" {
			check(t, "$"+v.Name, query, names, known)
		} else if v.Type == "query" {
			t.Errorf("$%s: want label_values: %s", v.Name, v.Query)
		}
	}
	return names
}

// selector returns the series whose labels are the values of a variable, if it takes them from series.
func (v variable) selector() string {
	var q struct {
		Query string `json:"query"`
	}
	// Variables of other types have a text there.
	_ = json.Unmarshal(v.Query, &q)
	if m := regexp.MustCompile(`^label_values\((.+), [a-z_]+\)$`).FindStringSubmatch(q.Query); m != nil {
		return m[1]
	}
	return ""
}

// lint holds a panel to rules.
func (p *panel) lint(t *testing.T, variables []string, known map[string]string) {
	t.Helper()
	if p.Type == "row" {
		if p.Title == "" || len(p.Panels) > 0 {
			t.Errorf("row %d: want a title, and its panels beside it", p.ID)
		}
		return
	}
	if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
		t.Errorf("panel %d: want a title, a description and a query: %q, %q, %d", p.ID, p.Title, p.Description, len(p.Targets))
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if refs[target.RefID] || target.RefID == "" {
			t.Errorf("%s: query %q is there twice", p.Title, target.RefID)
		}
		refs[target.RefID] = true
		want := datasource{"prometheus", "${prometheus_datasource}"}
		if p.Type == "logs" {
			want = datasource{"loki", "${loki_datasource}"}
		}
		if p.Datasource != want || target.Datasource != want {
			t.Errorf("%s: want the datasource %v, got %v and %v", p.Title, want, p.Datasource, target.Datasource)
		}
		if slices.Contains([]string{"table", "barchart"}, p.Type) != (target.Format == "table") {
			t.Errorf("%s: a %s has the format %q", p.Title, p.Type, target.Format)
		}
		if p.Type == "logs" {
			if target.Expr != `{namespace="$namespace"}` {
				t.Errorf("%s: %s", p.Title, target.Expr)
			}
			continue
		}
		check(t, p.Title, target.Expr, variables, known)
	}
}

// check parses a query as Prometheus does, once Grafana has put values in place of variables, and looks at its metrics.
func check(t *testing.T, where, query string, variables []string, known map[string]string) {
	t.Helper()
	for _, v := range regexp.MustCompile(`\$([a-z][a-z_]*)`).FindAllStringSubmatch(query, -1) {
		if !slices.Contains(variables, v[1]) {
			t.Errorf("%s: no variable %s", where, v[0])
		}
	}
	query = chosen.Replace(query)
	names, err := metricsOf(query)
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, query)
	}
	for _, name := range names {
		if known[name] == "" {
			t.Errorf("%s: nothing is known to export %s", where, name)
		}
	}
	// Without one, any program that is scraped could add to what tenants' Argo CDs say.
	expr, err := parser.ParseExpr(query)
	if err != nil {
		return
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if ok && strings.HasPrefix(v.Name, "argocd_") && !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "job" }) {
			t.Errorf("%s: want the job in %s", where, v)
		}
		if ok && strings.HasPrefix(v.Name, "virtualargocd_channel_") && !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "channel" }) {
			t.Errorf("%s: want the channel in %s", where, v)
		}
		return nil
	})
}
