package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/virtual-argocd/virtual-argocd/tools/tenants"
)

// aboveCells is a Prometheus that has taken from two cells what they record: both have the tenants of testdata/fleet.yaml.
func aboveCells(t *testing.T) (tenants.Prometheus, time.Time) {
	t.Helper()
	cell, now := fleetInPrometheus(t)
	above := newPrometheus()
	for _, s := range cell.series {
		name := s.labels.Get(model.MetricNameLabel)
		if !strings.HasPrefix(name, "virtualargocd:claim:") && !strings.HasPrefix(name, "virtualargocd:cell:") {
			continue
		}
		for _, at := range []string{"cell-1", "cell-2"} {
			l := labels.NewBuilder(s.labels).Set("cell", at).Set("job", "virtual-argocd-cells").Set("instance", at+".example.org:443").Labels()
			above.series[l.String()] = &series{labels: l, samples: s.samples}
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := strconv.ParseInt(r.FormValue("time"), 10, 64)
		if err != nil || r.URL.Path != "/prefix/api/v1/query" {
			t.Errorf("%s asks for %q: %v", r.URL, r.FormValue("time"), err)
		}
		vector, err := above.query(r.Context(), r.FormValue("query"), time.Unix(at, 0))
		if err != nil {
			t.Errorf("%s: %v", r.FormValue("query"), err)
		}
		result := []any{}
		for _, s := range vector {
			result = append(result, map[string]any{"metric": s.Metric.Map(), "value": []any{float64(at), fmt.Sprint(s.F)}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}})
	}))
	t.Cleanup(server.Close)
	return tenants.Prometheus{URL: server.URL + "/prefix/", Client: server.Client()}, now
}

// TestTenantsOverCells has the command ask a Prometheus above two cells.
func TestTenantsOverCells(t *testing.T) {
	t.Parallel()
	p, now := aboveCells(t)
	cells, err := p.Cells(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Tenants(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	if err := tenants.PrintCells(out, cells); err != nil {
		t.Fatal(err)
	}
	if err := tenants.PrintTenants(out, all); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CELL TENANTS READY DEGRADED ROOM CPU REQUESTED MEMORY REQUESTED",
		"cell-1 2 1 1 39 2% 2%",
		"cell-2 2 1 1 39 2% 2%",
		"CELL TENANT PHASE PLAN CHANNEL ARGOCD KUBERNETES APPLICATIONS OUT OF SYNC NOT HEALTHY CLUSTERS LOST DEPLOYMENTS A DAY",
		"cell-1 acme/shop Degraded small stable v3.4.4 v1.35.4 50 1 2 1 1",
		"cell-1 globex/main Ready large - v3.2.6 v1.35.4 0 0 0 0 0",
		"cell-2 acme/shop Degraded small stable v3.4.4 v1.35.4 50 1 2 1 1",
		"cell-2 globex/main Ready large - v3.2.6 v1.35.4 0 0 0 0 0",
	}
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, tenant := range all {
		if tenant.Trouble() != (tenant.Claim == "shop") {
			t.Errorf("%s/%s is in trouble: %t", tenant.Namespace, tenant.Claim, tenant.Trouble())
		}
	}
}

// TestCostsOverCells: a tenant that was there for three of four quarters of an hour has occupied three quarters of what it requests an hour, or of what
// it uses if that is more.
func TestCostsOverCells(t *testing.T) {
	t.Parallel()
	p, _ := aboveCells(t)
	// The first quarter of the series has nothing, since rules are evaluated from the first minute on.
	costs, err := p.Costs(t.Context(), time.Unix(0, 0), time.Unix(3600, 0))
	if err != nil {
		t.Fatal(err)
	}
	out := &strings.Builder{}
	if err := tenants.PrintCosts(out, costs[:len(costs)/2]); err != nil {
		t.Fatal(err)
	}
	want := `cell,namespace,claim,plan,host namespace,CPU core-hours requested,CPU core-hours used,CPU core-hours,memory GiB-hours requested,memory GiB-hours used,memory GiB-hours,volumes GiB-hours
cell-1,acme,shop,small,vargo-shop-x1,0.00,0.08,0.08,0.00,0.28,0.28,0.00
cell-1,globex,main,large,vargo-main-x2,0.08,0.00,0.08,0.28,0.00,0.28,3.49
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
