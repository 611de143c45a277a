//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// project is the project's folder.
var project = filepath.Join("..", "..")

// seenWithin is how long the platform's monitoring may take to tell what is so. Scrapes, rules and the times that alerts
// wait are shortened to seconds for this test.
const seenWithin = 3 * time.Minute

// monitored are two customers that the platform watches by examples/monitoring. One of them forges its metrics.
type monitored struct {
	watched, forger *claim.Live
	// watchedIn and forgerIn are their namespaces on the host.
	watchedIn, forgerIn string
	client              client.Client
	metrics             metricsAPI
	// repo is the watched tenant's Git repository, secrets are those that its claim names.
	repo    string
	secrets ownSecrets
}

func TestMonitoring(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Parallel()
	m := &monitored{}
	testenv.Test(t, features.New("monitoring").
		Setup(m.install).
		Assess("TenantsAreSeen", m.seen).
		Assess("PlatformIsSeen", m.platformSeen).
		Assess("AlertNamesTheCustomer", m.alert).
		Assess("ForgedSeriesAreTheForgers", m.forged).
		Assess("EndlessSeriesAreBounded", m.endless).
		Assess("ApplicationsAreSeen", m.applications).
		Assess("PodsAreSeen", m.pods).
		Assess("ClusterThatIsAway", m.away).
		Assess("FleetIsAPage", m.page).
		Assess("DeletionThatDoesNotEnd", m.deletion).
		Teardown(m.remove).Feature())
}

// hurried shortens what would take this test minutes: how often is scraped, and how long alerts wait. Nothing else of
// examples/monitoring is changed.
func hurried(name, content string) string {
	switch name {
	case platform.ScrapeConfigsFile:
		content = regexp.MustCompile(`scrape_interval: \w+`).ReplaceAllString(content, "scrape_interval: 5s")
		return regexp.MustCompile(`scrape_timeout: \w+`).ReplaceAllString(content, "scrape_timeout: 4s")
	case platform.RulesFile:
		return regexp.MustCompile(`(?m)^(\s+)for: \w+$`).ReplaceAllString(content, "${1}for: 10s")
	}
	return content
}

func (m *monitored) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	var err error
	if m.client, err = client.New(host.Config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	// The watched tenant begins without the offer.
	createObject(ctx, t, m.channel())
	m.watched = claim.Create(ctx, t, host, newClaim("watched").Set(monitoredNamespace, "spec", "channel"))
	m.forger = claim.Create(ctx, t, host, newClaim("forger"))
	address, err := platform.InstallMonitoring(ctx, m.client, project, hurried, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	m.metrics = metricsAPI(address)
	m.watchedIn = m.watched.AwaitReady(ctx, t, readyWithin).Namespace
	m.forgerIn = m.forger.AwaitReady(ctx, t, readyWithin).Namespace
	return ctx
}

// channel is one that is paused, with an offer that changes something.
func (*monitored) channel() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"paused": true,
		"offer":  map[string]any{"argocd": map[string]any{"values": map[string]any{"configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "true"}}}}},
	}}}
	o.SetGroupVersionKind(channels)
	o.SetName(monitoredNamespace)
	return o
}

func (m *monitored) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	cleanUp(ctx, t, m.watched, m.forger)
	if t.Failed() && keep {
		t.Logf("E2E_KEEP is set: what monitors tenants stays, at %s", m.metrics)
		return ctx
	}
	if err := client.IgnoreNotFound(m.client.Delete(ctx, m.channel())); err != nil {
		t.Error(err)
	}
	m.secrets.deleteAll(ctx, t)
	deleteNamespace(ctx, t, monitoredNamespace)
	if err := platform.RemoveMonitoring(ctx, m.client, project); err != nil {
		t.Error(err)
	}
	return ctx
}

// seen looks for what the platform knows of tenants that are well.
func (m *monitored) seen(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, tenant := range []struct{ name, namespace string }{{"watched", m.watchedIn}, {"forger", m.forgerIn}} {
		of := fmt.Sprintf(`claim_namespace=%q, claim=%q`, claims, tenant.name)
		for _, query := range []string{
			fmt.Sprintf(`virtualargocd_claim_phase{%s, phase="Ready"} == 1`, of),
			fmt.Sprintf(`virtualargocd_claim_condition{%s, type="ArgoCDReady"} == 1`, of),
			fmt.Sprintf(`virtualargocd:namespace:owner{%s, namespace=%q}`, of, tenant.namespace),
			fmt.Sprintf(`virtualargocd:claim:ready_after_seconds{%s} > 1 < %v`, of, readyWithin.Seconds()),
			// vcluster's certificates are for a year or more.
			fmt.Sprintf(`virtualargocd_claim_certificates_expire_timestamp_seconds{%s} - time() > 90 * 86400`, of),
			fmt.Sprintf(`kube_resourcequota{namespace=%q, resource="count/pods", type="used"} > 3`, tenant.namespace),
			fmt.Sprintf(`up{job="virtual-argocd-controllers", namespace=%q} == 1`, tenant.namespace),
			fmt.Sprintf(`up{job="virtual-argocd-repo-servers", namespace=%q} == 1`, tenant.namespace),
		} {
			m.metrics.await(ctx, t, query, 1)
		}
	}
	return ctx
}

// platformSeen looks for what Crossplane, its providers, the function and a channel tell.
func (m *monitored) platformSeen(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for query, want := range map[string]int{
		`virtualargocd_channel_paused{channel="` + monitoredNamespace + `"} == 1`:                                             1,
		`virtualargocd_channel_tenants{channel="` + monitoredNamespace + `", state="total"} == 1`:                             1,
		`virtualargocd_channel_condition{channel="` + monitoredNamespace + `", type="SpecAccepted"} == 1`:                     1,
		`virtualargocd_claim_update_available{channel="` + monitoredNamespace + `", claim="watched"} == 1`:                    1,
		`count by (job) (up{job="virtual-argocd-crossplane"} == 1)`:                                                           1,
		`count by (job) (up{job="virtual-argocd-function"} == 1) == 2`:                                                        1,
		`count by (provider) (up{job="virtual-argocd-providers"} == 1)`:                                                       2,
		`sum by (job) (function_run_function_response_total{function_name=~".*function-virtual-argocd", grpc_code="OK"}) > 0`: 1,
		`count by (provider) (controller_runtime_max_concurrent_reconciles{job="virtual-argocd-providers"})`:                  2,
		`count(workqueue_depth{job="virtual-argocd-providers"}) > 0`:                                                          1,
		`count(function_run_function_seconds_bucket{function_name=~".*function-virtual-argocd"}) > 0`:                         1,
		`count(controller_runtime_active_workers{job="virtual-argocd-providers"}) > 0`:                                        1,
		`count by (provider) (controller_runtime_reconcile_total{job="virtual-argocd-providers"})`:                            2,
		`count(circuit_breaker_events_total{controller=~"composite/xvirtualargocds.+"}) > 0`:                                  1,
		`count by (job) (process_cpu_seconds_total{job="virtual-argocd-function"} > 0) == 2`:                                  1,
		`count by (job) (process_resident_memory_bytes{job="virtual-argocd-function"} > 1e6) == 2`:                            1,
		`count by (job) (go_gc_duration_seconds_count{job="virtual-argocd-function"} > 0) == 2`:                               1,
		`count by (job) (go_gc_gomemlimit_bytes{job="virtual-argocd-function"} < 1e15) == 2`:                                  1,
	} {
		m.metrics.await(ctx, t, query, want)
	}
	return ctx
}

// alert breaks one tenant's Argo CD, and heals it.
func (m *monitored) alert(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const degraded = "VirtualArgoCDDegraded"
	of := func(a alert) bool { return a.Name == degraded && a.Labels["claim_namespace"] == claims }
	firing := func() (out []alert, err error) {
		all, err := m.metrics.alerts(ctx)
		for _, a := range all {
			// Other tests break other tenants.
			if name := a.Labels["claim"]; of(a) && a.State == "firing" && (name == m.watched.Name || name == m.forger.Name) {
				out = append(out, a)
			}
		}
		return out, err
	}
	if is, err := firing(); err != nil || len(is) > 0 {
		t.Fatalf("nothing is broken, and there are alerts: %v, %v", is, err)
	}
	deployments := open(ctx, t, m.watched).Typed.AppsV1().Deployments("argocd")
	patchDeployment(ctx, t, deployments, "argocd-server", stopped)
	took := eventually.True(ctx, t, seenWithin, "an alert fires", func(context.Context) (bool, string) {
		is, err := firing()
		return len(is) > 0, fmt.Sprint(is, err)
	})
	measured.add("monitoring: argocd-server gone to alert", took)
	is, err := firing()
	if err != nil || len(is) != 1 {
		t.Fatalf("want one alert, got %v, %v", is, err)
	}
	for _, word := range []string{claims + "/watched", "is broken"} {
		if !strings.Contains(is[0].Annotations["summary"], word) {
			t.Errorf("the alert says %q, want %q in it", is[0].Annotations["summary"], word)
		}
	}
	if !strings.Contains(is[0].Annotations["runbook"], "kubectl -n "+claims+" describe virtualargocds.virtualargocd.io watched") {
		t.Errorf("the alert's runbook is %q", is[0].Annotations["runbook"])
	}
	patchDeployment(ctx, t, deployments, "argocd-server", runs)
	took = eventually.True(ctx, t, seenWithin, "the alert is resolved", func(context.Context) (bool, string) {
		is, err := firing()
		return err == nil && len(is) == 0, fmt.Sprint(is, err)
	})
	measured.add("monitoring: argocd-server back to no alert", took)
	return ctx
}

// serve answers every request with its first argument, and then with as many series as the second one says, new ones each
// time; without an end where that is negative.
const serve = `use IO::Socket::INET; $SIG{PIPE} = "IGNORE"; $SIG{CHLD} = "IGNORE";
my $s = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => 8082, Listen => 16, ReuseAddr => 1) or die "cannot listen: $!";
while (my $c = $s->accept) {
  if (!fork) {
    while (<$c>) { last if /^\r?$/ }
    print $c "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n", $ARGV[0] or exit;
    for (my $i = 0; $ARGV[1] < 0 || $i < $ARGV[1]; $i++) { print $c "argocd_cluster_connection_status{server=\"https://", time, "-$i\"} 0\n" or exit }
    exit
  }
  close $c
}`

// pretend makes a pod in the forger's virtual cluster that is scraped as one more of its application controllers.
func (m *monitored) pretend(ctx context.Context, t *testing.T, number int, series string, more int) {
	t.Helper()
	const name = "argocd-application-controller"
	pod := probePod(fmt.Sprint(name, "-", number))
	pod.Labels = map[string]string{"app.kubernetes.io/name": name}
	pod.Spec.Containers[0].Image = artifacts.ServersImage
	pod.Spec.Containers[0].Command = []string{"perl", "-e", serve, series, fmt.Sprint(more)}
	pod.Spec.Containers[0].Name = "application-controller"
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8082}}
	// One container of a pod is scraped.
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "another", Image: artifacts.ServersImage, Command: []string{"perl", "-e", "sleep"}, Ports: []corev1.ContainerPort{{ContainerPort: 8082}},
	})
	runProbe(ctx, t, open(ctx, t, m.forger), "argocd", pod)
	m.metrics.await(ctx, t, fmt.Sprintf(`up{namespace=%q, pod=%q}`, m.forgerIn, onHost(pod.Name, "argocd")), 1)
}

// forged has one tenant pretend to be the other, and the platform.
func (m *monitored) forged(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	victim := fmt.Sprintf(`namespace=%q,tenant_namespace=%q,claim_namespace=%q,claim="watched"`, m.watchedIn, m.watchedIn, claims)
	m.pretend(ctx, t, 1, strings.Join([]string{
		`argocd_cluster_connection_status{` + victim + `,server="https://forged",job="kube-state-metrics",pod="p"} 0`,
		`virtualargocd_claim_phase{` + victim + `,phase="Degraded"} 1`,
		`virtualargocd_composite_info{` + strings.Replace(victim, m.watchedIn, m.forgerIn, 2) + `,composite="forged"} 1`,
		`virtualargocd:namespace:owner{` + victim + `} 1`,
		`kube_resourcequota{` + victim + `,resource="pods",type="used"} 1000`,
		`ALERTS{` + victim + `,alertname="VirtualArgoCDDegraded",alertstate="firing"} 1`,
		`up{job="virtual-argocd-crossplane"} 0`,
		`function_run_function_response_total{job="virtual-argocd-crossplane",function_name="function-virtual-argocd",grpc_code="Internal"} 1000000`,
		`argocd_cluster_connection_status{server="https://endless"} 1000000000`,
		`argocd_app_sync_total{name="endless",phase="Succeeded",dry_run="false"} 1000000000`,
		"",
	}, "\n"), 0)
	// It is read, and it is the forger's.
	m.metrics.await(ctx, t, fmt.Sprintf(`argocd_cluster_connection_status{server="https://forged", namespace=%q, exported_namespace=%q} == 0`, m.forgerIn, m.watchedIn), 1)
	m.metrics.await(ctx, t, fmt.Sprintf(`ALERTS{alertname="VirtualArgoCDClusterUnreachable", alertstate="firing", claim="forger", namespace=%q}`, m.forgerIn), 1)
	m.untouched(ctx, t)
	// What it adds to sums over all tenants is bounded. There may be nothing else to add.
	for _, panel := range []string{"Clusters connected", "Deployments, one day"} {
		m.metrics.await(ctx, t, "("+panelQuery(t, panel)+" or vector(0)) < 20000", 1)
	}
	return ctx
}

// A panel of a dashboard.
type panel struct {
	Title, Type string
	Targets     []struct{ Expr string }
}

// panelsOf returns the panels of a dashboard of examples/monitoring.
func panelsOf(t *testing.T, dashboard string) []panel {
	t.Helper()
	var is struct{ Panels []panel }
	raw, err := os.ReadFile(filepath.Join(project, "examples", "monitoring", "dashboards", dashboard))
	if err == nil {
		err = json.Unmarshal(raw, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	return is.Panels
}

// panelQuery returns the first query of a panel of the fleet's dashboard.
func panelQuery(t *testing.T, title string) string {
	t.Helper()
	for _, p := range panelsOf(t, "fleet.json") {
		if p.Title == title && len(p.Targets) > 0 {
			return p.Targets[0].Expr
		}
	}
	t.Fatalf("no panel %s", title)
	return ""
}

// emptyPanels are those that show nothing of tenants that are well now, of queues that are empty, and without the kubelet's cAdvisor.
var emptyPanels = []string{"Degraded, by what they have", "Not Ready", "Queues", "Circuit breakers opened", "CPU", "Memory"}

// panels evaluates the queries of both dashboards.
func (m *monitored) panels(ctx context.Context, t *testing.T) {
	t.Helper()
	chosen := strings.NewReplacer("$__rate_interval", "1m", "$__range_s", "86400", "$claim_namespace", claims, "$claim", "watched",
		"$namespace", m.watchedIn, "$plan", ".*", "$channel", ".*", "$version", ".*")
	for _, dashboard := range []string{"fleet.json", "tenant.json"} {
		for _, p := range panelsOf(t, dashboard) {
			for _, target := range p.Targets {
				if p.Type == "logs" {
					continue
				}
				query := chosen.Replace(target.Expr)
				if !slices.Contains(emptyPanels, p.Title) {
					eventually.True(ctx, t, seenWithin, dashboard+": "+p.Title+" shows something", func(ctx context.Context) (bool, string) {
						got, err := m.metrics.query(ctx, query)
						return err == nil && len(got) > 0, fmt.Sprintf("%v: %s", err, query)
					})
				} else if _, err := m.metrics.query(ctx, query); err != nil {
					t.Errorf("%s: %s: %v", dashboard, p.Title, err)
				}
			}
		}
	}
}

// endless has the tenant answer without an end, and with more series than it may have.
func (m *monitored) endless(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	m.pretend(ctx, t, 2, "", -1)
	// One more than sample_limit allows.
	m.pretend(ctx, t, 3, "", 2001)
	for _, number := range []int{2, 3} {
		pod := onHost(fmt.Sprint("argocd-application-controller-", number), "argocd")
		m.metrics.await(ctx, t, fmt.Sprintf(`up{namespace=%q, pod=%q} == 0`, m.forgerIn, pod), 1)
		m.metrics.none(ctx, t, fmt.Sprintf(`argocd_cluster_connection_status{pod=%q}`, pod))
	}
	// For some scrapes.
	time.Sleep(30 * time.Second)
	m.untouched(ctx, t)
	m.metrics.none(ctx, t, fmt.Sprintf(`count({namespace=%q, job="virtual-argocd-controllers"}) > 5000`, m.forgerIn))
	pods, err := host.Typed.CoreV1().Pods(platform.MonitoringNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("container %s of %s has been restarted: %+v", c.Name, p.Name, c.LastTerminationState)
			}
		}
	}
	return ctx
}

// untouched holds what the platform knows of the watched tenant, and of itself, to the truth.
func (m *monitored) untouched(ctx context.Context, t *testing.T) {
	t.Helper()
	victim := fmt.Sprintf(`claim_namespace=%q, claim="watched"`, claims)
	for _, query := range []string{
		fmt.Sprintf(`virtualargocd_claim_phase{%s, phase="Ready"} == 1`, victim),
		fmt.Sprintf(`virtualargocd:namespace:owner{%s, namespace=%q}`, victim, m.watchedIn),
		fmt.Sprintf(`up{job="virtual-argocd-controllers", namespace=%q} == 1`, m.watchedIn),
		// It is scraped still.
		fmt.Sprintf(`time() - timestamp(up{job="virtual-argocd-controllers", namespace=%q}) < 30`, m.watchedIn),
	} {
		m.metrics.await(ctx, t, query, 1)
	}
	for _, query := range []string{
		fmt.Sprintf(`virtualargocd_claim_phase{%s, phase="Degraded"} == 1`, victim),
		fmt.Sprintf(`argocd_cluster_connection_status{namespace=%q, server="https://forged"}`, m.watchedIn),
		fmt.Sprintf(`virtualargocd:namespace:owner{%s, namespace=%q}`, victim, m.forgerIn),
		`{__name__=~"virtualargocd_.+", job!="kube-state-metrics"}`,
		`{__name__=~"kube_.+", job!="kube-state-metrics"}`,
		`{__name__=~"up|function_.+", job="virtual-argocd-crossplane", namespace!="crossplane-system"}`,
		fmt.Sprintf(`{namespace=%q, job=~"virtual-argocd-.+", __name__!~"up|scrape_.+|argocd_(app_info|app_sync_total|cluster_connection_status|kubectl_requests_total|git_.+)"}`, m.forgerIn),
	} {
		m.metrics.none(ctx, t, query)
	}
	alerts, err := m.metrics.alerts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		if a.State == "firing" && a.Labels["claim_namespace"] == claims && a.Labels["claim"] == "watched" {
			t.Errorf("an alert is about the tenant that is well: %+v", a)
		}
	}
}

// deletion has a tenant's namespace outlive the claim and the composite resource, and then go.
func (m *monitored) deletion(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const finalizer = "example.org/held-by-a-test"
	configMaps := host.Typed.CoreV1().ConfigMaps(m.forgerIn)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{finalizer}}}
	if _, err := configMaps.Create(ctx, held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	release := func() error {
		_, err := configMaps.Patch(ctx, held.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
		return err
	}
	// If this ends early. After the release there is nothing to patch.
	t.Cleanup(func() { _ = release() })
	alert := fmt.Sprintf(`ALERTS{alertname="VirtualArgoCDDeletionStuck", alertstate="firing", claim_namespace=%q, claim="forger", namespace=%q}`, claims, m.forgerIn)
	m.metrics.none(ctx, t, alert)
	m.forger.Delete(ctx, t)
	m.metrics.await(ctx, t, fmt.Sprintf(`kube_namespace_created{namespace=%q} unless on (namespace) label_replace(virtualargocd_composite_info, "namespace", "$1", "tenant_namespace", "(.+)")`, m.forgerIn), 1)
	m.metrics.await(ctx, t, alert, 1)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	awaitGone(ctx, t, m.forger, goneWithin)
	m.metrics.await(ctx, t, alert, 0)
	return ctx
}

// page opens the fleet as people see it who have no Grafana.
func (m *monitored) page(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b := browser.Open(t, browser.Options{Width: 1280, Height: 2000})
	b.Visit(t, string(m.metrics), pageWithin, "Tenants", "Phases", "Provisioning", "By plan", "standard", "Slowest", "watched", "Crossplane")
	return ctx
}

// metricsAPI is the address of Prometheus' API.
type metricsAPI string

// sample is a series with its value at the moment.
type sample struct {
	Labels map[string]string
	Value  float64
}

// alert is one that is pending or fires.
type alert struct {
	Name        string            `json:"name"`
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func (a metricsAPI) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(a)+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // It has been read.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// query evaluates a query at this moment.
func (a metricsAPI) query(ctx context.Context, query string) ([]sample, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  [2]any            `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := a.get(ctx, "/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	var out []sample
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		out = append(out, sample{r.Metric, value})
	}
	return out, nil
}

// alerts are those that are pending or fire.
func (a metricsAPI) alerts(ctx context.Context) ([]alert, error) {
	var answer struct {
		Data struct {
			Alerts []alert `json:"alerts"`
		} `json:"data"`
	}
	err := a.get(ctx, "/api/v1/alerts", &answer)
	return answer.Data.Alerts, err
}

// await waits until a query finds so many series.
func (a metricsAPI) await(ctx context.Context, t *testing.T, query string, want int) {
	t.Helper()
	a.awaitWithin(ctx, t, seenWithin, query, want)
}

func (a metricsAPI) awaitWithin(ctx context.Context, t *testing.T, within time.Duration, query string, want int) {
	t.Helper()
	eventually.True(ctx, t, within, query, func(ctx context.Context) (bool, string) {
		got, err := a.query(ctx, query)
		return err == nil && len(got) == want, fmt.Sprintf("want %d series, got %v, %v", want, got, err)
	})
}

// none makes sure that a query finds nothing.
func (a metricsAPI) none(ctx context.Context, t *testing.T, query string) {
	t.Helper()
	if got, err := a.query(ctx, query); err != nil || len(got) > 0 {
		t.Errorf("%s: want nothing, got %v, %v", query, got, err)
	}
}
