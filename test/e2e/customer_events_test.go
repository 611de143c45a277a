//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	corehost "github.com/virtual-argocd/virtual-argocd/fn/core/host"
)

// What Crossplane lets a composite resource have by default before it stops following it: events at once, and for each
// second. Changes count for two events.
const (
	eventsAtOnce    = 100
	eventsPerSecond = 1
	// Now and then Crossplane writes a composite resource's conditions back and forth some times; that is no change of ours.
	eventsOfItsOwn = 60
	// What a URL, sign-on and a first Application add. Each step of that Application is one of the Object that shows it.
	// It takes a tenant to the end of what Crossplane allows, and may take it past that once it is Ready.
	eventsOfParts = 60
)

// crossplaneEvents of all composite resources that Crossplane has had until a time.
type crossplaneEvents struct {
	at      time.Time
	allowed float64
	dropped float64
}

// fewEvents counts for the first claim since Crossplane started, too: that one hears once of each admission policy, and of each
// binding, that the function asks for.
func (c *customer) fewEvents(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.events.holdToBudget(ctx, t, float64(2*len(corehost.RequiredPolicies)))
	return ctx
}

// holdToBudget holds what one tenant costs on its way, to Ready or to all of its credentials, from an earlier count to
// now, below what Crossplane lets it have by default, whatever this Crossplane is set to: past that, each further step
// would wait for half a minute. A tenant of which much is asked may have more.
func (c crossplaneEvents) holdToBudget(ctx context.Context, t *testing.T, more float64) {
	t.Helper()
	now := countCrossplaneEvents(ctx, t)
	events, took := now.allowed-c.allowed, now.at.Sub(c.at)
	budget := eventsAtOnce + eventsPerSecond*took.Seconds()
	t.Logf("%.0f events in %s, of the %.0f that Crossplane lets through by default", events, took.Round(time.Second), budget)
	if os.Getenv("CROSSPLANE") == "oldest" {
		t.Log("NOT HELD TO IT HERE: THE OLDEST CROSSPLANE COUNTS MORE EVENTS")
	} else if events > budget+eventsOfItsOwn+more {
		t.Errorf("a tenant costs %.0f events, Crossplane lets %.0f through by default", events, budget)
	}
	if dropped := now.dropped - c.dropped; dropped > 0 {
		t.Errorf("Crossplane has dropped %.0f events", dropped)
	}
}

// countCrossplaneEvents reads Crossplane's metrics.
func countCrossplaneEvents(ctx context.Context, t *testing.T) crossplaneEvents {
	t.Helper()
	total := crossplaneEvents{at: time.Now()}
	for _, m := range crossplaneMetrics(ctx, t, "circuit_breaker_events_total") {
		for _, label := range m.GetLabel() {
			switch {
			case label.GetName() == "result" && label.GetValue() == "Allowed":
				total.allowed += m.GetCounter().GetValue()
			case label.GetName() == "result" && label.GetValue() == "Dropped":
				total.dropped += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

// crossplaneMetrics reads one of Crossplane's metrics, of all its pods.
func crossplaneMetrics(ctx context.Context, t *testing.T, name string) []*dto.Metric {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "app=crossplane"})
	if err != nil {
		t.Fatal(err)
	}
	var out []*dto.Metric
	for _, pod := range pods.Items {
		data, err := host.Typed.CoreV1().RESTClient().Get().Namespace(crossplane).Resource("pods").Name(pod.Name + ":8080").
			SubResource("proxy").Suffix("metrics").DoRaw(ctx)
		if err != nil {
			t.Fatalf("cannot read the metrics of pod %s: %v", pod.Name, err)
		}
		out = append(out, metricOf(t, data, name)...)
	}
	return out
}

// metricOf reads one metric of a text of metrics.
func metricOf(t *testing.T, data []byte, name string) []*dto.Metric {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("cannot read metrics: %v", err)
	}
	return families[name].GetMetric()
}
