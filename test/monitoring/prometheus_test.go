package monitoring

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// prometheus evaluates rules over series in memory. Prometheus' own code evaluates
// expressions and templates. This package decides itself when alerts are pending and when
// they fire, since Prometheus' package for that takes minutes to compile. TestPromtool runs
// the same testdata/rules.yaml with promtool.
type prometheus struct {
	engine *promql.Engine
	series map[string]*series
	// active are the alerts that are pending or firing, by rule and labels.
	active map[string]*alert
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

type alert struct {
	rule        string
	labels      labels.Labels
	annotations map[string]string
	since       time.Time
	firing      bool
}

func newPrometheus() *prometheus {
	return &prometheus{
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 1e6, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		}),
		series: map[string]*series{},
		active: map[string]*alert{},
	}
}

// query evaluates an expression at one moment.
func (p *prometheus) query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := p.engine.NewInstantQuery(ctx, p, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	if s, ok := r.Value.(promql.Scalar); ok {
		return promql.Vector{{T: s.T, F: s.V}}, nil
	}
	v, err := r.Vector()
	// The engine uses the vector's memory again.
	return slices.Clone(v), err
}

// evaluate evaluates the rules once, in their order.
func (p *prometheus) evaluate(ctx context.Context, t *testing.T, groups []rulefmt.RuleGroup, at time.Time) {
	t.Helper()
	for _, g := range groups {
		for _, r := range g.Rules {
			v, err := p.query(ctx, r.Expr, at)
			if err != nil {
				t.Fatalf("%s%s at %s: %v", r.Record, r.Alert, at.UTC().Format(time.TimeOnly), err)
			}
			if r.Record != "" {
				p.record(r.Record, v, at)
				continue
			}
			p.alert(ctx, t, r, v, at)
		}
	}
}

// record writes the outcome of a recording rule. A series that isn't in it ends.
func (p *prometheus) record(name string, v promql.Vector, at time.Time) {
	seen := map[string]bool{}
	for _, s := range v {
		l := labels.NewBuilder(s.Metric).Set(model.MetricNameLabel, name).Labels()
		seen[l.String()] = true
		p.append(l, at, s.F)
	}
	for key, s := range p.series {
		if s.labels.Get(model.MetricNameLabel) == name && !seen[key] {
			p.append(s.labels, at, math.Float64frombits(value.StaleNaN))
		}
	}
}

// alert takes what an alerting rule's expression gives now: alerts are pending for
// the rule's time, and then fire until the expression gives them no more.
func (p *prometheus) alert(ctx context.Context, t *testing.T, r rulefmt.Rule, v promql.Vector, at time.Time) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range v {
		expand := func(text string) string {
			data := template.AlertTemplateData(s.Metric.Map(), nil, "", s)
			text = "{{$labels := .Labels}}{{$value := .Value}}" + text
			query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
				return p.query(ctx, expr, at)
			}
			out, err := template.NewTemplateExpander(ctx, text, r.Alert, data, model.TimeFromUnixNano(at.UnixNano()), query, &url.URL{}, []string{"missingkey=error"}).Expand()
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
			return out
		}
		b := labels.NewBuilder(s.Metric).Del(model.MetricNameLabel).Set(labels.AlertName, r.Alert)
		for name, text := range r.Labels {
			b.Set(name, expand(text))
		}
		l := b.Labels()
		key := l.String()
		if seen[key] {
			t.Fatalf("%s: two alerts with the labels %s", r.Alert, key)
		}
		seen[key] = true
		a := p.active[key]
		if a == nil {
			a = &alert{rule: r.Alert, labels: l, since: at}
			p.active[key] = a
		}
		a.annotations = map[string]string{}
		for name, text := range r.Annotations {
			a.annotations[name] = expand(text)
		}
		a.firing = at.Sub(a.since) >= time.Duration(r.For)
	}
	maps.DeleteFunc(p.active, func(key string, a *alert) bool { return a.rule == r.Alert && !seen[key] })
	p.record("ALERTS", p.alerts(), at)
}

// alerts are the values of ALERTS.
func (p *prometheus) alerts() promql.Vector {
	var out promql.Vector
	for _, a := range p.active {
		state := "pending"
		if a.firing {
			state = "firing"
		}
		out = append(out, promql.Sample{Metric: labels.NewBuilder(a.labels).Set("alertstate", state).Labels(), F: 1})
	}
	return out
}

// firing returns the alerts of a rule that fire.
func (p *prometheus) firing(rule string) []*alert {
	var out []*alert
	for _, key := range slices.Sorted(maps.Keys(p.active)) {
		if a := p.active[key]; a.rule == rule && a.firing {
			out = append(out, a)
		}
	}
	return out
}

// load takes a series in promtool's notation, with a sample each interval from the
// beginning of time on.
func (p *prometheus) load(name, values string, interval time.Duration) error {
	l, samples, err := parser.ParseSeriesDesc(name + " " + values)
	if err != nil {
		return err
	}
	for i, s := range samples {
		if !s.Omitted {
			p.append(l, time.Unix(0, 0).Add(time.Duration(i)*interval), s.Value)
		}
	}
	return nil
}

func (p *prometheus) append(l labels.Labels, at time.Time, v float64) {
	s := p.series[l.String()]
	if s == nil {
		s = &series{labels: l}
		p.series[l.String()] = s
	}
	// ALERTS is written after each rule.
	if n := len(s.samples); n > 0 && s.samples[n-1].T() == at.UnixMilli() {
		s.samples = s.samples[:n-1]
	}
	s.samples = append(s.samples, sample{at: at.UnixMilli(), value: v})
}

// Querier makes prometheus a storage.Queryable.
func (p *prometheus) Querier(from, to int64) (storage.Querier, error) {
	return querier{p: p, from: from, to: to}, nil
}

type querier struct {
	storage.LabelQuerier

	p        *prometheus
	from, to int64
}

// Select returns the series that match, with their samples in the querier's time.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	out := &seriesSet{}
	for _, key := range slices.Sorted(maps.Keys(q.p.series)) {
		s := q.p.series[key]
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			continue
		}
		from := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() >= q.from })
		to := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].T() > q.to })
		if in := s.samples[from:to]; len(in) > 0 {
			out.series = append(out.series, storage.NewListSeries(s.labels, in))
		}
	}
	return out
}

func (q querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	next   int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.next-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a chunks.Sample that is a number.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// metricsOf returns the names of the metrics that a query reads.
func metricsOf(query string) ([]string, error) {
	expr, err := parser.ParseExpr(query)
	if err != nil {
		return nil, err
	}
	var out []string
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			name := v.Name
			for _, m := range v.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
					name = m.Value
				}
			}
			if name == "" {
				err = fmt.Errorf("a selector without the name of a metric: %s", v)
			}
			out = append(out, strings.TrimSpace(name))
		}
		return nil
	})
	return out, err
}
