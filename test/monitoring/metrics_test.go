package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-state-metrics/v2/pkg/customresource"
	"k8s.io/kube-state-metrics/v2/pkg/customresourcestate"
	"k8s.io/kube-state-metrics/v2/pkg/metric"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/render/golden"
)

// exported are the metrics that rules and dashboards read, beside those of kube-state-metrics.yaml, with the program whose
// sources have them.
var exported = map[string]string{
	"up":                     "Prometheus",
	"scrape_series_added":    "Prometheus",
	"scrape_samples_scraped": "Prometheus",
	"ALERTS":                 "Prometheus",

	"argocd_app_info":                  "Argo CD 3.4.13, controller/metrics",
	"argocd_app_sync_total":            "Argo CD 3.4.13, controller/metrics",
	"argocd_cluster_connection_status": "Argo CD 3.4.13, controller/metrics",
	"argocd_kubectl_requests_total":    "Argo CD 3.4.13, util/metrics/kubectl",
	"argocd_git_fetch_fail_total":      "Argo CD 3.4.13, reposerver/metrics",
	"argocd_git_lsremote_fail_total":   "Argo CD 3.4.13, reposerver/metrics",

	"function_run_function_response_total": "Crossplane 2.4.0, internal/xfn",
	"function_run_function_seconds_bucket": "Crossplane 2.4.0, internal/xfn",
	"circuit_breaker_opens_total":          "Crossplane 2.4.0, internal/circuit",
	"circuit_breaker_events_total":         "Crossplane 2.4.0, internal/circuit",

	"process_cpu_seconds_total":     "client_golang 1.23, process collector of the function",
	"process_resident_memory_bytes": "client_golang 1.23, process collector of the function",
	"go_gc_duration_seconds_count":  "client_golang 1.23, Go collector of the function",
	"go_gc_gomemlimit_bytes":        "client_golang 1.23, Go collector of the function",

	"controller_runtime_active_workers":            "controller-runtime 0.19 and 0.23, pkg/internal/controller/metrics",
	"controller_runtime_max_concurrent_reconciles": "controller-runtime 0.19 and 0.23, pkg/internal/controller/metrics",
	"controller_runtime_reconcile_total":           "controller-runtime 0.19 and 0.23, pkg/internal/controller/metrics",
	"workqueue_depth":                              "controller-runtime 0.19 and 0.23, pkg/metrics",

	"kube_namespace_created":                           "kube-state-metrics 2.19.1, internal/store/namespace.go",
	"kube_pod_container_status_last_terminated_reason": "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_pod_container_status_restarts_total":         "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_pod_container_status_waiting_reason":         "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_pod_status_phase":                            "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_pod_status_unschedulable":                    "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_resourcequota":                               "kube-state-metrics 2.19.1, internal/store/resourcequota.go",
	"kube_pod_container_resource_requests":             "kube-state-metrics 2.19.1, internal/store/pod.go",
	"kube_node_status_allocatable":                     "kube-state-metrics 2.19.1, internal/store/node.go",
	"kube_node_spec_unschedulable":                     "kube-state-metrics 2.19.1, internal/store/node.go",

	"kube_persistentvolumeclaim_resource_requests_storage_bytes": "kube-state-metrics 2.19.1, internal/store/persistentvolumeclaim.go",

	"container_cpu_usage_seconds_total":  "the kubelet's cAdvisor",
	"container_memory_working_set_bytes": "the kubelet's cAdvisor",

	"certmanager_certificate_expiration_timestamp_seconds": "cert-manager 1, internal/collectors",
}

// knownMetrics are exported, what kube-state-metrics makes of kube-state-metrics.yaml, and what rules record.
func knownMetrics(t *testing.T) map[string]string {
	t.Helper()
	known := map[string]string{}
	for name, by := range exported {
		known[name] = by
	}
	for _, f := range factories(t) {
		for _, g := range f.MetricFamilyGenerators() {
			known[g.Name] = "kube-state-metrics.yaml"
		}
	}
	for _, g := range readRules(t, examples) {
		for _, r := range g.Rules {
			if r.Record != "" {
				known[r.Record] = "rules.yaml"
			}
		}
	}
	return known
}

// TestEveryMetricIsRead checks that something reads each exported metric: each costs series for thousands of tenants.
func TestEveryMetricIsRead(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, query := range slices.Concat(ruleQueries(t), dashboardQueries(t)) {
		names, err := metricsOf(query)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			read[name] = true
		}
	}
	rules, err := os.ReadFile(filepath.Join(examples, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range knownMetrics(t) {
		// People read what a runbook names.
		if !read[name] && !regexp.MustCompile(`\b`+name+`\b`).Match(rules) {
			t.Errorf("no rule, panel or runbook reads %s of %s", name, by)
		}
	}
}

// TestKubeStateMetrics has kube-state-metrics' own code read kube-state-metrics.yaml, and make metrics of claims, composite
// resources and channels as test/render has them.
func TestKubeStateMetrics(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind   string
		object map[string]any
		// want has lines that are among the metrics, refused what is in none of them.
		want, refused []string
	}{
		"Claim": {
			kind: "VirtualArgoCD", object: with(with(claim(t, "everything/5-ready"), "2024-01-01T00:01:30Z", "status", "readyAt"), map[string]any{"total": int64(50), "notHealthy": int64(2), "notSynced": int64(0)}, "status", "applications"),
			want: []string{
				`virtualargocd_claim_info{argocd_chart_desired="10.1.1",argocd_chart_version="10.1.1",argocd_version="v3.4.4",claim="everything",claim_namespace="team-a",composite="everything-7rw8j",` +
					`kubernetes_desired="v1.36.0",kubernetes_version="v1.36.0",plan="standard",tenant_namespace="vargo-everything-7rw8j",vcluster_desired="0.36.1",vcluster_version="0.36.1"} 1`,
				`virtualargocd_claim_created_timestamp_seconds{claim="everything",claim_namespace="team-a"} 1.7040672e+09`,
				`virtualargocd_claim_phase{claim="everything",claim_namespace="team-a",phase="Ready"} 1`,
				`virtualargocd_claim_phase{claim="everything",claim_namespace="team-a",phase="Degraded"} 0`,
				`virtualargocd_claim_progress_percent{claim="everything",claim_namespace="team-a"} 100`,
				`virtualargocd_claim_applications{claim="everything",claim_namespace="team-a",state="total",url="https://argocd.team-a.example.org"} 50`,
				`virtualargocd_claim_applications{claim="everything",claim_namespace="team-a",state="notHealthy",url="https://argocd.team-a.example.org"} 2`,
				`virtualargocd_claim_applications{claim="everything",claim_namespace="team-a",state="notSynced",url="https://argocd.team-a.example.org"} 0`,
				`virtualargocd_claim_condition{claim="everything",claim_namespace="team-a",reason="Available",type="Ready"} 1`,
				`virtualargocd_claim_condition{claim="everything",claim_namespace="team-a",reason="SecretMissing",type="ClustersConnected"} 0`,
				`virtualargocd_claim_ready_timestamp_seconds{claim="everything",claim_namespace="team-a"} 1.70406729e+09`,
				`virtualargocd_claim_certificates_expire_timestamp_seconds{claim="everything",claim_namespace="team-a"} 4.948922756e+09`,
			},
			refused: []string{"deletion_timestamp", "update_available", "victim", "git.example.org"},
		},
		"Namespaced": {
			kind: "VirtualArgoCD", object: with(rendered(t, "front/2-ready", "VirtualArgoCD"), "2024-01-01T00:00:00Z", "metadata", "creationTimestamp"),
			want: []string{
				`virtualargocd_claim_info{argocd_chart_desired="10.1.1",argocd_chart_version="10.1.1",argocd_version="v3.4.4",claim="customer1",claim_namespace="default",composite="customer1-3d055e7e325a",` +
					`kubernetes_desired="v1.36.0",kubernetes_version="v1.36.0",plan="standard",tenant_namespace="vargo-customer1-3d055e7e325a",vcluster_desired="0.36.1",vcluster_version="0.36.1"} 1`,
				`virtualargocd_claim_phase{claim="customer1",claim_namespace="default",phase="Ready"} 1`,
				`virtualargocd_claim_condition{claim="customer1",claim_namespace="default",reason="Available",type="TenantBound"} 1`,
			},
		},
		"ClaimThatComesUp": {
			kind: "VirtualArgoCD", object: claim(t, "everything/1-nothing-observed"),
			want: []string{
				`virtualargocd_claim_phase{claim="everything",claim_namespace="team-a",phase="Pending"} 1`,
				`virtualargocd_claim_progress_percent{claim="everything",claim_namespace="team-a"} 0`,
			},
		},
		"ClaimWithoutStatus": {
			kind:    "VirtualArgoCD",
			object:  without(claim(t, "everything/5-ready"), "status"),
			want:    []string{`virtualargocd_claim_info{claim="everything",claim_namespace="team-a",composite="everything-7rw8j"} 1`},
			refused: []string{"_phase", "_condition"},
		},
		"ClaimInAChannelThatIsDeleted": {
			kind: "VirtualArgoCD",
			object: with(with(claim(t, "everything/5-ready"), "2024-01-02T00:00:00Z", "metadata", "deletionTimestamp"),
				map[string]any{"name": "stable", "newest": int64(3), "revision": int64(2), "updateAvailable": true}, "status", "channel"),
			want: []string{
				`virtualargocd_claim_info{argocd_chart_desired="10.1.1",argocd_chart_version="10.1.1",argocd_version="v3.4.4",channel="stable",claim="everything",claim_namespace="team-a",composite="everything-7rw8j",` +
					`kubernetes_desired="v1.36.0",kubernetes_version="v1.36.0",plan="standard",revision="2",tenant_namespace="vargo-everything-7rw8j",vcluster_desired="0.36.1",vcluster_version="0.36.1"} 1`,
				`virtualargocd_claim_deletion_timestamp_seconds{claim="everything",claim_namespace="team-a"} 1.7041536e+09`,
				`virtualargocd_claim_update_available{channel="stable",claim="everything",claim_namespace="team-a"} 1`,
			},
		},
		"Composite": {
			kind: "XVirtualArgoCD", object: composite(t, "everything/5-ready"),
			want: []string{
				`virtualargocd_composite_info{argocd_chart_version="10.1.1",argocd_version="v3.4.4",claim="everything",claim_namespace="team-a",composite="everything-7rw8j",` +
					`kubernetes_version="v1.36.0",plan="standard",tenant_namespace="vargo-everything-7rw8j",vcluster_version="0.36.1"} 1`,
				`virtualargocd_composite_condition{claim="everything",claim_namespace="team-a",composite="everything-7rw8j",reason="WatchCircuitClosed",type="Responsive"} 1`,
			},
		},
		"Channel": {
			kind: "XArgoCDChannel", object: with(rendered(t, "channel/3-one-tenant", "XArgoCDChannel"), map[string]any{"name": "victim"}, "metadata", "labels"),
			want: []string{
				`virtualargocd_channel_info{argocd_chart_version="10.1.1",channel="stable",kubernetes_version="v1.36.0",revision="1",vcluster_version="0.36.1"} 1`,
				`virtualargocd_channel_paused{channel="stable"} 0`,
				`virtualargocd_channel_percent{channel="stable"} 100`,
				`virtualargocd_channel_step{channel="stable"} 4`,
				`virtualargocd_channel_tenants{channel="stable",state="total"} 1`,
				`virtualargocd_channel_tenants{channel="stable",state="toApply"} 0`,
				`virtualargocd_channel_condition{channel="stable",reason="TenantsWell",type="Halted"} 0`,
				`virtualargocd_channel_condition{channel="stable",reason="Complete",type="Complete"} 1`,
			},
			refused: []string{"victim"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := metrics(t, tc.kind, tc.object)
			for _, line := range tc.want {
				if !slices.Contains(got, line) {
					t.Errorf("missing: %s\ngot:\n%s", line, strings.Join(got, "\n"))
				}
			}
			for _, text := range tc.refused {
				if all := strings.Join(got, "\n"); strings.Contains(all, text) {
					t.Errorf("%q is in:\n%s", text, all)
				}
			}
			seen := map[string]bool{}
			for _, line := range got {
				if key := line[:strings.LastIndex(line, " ")]; seen[key] {
					t.Errorf("twice: %s", key)
				} else {
					seen[key] = true
				}
			}
		})
	}
}

// TestPhasesAreComplete holds kube-state-metrics.yaml to the phases that a tenant can have.
func TestPhasesAreComplete(t *testing.T) {
	t.Parallel()
	for _, phase := range []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseProvisioning, v1alpha1.PhaseFailing, v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded,
	} {
		c := with(claim(t, "everything/5-ready"), string(phase), "status", "phase")
		want := fmt.Sprintf(`virtualargocd_claim_phase{claim="everything",claim_namespace="team-a",phase="%s"} 1`, phase)
		if got := metrics(t, "VirtualArgoCD", c); !slices.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

// TestOwnGroup puts the API group of examples/demo-group in place of ours, as README.md says: kube-state-metrics then reads the kinds that
// definition.yaml there defines.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	type names struct{ Kind, Plural string }
	var definition struct {
		Spec struct {
			Group             string
			Names, ClaimNames names
			Versions          []struct{ Name string }
		}
	}
	raw, err := os.ReadFile("../../examples/demo-group/definition.yaml")
	if err == nil {
		err = yaml.Unmarshal(raw, &definition)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := definition.Spec
	factories := factoriesOf(t, func(config string) string {
		return strings.Replace(config, "group: virtualargocd.io", "group: "+d.Group, 2)
	})
	for i, n := range []names{d.ClaimNames, d.Names} {
		is := factories[i].ExpectedType().(*unstructured.Unstructured).GroupVersionKind() //nolint:forcetypeassert // It is in the package's doc.
		want := schema.GroupVersionKind{Group: d.Group, Version: d.Versions[0].Name, Kind: n.Kind}
		// rbac.yaml names the plurals: see TestRightsOfKubeStateMetrics.
		if is != want || factories[i].Name() != n.Plural {
			t.Errorf("kube-state-metrics reads %s, %s, want %s, %s", is, factories[i].Name(), want, n.Plural)
		}
	}
}

// metrics returns what kube-state-metrics tells of an object, a line each, without the labels that it gives all of them.
func metrics(t *testing.T, kind string, object map[string]any) []string {
	t.Helper()
	var out []string
	for _, f := range factories(t) {
		gvk := f.ExpectedType().(*unstructured.Unstructured).GroupVersionKind() //nolint:forcetypeassert // It is in the package's doc.
		if gvk.Kind != kind || gvk.GroupVersion().String() != object["apiVersion"] {
			continue
		}
		for _, g := range f.MetricFamilyGenerators() {
			family := g.GenerateFunc(&unstructured.Unstructured{Object: object})
			family.Name, family.Type = g.Name, g.Type
			for _, line := range strings.Split(strings.TrimSpace(string(family.ByteSlice())), "\n") {
				for _, l := range []string{fmt.Sprintf("group=%q", gvk.Group), fmt.Sprintf("kind=%q", kind), `version="v1alpha1"`} {
					line = strings.Replace(line, "customresource_"+l+",", "", 1)
					line = strings.Replace(line, ",customresource_"+l, "", 1)
				}
				if line != "" {
					out = append(out, line)
				}
			}
		}
	}
	return out
}

// factories reads kube-state-metrics.yaml as kube-state-metrics does, and refuses unknown fields, which it doesn't.
func factories(t *testing.T) []customresource.RegistryFactory {
	t.Helper()
	return factoriesOf(t, func(config string) string { return config })
}

// factoriesOf does the same with an edited kube-state-metrics.yaml.
func factoriesOf(t *testing.T, edit func(string) string) []customresource.RegistryFactory {
	t.Helper()
	var config struct {
		Kind string                          `json:"kind" yaml:"kind"`
		Spec customresourcestate.MetricsSpec `json:"spec" yaml:"spec"`
	}
	readStrict(t, filepath.Join(examples, "kube-state-metrics.yaml"), &config)
	raw, err := os.ReadFile(filepath.Join(examples, "kube-state-metrics.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config.Spec = customresourcestate.MetricsSpec{}
	if err := goyaml.Unmarshal([]byte(edit(string(raw))), &config); err != nil {
		t.Fatal(err)
	}
	var out []customresource.RegistryFactory
	for _, r := range config.Spec.Resources {
		// As its function FromConfig does, which needs a cluster.
		for i := range r.Metrics {
			r.Metrics[i].Each.Type = metric.Type(strings.ToLower(string(r.Metrics[i].Each.Type)))
		}
		f, err := customresourcestate.NewCustomResourceMetrics(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// composite returns the composite resource in a folder of golden files of test/render.
func composite(t *testing.T, dir string) map[string]any {
	t.Helper()
	return with(rendered(t, dir, "XVirtualArgoCD"), "2024-01-01T00:00:00Z", "metadata", "creationTimestamp")
}

// rendered returns the object of a kind in a folder of golden files of test/render.
func rendered(t *testing.T, dir, kind string) map[string]any {
	t.Helper()
	objects, err := golden.Read(filepath.Join("..", "render", "testdata", "golden", filepath.FromSlash(dir)))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() == kind {
			return o.Object
		}
	}
	t.Fatalf("%s: no %s", dir, kind)
	return nil
}

// claim returns the claim of such a composite resource, as Crossplane keeps it, with labels and annotations by which a customer
// would forge metrics.
func claim(t *testing.T, dir string) map[string]any {
	t.Helper()
	xr := composite(t, dir)
	name, _, _ := unstructured.NestedString(xr, "metadata", "name")
	c := without(xr, "spec", "claimRef")
	c["kind"] = "VirtualArgoCD"
	c["metadata"] = map[string]any{
		"name": "everything", "namespace": "team-a", "creationTimestamp": "2024-01-01T00:00:00Z",
		"labels":      map[string]any{"name": "victim", "namespace": "victim", "phase": "victim"},
		"annotations": map[string]any{"name": "victim", "claim": "victim"},
	}
	return with(c, map[string]any{"name": name}, "spec", "resourceRef")
}

func with(o map[string]any, value any, path ...string) map[string]any {
	if err := unstructured.SetNestedField(o, value, path...); err != nil {
		panic(err)
	}
	return o
}

func without(o map[string]any, path ...string) map[string]any {
	unstructured.RemoveNestedField(o, path...)
	return o
}
