package monitoring

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/promql/parser"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// scrape is what a scrape job does, said by a PodMonitor or in a configuration of Prometheus.
type scrape struct {
	Job        string
	Namespaces []string
	Selector   string
	Interval   string
	Timeout    string

	HonorLabels, HonorTimestamps, FollowRedirects, HTTP2     bool
	SampleLimit, LabelLimit, LabelNameLimit, LabelValueLimit uint64
	BodySizeLimit                                            string

	relabel, metricRelabel []*relabel.Config
}

// scrapeConfig has the fields of Prometheus' scrape_config that scrape-configs.yaml uses. Prometheus' own type comes with the
// clients of three clouds.
type scrapeConfig struct {
	JobName             string `json:"job_name"`
	KubernetesSDConfigs []struct {
		Role       string `json:"role"`
		Namespaces struct {
			Names []string `json:"names"`
		} `json:"namespaces"`
		Selectors []struct {
			Role  string `json:"role"`
			Label string `json:"label"`
		} `json:"selectors"`
	} `json:"kubernetes_sd_configs"`
	ScrapeInterval        string  `json:"scrape_interval"`
	ScrapeTimeout         string  `json:"scrape_timeout"`
	HonorLabels           *bool   `json:"honor_labels"`
	HonorTimestamps       *bool   `json:"honor_timestamps"`
	FollowRedirects       *bool   `json:"follow_redirects"`
	EnableHTTP2           *bool   `json:"enable_http2"`
	SampleLimit           uint64  `json:"sample_limit"`
	LabelLimit            uint64  `json:"label_limit"`
	LabelNameLengthLimit  uint64  `json:"label_name_length_limit"`
	LabelValueLengthLimit uint64  `json:"label_value_length_limit"`
	BodySizeLimit         string  `json:"body_size_limit"`
	RelabelConfigs        []rules `json:"relabel_configs"`
	MetricRelabelConfigs  []rules `json:"metric_relabel_configs"`
}

// rules is a relabel_config.
type rules struct {
	Action       string   `json:"action"`
	SourceLabels []string `json:"source_labels"`
	Regex        string   `json:"regex"`
	TargetLabel  string   `json:"target_label"`
	Replacement  *string  `json:"replacement"`
}

// TestScrapeConfigs holds the PodMonitors and the plain configuration to the same.
func TestScrapeConfigs(t *testing.T) {
	t.Parallel()
	monitors, configs := podMonitors(t), scrapeConfigs(t)
	if _, ok := configs["kube-state-metrics"]; !ok {
		t.Error("no job kube-state-metrics")
	}
	// With the operator, that comes with kube-state-metrics' chart.
	delete(configs, "kube-state-metrics")
	for job, config := range configs {
		monitor, ok := monitors[job]
		if !ok {
			t.Errorf("%s: no PodMonitor", job)
			continue
		}
		// What the relabelings do, TestTargets and TestForgedSeries say.
		if diff := cmp.Diff(monitor, config, cmpopts.IgnoreUnexported(scrape{})); diff != "" {
			t.Errorf("%s: -PodMonitor, +scrape_config:\n%s", job, diff)
		}
	}
	if len(monitors) != len(configs) {
		t.Errorf("%d PodMonitors, %d jobs", len(monitors), len(configs))
	}
}

// TestTargets asks of pods whether they are scraped, and under which labels.
func TestTargets(t *testing.T) {
	t.Parallel()
	const controller, repoServer = "argocd-application-controller", "argocd-repo-server"
	ofArgoCD := func(name string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": name, "vcluster.loft.sh/namespace": "argocd", "vcluster.loft.sh/managed-by": "vcluster"}
	}
	provider := map[string]string{"virtualargocd.io/package": "provider-helm", "pkg.crossplane.io/provider": "virtual-argocd-provider-helm", "pkg.crossplane.io/revision": "x"}
	cases := map[string]struct {
		pod  pod
		want string
	}{
		"Controller": {
			pod:  pod{"vargo-shop-x1", controller + "-0-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "", 8082, "Running", false},
			want: `{container="application-controller", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", pod="argocd-application-controller-0-x-argocd-x-vcluster"}`,
		},
		"ControllerWithNamedPort": {
			pod:  pod{"vargo-shop-x1", controller + "-1-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "metrics", 8082, "Running", false},
			want: `{container="application-controller", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", pod="argocd-application-controller-1-x-argocd-x-vcluster"}`,
		},
		"RepoServer": {
			pod:  pod{"vargo-shop-x1", repoServer + "-6c4f-abcde-x-argocd-x-vcluster", ofArgoCD(repoServer), "repo-server", "", 8084, "Running", false},
			want: `{container="repo-server", instance="10.0.0.1:8084", job="virtual-argocd-repo-servers", namespace="vargo-shop-x1", pod="argocd-repo-server-6c4f-abcde-x-argocd-x-vcluster"}`,
		},
		"AnotherPort":             {pod: pod{"vargo-shop-x1", repoServer + "-6c4f-abcde-x-argocd-x-vcluster", ofArgoCD(repoServer), "repo-server", "", 8081, "Running", false}},
		"OnceMore":                {pod: pod{"vargo-shop-x1", controller + "-17-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "", 8082, "Running", false}},
		"PodThatPretends":         {pod: pod{"vargo-shop-x1", "mine-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "metrics", 8082, "Running", false}},
		"PodOfAnotherNamespace":   {pod: pod{"default", controller + "-0-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "metrics", 8082, "Running", false}},
		"PodThatPretendsProvider": {pod: pod{"vargo-shop-x1", "p", provider, "package-runtime", "metrics", 8080, "Running", false}},
		"PodThatPretendsCrossplane": {
			pod: pod{"vargo-shop-x1", "crossplane", map[string]string{"app": "crossplane"}, "crossplane", "metrics", 8080, "Running", false},
		},
		"OtherContainer": {pod: pod{"vargo-shop-x1", controller + "-0-x-argocd-x-vcluster", ofArgoCD(controller), "c", "", 8082, "Running", false}},
		"OtherContainerOfRepoServer": {
			pod: pod{"vargo-shop-x1", repoServer + "-6c4f-abcde-x-argocd-x-vcluster", ofArgoCD(repoServer), "repo-server-2", "", 8084, "Running", false},
		},
		"InitContainer": {pod: pod{"vargo-shop-x1", controller + "-0-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "", 8082, "Running", true}},
		"InitContainerOfRepoServer": {
			pod: pod{"vargo-shop-x1", repoServer + "-6c4f-abcde-x-argocd-x-vcluster", ofArgoCD(repoServer), "repo-server", "", 8084, "Running", true},
		},
		"RepoServerOfNoDeployment": {
			pod: pod{"vargo-shop-x1", repoServer + "-mine-x-argocd-x-vcluster", ofArgoCD(repoServer), "repo-server", "", 8084, "Running", false},
		},
		"PodThatHasEnded": {pod: pod{"vargo-shop-x1", controller + "-0-x-argocd-x-vcluster", ofArgoCD(controller), "application-controller", "", 8082, "Failed", false}},
		"Crossplane": {
			pod:  pod{"crossplane-system", "crossplane-0", map[string]string{"app": "crossplane"}, "crossplane", "metrics", 8080, "Running", false},
			want: `{container="crossplane", instance="10.0.0.1:8080", job="virtual-argocd-crossplane", namespace="crossplane-system", pod="crossplane-0"}`,
		},
		"Provider": {
			pod:  pod{"crossplane-system", "helm", provider, "package-runtime", "metrics", 8080, "Running", false},
			want: `{container="package-runtime", instance="10.0.0.1:8080", job="virtual-argocd-providers", namespace="crossplane-system", pod="helm", provider="virtual-argocd-provider-helm"}`,
		},
		"Function": {
			pod:  pod{"crossplane-system", "fn", map[string]string{"virtualargocd.io/package": "function"}, "package-runtime", "metrics", 8080, "Running", false},
			want: `{container="package-runtime", instance="10.0.0.1:8080", job="virtual-argocd-function", namespace="crossplane-system", pod="fn"}`,
		},
		"OtherFunction": {pod: pod{"crossplane-system", "fn", map[string]string{"pkg.crossplane.io/function": "function-auto-ready"}, "package-runtime", "metrics", 8080, "Running", false}},
	}
	for kind, jobs := range map[string]map[string]scrape{"PodMonitors": podMonitors(t), "ScrapeConfigs": scrapeConfigs(t)} {
		for name, tc := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				var got []string
				for _, job := range jobs {
					if target := job.target(t, tc.pod, "10.0.0.1"); target != "" {
						got = append(got, target)
					}
				}
				if g := strings.Join(got, "\n"); g != tc.want {
					t.Errorf("got  %s\nwant %s", g, tc.want)
				}
			})
		}
	}
}

// TestTargetsOfATenant counts the targets of a tenant that fills its pods with containers: 64 in each, which is as many as
// tenants.yaml allows, each with the ports of a controller and of a repository server, and as many init containers.
func TestTargetsOfATenant(t *testing.T) {
	t.Parallel()
	const quota = 60
	var ports []pod
	add := func(app, name string) {
		p := pod{namespace: "vargo-shop-x1", name: name + "-x-argocd-x-vcluster", phase: "Running",
			labels: map[string]string{"app.kubernetes.io/name": app, "vcluster.loft.sh/namespace": "argocd"}}
		for i := range 64 {
			for _, init := range []bool{false, true} {
				// Names of the containers of a pod are unique, those of init containers, too.
				p.container, p.init = fmt.Sprint("c", i), init
				if names := []string{"application-controller", "repo-server"}; i < len(names) && !init {
					p.container = names[i]
				}
				for _, p.number = range []int{8082, 8084} {
					// A port may be there twice, with two names.
					for _, p.port = range []string{"", "metrics"} {
						ports = append(ports, p)
					}
				}
			}
		}
	}
	for i := range quota {
		add("argocd-application-controller", fmt.Sprint("argocd-application-controller-", i))
		add("argocd-repo-server", fmt.Sprintf("argocd-repo-server-6c4f-%05d", i))
	}
	for kind, jobs := range map[string]map[string]scrape{"PodMonitors": podMonitors(t), "ScrapeConfigs": scrapeConfigs(t)} {
		for name, most := range map[string]int{"virtual-argocd-controllers": 4, "virtual-argocd-repo-servers": quota} {
			// Prometheus scrapes targets with the same labels and the same address once.
			targets := map[string]bool{}
			for i, p := range ports {
				if target := jobs[name].target(t, p, fmt.Sprint("10.0.0.", i/(2*64*4))); target != "" {
					targets[target] = true
				}
			}
			if len(targets) != most {
				t.Errorf("%s: %s: want %d targets, got %d", kind, name, most, len(targets))
			}
		}
	}
}

// TestForgedSeries asks what is left of series that a tenant's pod serves.
func TestForgedSeries(t *testing.T) {
	t.Parallel()
	const target = `{container="c", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", pod="p"}`
	cases := map[string]struct{ served, want string }{
		"ClusterThatIsConnected": {
			served: `argocd_cluster_connection_status{server="https://a", k8s_version="1.35"}`,
			want:   `{__name__="argocd_cluster_connection_status", container="c", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", pod="p", server="https://a"}`,
		},
		"Application": {
			served: `argocd_app_info{namespace="argocd", name="shop", project="default", repo="https://git", dest_server="https://a", dest_namespace="x", sync_status="Synced", health_status="Healthy", operation="", autosync_enabled="true"}`,
			want: `{__name__="argocd_app_info", container="c", dest_server="https://a", exported_namespace="argocd", health_status="Healthy", instance="10.0.0.1:8082", job="virtual-argocd-controllers", name="shop", ` +
				`namespace="vargo-shop-x1", pod="p", project="default", repo="https://git", sync_status="Synced"}`,
		},
		"AnotherTenants": {
			served: `argocd_cluster_connection_status{server="https://a", namespace="vargo-main-x2", job="kube-state-metrics", pod="x", instance="y"}`,
			want: `{__name__="argocd_cluster_connection_status", container="c", exported_namespace="vargo-main-x2", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", ` +
				`pod="p", server="https://a"}`,
		},
		"LabelsOfCustomers": {
			served: `argocd_cluster_connection_status{server="https://a", tenant="globex", customer="globex", claim="main", claim_namespace="globex", tenant_namespace="vargo-main-x2", exported_claim="x", severity="critical"}`,
			want:   `{__name__="argocd_cluster_connection_status", container="c", instance="10.0.0.1:8082", job="virtual-argocd-controllers", namespace="vargo-shop-x1", pod="p", server="https://a"}`,
		},
		"RequestThatFailed": {
			served: `argocd_kubectl_requests_total{host="a:6443", method="GET", code="<error>", server="https://a"}`,
			want: `{__name__="argocd_kubectl_requests_total", code="<error>", container="c", host="a:6443", instance="10.0.0.1:8082", job="virtual-argocd-controllers", method="GET", ` +
				`namespace="vargo-shop-x1", pod="p", server="https://a"}`,
		},
		"RequestThatConflicts": {served: `argocd_kubectl_requests_total{host="a:6443", method="PUT", code="409"}`},
		"PhaseOfAClaim":        {served: `virtualargocd_claim_phase{claim_namespace="globex", claim="main", phase="Degraded"}`},
		"OwnerOfANamespace":    {served: `virtualargocd_composite_info{claim_namespace="globex", claim="main", tenant_namespace="vargo-shop-x1"}`},
		"RecordOfOurs":         {served: `virtualargocd:namespace:owner{namespace="vargo-main-x2"}`},
		"QuotaOfAnother":       {served: `kube_resourcequota{namespace="vargo-main-x2", type="used"}`},
		"PrometheusOwn":        {served: `up{job="virtual-argocd-crossplane"}`},
		"Alert":                {served: `ALERTS{alertname="VirtualArgoCDDegraded", claim="main"}`},
		"MetricOfArgoCDUnused": {served: `argocd_app_k8s_request_total{name="shop"}`},
	}
	for kind, jobs := range map[string]map[string]scrape{"PodMonitors": podMonitors(t), "ScrapeConfigs": scrapeConfigs(t)} {
		for name, tc := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				job := jobs["virtual-argocd-controllers"]
				if got := job.stored(t, target, tc.served); got != tc.want {
					t.Errorf("got  %s\nwant %s", got, tc.want)
				}
			})
		}
	}
	for _, name := range []string{"virtual-argocd-controllers", "virtual-argocd-repo-servers"} {
		job := podMonitors(t)[name]
		if job.SampleLimit == 0 || job.LabelLimit == 0 || job.LabelNameLimit == 0 || job.LabelValueLimit == 0 || job.BodySizeLimit == "" ||
			job.HonorLabels || job.HonorTimestamps || job.FollowRedirects {
			t.Errorf("%s isn't bounded: %+v", name, job)
		}
	}
}

// pod is a port of a container, as Prometheus finds it.
type pod struct {
	namespace, name string
	labels          map[string]string
	container, port string
	number          int
	phase           string
	init            bool
}

// target returns the labels of the target that a pod with an address becomes, or nothing.
func (s scrape) target(t *testing.T, p pod, ip string) string {
	t.Helper()
	selector, err := kubelabels.Parse(s.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(kubelabels.Set(p.labels)) || len(s.Namespaces) > 0 && !slices.Contains(s.Namespaces, p.namespace) {
		return ""
	}
	address := fmt.Sprintf("%s:%d", ip, p.number)
	b := labels.NewBuilder(labels.FromStrings("__address__", address, "job", s.Job,
		"__meta_kubernetes_namespace", p.namespace, "__meta_kubernetes_pod_name", p.name, "__meta_kubernetes_pod_phase", p.phase,
		"__meta_kubernetes_pod_container_name", p.container, "__meta_kubernetes_pod_container_port_name", p.port,
		"__meta_kubernetes_pod_container_port_number", strconv.Itoa(p.number), "__meta_kubernetes_pod_container_init", strconv.FormatBool(p.init)))
	notInName := regexp.MustCompile(`[^a-zA-Z0-9_]`)
	for key, value := range p.labels {
		b.Set("__meta_kubernetes_pod_label_"+notInName.ReplaceAllString(key, "_"), value)
	}
	kept := relabel.ProcessBuilder(b, s.relabel...)
	if !kept {
		return ""
	}
	b.Set("instance", address)
	out := labels.NewBuilder(labels.EmptyLabels())
	b.Range(func(l labels.Label) {
		if !strings.HasPrefix(l.Name, "__") {
			out.Set(l.Name, l.Value)
		}
	})
	return out.Labels().String()
}

// stored returns what Prometheus keeps of a series that a target serves: labels that have the name of a target's own are
// renamed, then come the rules.
func (s scrape) stored(t *testing.T, target, served string) string {
	t.Helper()
	own, err := parser.ParseMetric(target)
	if err != nil {
		t.Fatal(err)
	}
	series, err := parser.ParseMetric(served)
	if err != nil {
		t.Fatal(err)
	}
	b := labels.NewBuilder(series)
	own.Range(func(l labels.Label) {
		if theirs := series.Get(l.Name); theirs != "" {
			name := "exported_" + l.Name
			for series.Has(name) {
				name = "exported_" + name
			}
			b.Set(name, theirs)
		}
	})
	own.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
	if !relabel.ProcessBuilder(b, s.metricRelabel...) {
		return ""
	}
	return b.Labels().String()
}

// podMonitors returns what the Prometheus operator makes of podmonitors.yaml, as far as it matters here, by job.
func podMonitors(t *testing.T) map[string]scrape {
	t.Helper()
	path := filepath.Join(examples, "podmonitors.yaml")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]scrape{}
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var m monitoringv1.PodMonitor
		decode(t, path, doc, &m)
		if m.Kind != "PodMonitor" || len(m.Spec.PodMetricsEndpoints) != 1 || m.Spec.NamespaceSelector.Any == (len(m.Spec.NamespaceSelector.MatchNames) > 0) {
			t.Fatalf("%s: %s %s: want a PodMonitor with one endpoint and namespaces", path, m.Kind, m.Name)
		}
		e := m.Spec.PodMetricsEndpoints[0]
		selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		s := scrape{
			Namespaces: m.Spec.NamespaceSelector.MatchNames, Selector: selector.String(),
			Interval: string(e.Interval), Timeout: string(e.ScrapeTimeout),
			HonorLabels: e.HonorLabels, HonorTimestamps: or(e.HonorTimestamps, true), FollowRedirects: or(e.FollowRedirects, true), HTTP2: or(e.EnableHTTP2, true),
			SampleLimit: or(m.Spec.SampleLimit, 0), LabelLimit: or(m.Spec.LabelLimit, 0),
			LabelNameLimit: or(m.Spec.LabelNameLengthLimit, 0), LabelValueLimit: or(m.Spec.LabelValueLengthLimit, 0),
			BodySizeLimit: string(or(m.Spec.BodySizeLimit, "")),
		}
		// What the operator adds, before the monitor's own.
		added := []rules{{Action: "drop", SourceLabels: []string{"__meta_kubernetes_pod_phase"}, Regex: "(Failed|Succeeded)"}}
		if e.Port != nil {
			added = append(added, rules{Action: "keep", SourceLabels: []string{"__meta_kubernetes_pod_container_port_name"}, Regex: *e.Port})
		} else {
			added = append(added, rules{Action: "keep", SourceLabels: []string{"__meta_kubernetes_pod_container_port_number"}, Regex: strconv.Itoa(int(*e.PortNumber))})
		}
		for from, to := range map[string]string{"__meta_kubernetes_namespace": "namespace", "__meta_kubernetes_pod_container_name": "container", "__meta_kubernetes_pod_name": "pod"} {
			added = append(added, rules{SourceLabels: []string{from}, TargetLabel: to})
		}
		s.relabel = append(configsOf(t, added), configsOf(t, operators(e.RelabelConfigs))...)
		s.metricRelabel = configsOf(t, operators(e.MetricRelabelConfigs))
		for _, r := range s.relabel {
			if r.TargetLabel == "job" {
				s.Job = r.Replacement
			}
		}
		out[s.Job] = s
	}
	return out
}

func operators(in []monitoringv1.RelabelConfig) []rules {
	var out []rules
	for _, r := range in {
		o := rules{Action: r.Action, Regex: r.Regex, TargetLabel: r.TargetLabel, Replacement: r.Replacement}
		for _, l := range r.SourceLabels {
			o.SourceLabels = append(o.SourceLabels, string(l))
		}
		out = append(out, o)
	}
	return out
}

// scrapeConfigs returns the jobs of scrape-configs.yaml, by name.
func scrapeConfigs(t *testing.T) map[string]scrape {
	t.Helper()
	var file struct {
		ScrapeConfigs []scrapeConfig `json:"scrape_configs"`
	}
	readStrict(t, filepath.Join(examples, "scrape-configs.yaml"), &file)
	out := map[string]scrape{}
	for _, c := range file.ScrapeConfigs {
		if len(c.KubernetesSDConfigs) != 1 || c.KubernetesSDConfigs[0].Role != "pod" || len(c.KubernetesSDConfigs[0].Selectors) != 1 {
			t.Fatalf("%s: want pods, chosen by their labels", c.JobName)
		}
		sd := c.KubernetesSDConfigs[0]
		selector, err := kubelabels.Parse(sd.Selectors[0].Label)
		if err != nil {
			t.Fatal(err)
		}
		out[c.JobName] = scrape{
			Job: c.JobName, Namespaces: sd.Namespaces.Names, Selector: selector.String(), Interval: c.ScrapeInterval, Timeout: c.ScrapeTimeout,
			HonorLabels: or(c.HonorLabels, false), HonorTimestamps: or(c.HonorTimestamps, true), FollowRedirects: or(c.FollowRedirects, true), HTTP2: or(c.EnableHTTP2, true),
			SampleLimit: c.SampleLimit, LabelLimit: c.LabelLimit, LabelNameLimit: c.LabelNameLengthLimit, LabelValueLimit: c.LabelValueLengthLimit, BodySizeLimit: c.BodySizeLimit,
			relabel: configsOf(t, c.RelabelConfigs), metricRelabel: configsOf(t, c.MetricRelabelConfigs),
		}
	}
	return out
}

// configsOf reads rules as Prometheus does, with its defaults and its checks.
func configsOf(t *testing.T, in []rules) []*relabel.Config {
	t.Helper()
	var out []*relabel.Config
	for _, r := range in {
		c := relabel.DefaultRelabelConfig
		c.NameValidationScheme = model.UTF8Validation
		c.TargetLabel = r.TargetLabel
		for _, l := range r.SourceLabels {
			c.SourceLabels = append(c.SourceLabels, model.LabelName(l))
		}
		if r.Action != "" {
			c.Action = relabel.Action(r.Action)
		}
		if r.Regex != "" {
			c.Regex = relabel.MustNewRegexp(r.Regex)
		}
		if r.Replacement != nil {
			c.Replacement = *r.Replacement
		}
		if err := c.Validate(model.UTF8Validation); err != nil {
			text, _ := yaml.Marshal(r)
			t.Fatalf("%v:\n%s", err, text)
		}
		out = append(out, &c)
	}
	return out
}

func or[T any](v *T, other T) T {
	if v == nil {
		return other
	}
	return *v
}
