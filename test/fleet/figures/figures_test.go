package figures

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const metrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="pods",verb="GET"} 7
apiserver_request_total{code="404",resource="pods",verb="GET"} 2
apiserver_request_total{code="200",resource="pods",verb="PATCH"} 5
apiserver_request_total{code="0",resource="pods",verb="WATCH"} 90
apiserver_request_total{code="200",group="apps",resource="deployments",subresource="status",verb="PUT"} 4
apiserver_request_total{code="200",group="apps",resource="deployments",subresource="status",verb="PUT",dry_run="All"} 8
apiserver_request_total{code="200",group="coordination.k8s.io",resource="leases",verb="PUT"} 30
apiserver_request_total{code="201",group="events.k8s.io",resource="events",verb="POST"} 20
apiserver_request_total{code="201",group="authorization.k8s.io",resource="subjectaccessreviews",verb="POST"} 10
# TYPE etcd_requests_total counter
etcd_requests_total{operation="get",type="pods"} 11
etcd_requests_total{operation="update",type="pods"} 3
etcd_requests_total{operation="create",type="pods"} 2
# TYPE apiserver_storage_size_bytes gauge
apiserver_storage_size_bytes{storage_cluster_id="a"} 4096
`

func TestAPIServer(t *testing.T) {
	now, err := parseAPIServer([]byte(metrics))
	if err != nil {
		t.Fatal(err)
	}
	before := APIServer{
		Requests: map[string]float64{"GET": 9, "PATCH": 1}, Etcd: map[string]float64{"update": 1}, Writes: map[string]float64{"PATCH pods": 2},
	}
	got, err := now.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	want := APIServer{
		Requests: map[string]float64{"PATCH": 4, "PUT": 42, "POST": 30}, Etcd: map[string]float64{"get": 11, "update": 2, "create": 2}, DBSize: 4096,
		Writes: map[string]float64{"PATCH pods": 3, "PUT deployments.apps status": 4},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if w := got.EtcdWrites(); w != 4 {
		t.Errorf("%v writes to etcd, want 4", w)
	}
	before.Etcd["delete"] = 1
	if got, err := now.Since(before); err == nil {
		t.Errorf("%v is counted since before a restart", got)
	}
	if got, err := parseAPIServer([]byte(strings.ReplaceAll(metrics, "apiserver_request_total", "other"))); err == nil {
		t.Errorf("%v of an API server that doesn't count requests", got)
	}
}

func TestReconciles(t *testing.T) {
	const name, text = "controller_runtime_reconcile_total", `# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="composite/xvirtualargocds.virtualargocd.io",result="success"} 7
controller_runtime_reconcile_total{controller="composite/xvirtualargocds.virtualargocd.io",result="error"} 1
controller_runtime_reconcile_total{controller="composite/xargocdchannels.virtualargocd.io",result="success"} 20
controller_runtime_reconcile_total{controller="claim/virtualargocds.virtualargocd.io",result="success"} 90
other{not="a metric that can be parsed
`
	families, err := parse([]byte(text), name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reconciles(families[name]); err != nil || got != 8 {
		t.Errorf("%v reconciles, %v; want 8", got, err)
	}
	if got, err := reconciles(nil); err == nil {
		t.Errorf("%v reconciles of a Crossplane that doesn't tell", got)
	}
}

func TestRest(t *testing.T) {
	one := map[string]float64{"PUT a": 1}
	for name, c := range map[string]struct {
		rest Rest
		want []string
	}{
		"Within": {Rest{Tenants: 10, Took: 30 * time.Minute, Writes: map[string]float64{"PUT a": 500, "PUT b": 400}, Reconciles: 30}, nil},
		"Writes": {Rest{Tenants: 10, Took: 30 * time.Minute, Writes: map[string]float64{"PUT a": 480, "PUT b": 450}, Reconciles: 1}, []string{"3.10 writes a minute"}},
		"Looks":  {Rest{Tenants: 2, Took: 40 * time.Minute, Writes: one, Reconciles: 10}, []string{"1.25 times in 10m0s"}},
		"Both":   {Rest{Tenants: 1, Took: 30 * time.Minute, Writes: map[string]float64{"PUT a": 120}, Reconciles: 6}, []string{"4.00 writes", "2.00 times"}},
		"Soon":   {Rest{Tenants: 1, Took: 21 * time.Minute, Writes: map[string]float64{"PUT a": 600}, Reconciles: 30}, nil},
		// Each tenant was reconciled once after it had become Ready.
		"JustReady":  {Rest{Tenants: 30, Took: time.Minute, Writes: map[string]float64{"PATCH a": 1500}, Reconciles: 30}, nil},
		"LoopWrites": {Rest{Tenants: 30, Took: time.Minute, Writes: map[string]float64{"PUT a": 1000, "PUT b": 890}}, []string{"63.00 writes a minute"}},
		"LoopLooks":  {Rest{Tenants: 30, Took: 2 * time.Minute, Writes: one, Reconciles: 360}, []string{"6.00 times in 1m0s"}},
		"Loops":      {Rest{Tenants: 1, Took: 21 * time.Minute, Writes: map[string]float64{"PUT a": 1302}, Reconciles: 63}, []string{"62.00 writes", "3.00 times in 1m0s"}},
		"TooSoon":    {Rest{Tenants: 1, Took: 59 * time.Second, Writes: map[string]float64{"PUT a": 600}, Reconciles: 30}, nil},
		"Nothing":    {Rest{Tenants: 30, Took: time.Minute}, nil},
		"NoWrites":   {Rest{Tenants: 1, Took: 30 * time.Minute, Reconciles: 1}, []string{"no figures"}},
		"NoLooks":    {Rest{Tenants: 1, Took: 30 * time.Minute, Writes: one}, []string{"no figures"}},
		"Restarted":  {Rest{Tenants: 1, Took: 2 * time.Minute, Writes: one, Reconciles: -3}, []string{"no figures"}},
	} {
		got := c.rest.Problems()
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], c.want[i])
			}
		}
	}
}

func TestProgramOf(t *testing.T) {
	for args, want := range map[string]string{
		"/usr/local/bin/crossplane core start --circuit-breaker-burst=500": "Crossplane",
		"/usr/local/bin/crossplane rbac start":                             "",
		"/function":                                                        "function",
		"/function proxy":                                                  "",
		"/cache/kube-apiserver/v1.35.4/kube-apiserver --bind-address=::":   "API server",
		"/cache/etcd/v3.7.3/etcd --name=vargo":                             "etcd",
		"/pause":                                                           "",
		"":                                                                 "",
	} {
		if got := programOf(strings.Fields(args)); got != want {
			t.Errorf("%s is %q, want %q", args, got, want)
		}
	}
}

func TestPercentile(t *testing.T) {
	times := []time.Duration{4, 1, 3, 2}
	for percent, want := range map[int]time.Duration{50: 2, 95: 4, 100: 4, 25: 1, 1: 1} {
		if got := Percentile(times, percent); got != want {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("none: %d, want 0", got)
	}
}

func TestTable(t *testing.T) {
	table := NewTable("30 tenants")
	table.AddTimes("until Ready", []time.Duration{time.Second, 2 * time.Second})
	table.Add("memory", "%s", MiB(3<<20))
	out := &strings.Builder{}
	if err := table.Print(out); err != nil {
		t.Fatal(err)
	}
	const want = "| | 30 tenants |\n| --- | --- |\n| until Ready | 1.0 s / 2.0 s / 2.0 s |\n| memory | 3 MiB |\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
