//go:build e2e

package monitoring

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// The tests in this file run programs that take minutes to build: see `make test-monitoring`, which `make e2e-full` includes.

// TestPromtool runs promtool on the rules, the scrape configurations and the tests in testdata, of a cell and of what is above all cells.
func TestPromtool(t *testing.T) {
	t.Parallel()
	// The file with the token for cells isn't there.
	syntax := map[string][]string{cellsExamples: {"--syntax-only"}}
	for folder, file := range map[string]string{examples: "rules.yaml", cellsExamples: "cells.yaml"} {
		dir := t.TempDir()
		rule := map[string]any{}
		readStrict(t, filepath.Join(folder, "rules.yaml"), &rule)
		write(t, filepath.Join(dir, "rules-spec.yaml"), rule["spec"])
		tests, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), tests, 0o600); err != nil {
			t.Fatal(err)
		}
		scrapes, err := filepath.Abs(filepath.Join(folder, "scrape-configs.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "prometheus.yaml"), map[string]any{"rule_files": []string{"rules-spec.yaml"}, "scrape_config_files": []string{scrapes}})
		for name, args := range map[string][]string{
			"Rules":         {"check", "rules", "--lint=all", "--lint-fatal", "rules-spec.yaml"},
			"Configuration": slices.Concat([]string{"check", "config"}, syntax[folder], []string{"--lint=all", "--lint-fatal", "prometheus.yaml"}),
			"Tests":         {"test", "rules", file},
		} {
			t.Run(file+"/"+name, func(t *testing.T) {
				t.Parallel()
				run(t, dir, "promtool", args...)
			})
		}
	}
}

// TestDashboardLinter runs Grafana's linter on the dashboards. testdata/lint.yaml says which of its rules don't apply, and why.
func TestDashboardLinter(t *testing.T) {
	t.Parallel()
	config, err := filepath.Abs(filepath.Join("testdata", "lint.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, "dashboards/*.json") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			run(t, filepath.Dir(path), "dashboard-linter", "lint", "--strict", "--config="+config, filepath.Base(path))
		})
	}
}

// TestScrapes lets Prometheus scrape servers that stand for tenants' pods, with the jobs of scrape-configs.yaml. Those of
// podmonitors.yaml are the same.
func TestScrapes(t *testing.T) {
	t.Parallel()
	const controllers, repoServers, kept = "virtual-argocd-controllers", "virtual-argocd-repo-servers", "virtual-argocd-controllers-all-labels"
	connected := func(labels string) http.HandlerFunc {
		return text("argocd_cluster_connection_status{" + labels + "} 1\n")
	}
	labels := make([]string, 40)
	for i := range labels {
		labels[i] = fmt.Sprintf("l%d=\"x\"", i)
	}
	manyLabels, longName := strings.Join(labels, ","), strings.Repeat("l", 61)+`="x"`
	const comment = "# a line that says nothing, again and again\n"
	// sized returns an answer with one series and so many bytes.
	sized := func(series string, size int) string {
		return series + strings.Repeat(comment, (size-len(series))/len(comment))
	}
	const cluster, repository = `argocd_cluster_connection_status{server="https://a"} 1` + "\n", `argocd_git_fetch_fail_total{repo="https://git"} 1` + "\n"
	large := sized(cluster, 4<<20+1000)
	cases := map[string]struct {
		job    string
		serves http.HandlerFunc
		// refused is a part of the error for which Prometheus keeps nothing of the answer; else there are stored series
		// with these labels.
		refused string
		stored  map[string]string
	}{
		"Cluster":       {controllers, connected(`server="https://a"`), "", map[string]string{"server": "https://a", "namespace": "vargo-shop-x1", "job": controllers}},
		"NearlyLarge":   {controllers, text(sized(cluster, 4<<20-1000)), "", map[string]string{"server": "https://a"}},
		"Repository":    {repoServers, text(repository), "", map[string]string{"repo": "https://git", "namespace": "vargo-shop-x1"}},
		"OfAnother":     {controllers, connected(`server="https://a",namespace="vargo-main-x2",job="kube-state-metrics"`), "", map[string]string{"namespace": "vargo-shop-x1", "job": controllers, "exported_namespace": "vargo-main-x2"}},
		"OfAnHourAgo":   {controllers, text(fmt.Sprintf("argocd_cluster_connection_status{server=\"https://a\"} 1 %d\n", time.Now().Add(-time.Hour).UnixMilli())), "", map[string]string{"server": "https://a"}},
		"ManyLabels":    {controllers, connected(`server="https://a",` + manyLabels), "", map[string]string{"server": "https://a", "l0": ""}},
		"Large":         {controllers, text(large), "body size limit exceeded", nil},
		"LargeUnpacked": {controllers, packed(large), "body size limit exceeded", nil},
		"Endless":       {controllers, endless(comment), "body size limit exceeded", nil},
		"ManySamples":   {controllers, text(many("argocd_cluster_connection_status", 2001)), "sample limit exceeded", nil},
		"LongValue":     {controllers, connected(fmt.Sprintf("server=%q", strings.Repeat("s", 251))), "label_value_length_limit exceeded", nil},
		"Elsewhere":     {controllers, http.RedirectHandler("http://127.0.0.1/metrics", http.StatusFound).ServeHTTP, "302 Found", nil},

		"LargeOfRepoServer":       {repoServers, text(sized(repository, 512<<10+1000)), "body size limit exceeded", nil},
		"NearlyLargeOfRepoServer": {repoServers, text(sized(repository, 512<<10-1000)), "", map[string]string{"repo": "https://git"}},
		"ManySamplesOfRepoServer": {repoServers, text(many("argocd_git_fetch_fail_total", 201)), "sample limit exceeded", nil},
		"LongValueOfRepoServer":   {repoServers, text("argocd_git_fetch_fail_total{repo=\"" + strings.Repeat("s", 251) + "\"} 1\n"), "label_value_length_limit exceeded", nil},

		// These limits are for those who keep more labels.
		"ManyLabelsKept": {kept, connected(manyLabels), "label_limit exceeded", nil},
		"LongNameKept":   {kept, connected(longName), "label_name_length_limit exceeded", nil},
	}

	// Targets that are configured, in place of pods that are found.
	jobs := map[string]map[string]any{}
	for _, name := range []string{controllers, repoServers} {
		jobs[name] = jobOf(t, name)
	}
	jobs[kept] = jobOf(t, controllers)
	jobs[kept]["job_name"] = kept
	jobs[kept]["metric_relabel_configs"] = slices.DeleteFunc(jobs[kept]["metric_relabel_configs"].([]any), func(r any) bool { return r.(map[string]any)["action"] == "labelkeep" })
	instances := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		tc := cases[name]
		server := httptest.NewServer(tc.serves)
		t.Cleanup(server.Close)
		instances[name] = strings.TrimPrefix(server.URL, "http://")
		pod, container, port := fmt.Sprintf("argocd-application-controller-%d-x-argocd-x-vcluster", i%4), "application-controller", "8082"
		if tc.job == repoServers {
			pod, container, port = fmt.Sprintf("argocd-repo-server-6c4f-%05d-x-argocd-x-vcluster", i), "repo-server", "8084"
		}
		configs, _ := jobs[tc.job]["static_configs"].([]any)
		jobs[tc.job]["static_configs"] = append(configs, map[string]any{"targets": []string{instances[name]}, "labels": map[string]any{
			"__meta_kubernetes_namespace": "vargo-shop-x1", "__meta_kubernetes_pod_name": pod, "__meta_kubernetes_pod_phase": "Running",
			"__meta_kubernetes_pod_container_port_number": port, "__meta_kubernetes_pod_container_name": container,
			"__meta_kubernetes_pod_container_init": "false",
		}})
	}
	api := startPrometheus(t, map[string]any{"scrape_configs": []any{jobs[controllers], jobs[repoServers], jobs[kept]}})

	targets := map[string]target{}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		var answer struct {
			Data struct {
				ActiveTargets []target `json:"activeTargets"`
			} `json:"data"`
		}
		err := get(t.Context(), api+"/api/v1/targets?state=active", &answer)
		clear(targets)
		for _, target := range answer.Data.ActiveTargets {
			if target.Health != "unknown" {
				targets[target.Labels["instance"]] = target
			}
		}
		if len(targets) == len(cases) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus has scraped %d of %d targets: %v", len(targets), len(cases), err)
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			target := targets[instances[name]]
			var answer struct {
				Data struct {
					Result []struct {
						Metric map[string]string `json:"metric"`
					} `json:"result"`
				} `json:"data"`
			}
			query := fmt.Sprintf(`{__name__=~"argocd.+", instance=%q}`, instances[name])
			if err := get(t.Context(), api+"/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
				t.Fatal(err)
			}
			series := answer.Data.Result
			if tc.refused != "" {
				if !strings.Contains(target.LastError, tc.refused) || len(series) > 0 {
					t.Errorf("want the error %q and no series, got %q and %d", tc.refused, target.LastError, len(series))
				}
				return
			}
			if target.LastError != "" || len(series) != 1 {
				t.Fatalf("want no error and one series, got %q and %d", target.LastError, len(series))
			}
			for label, want := range tc.stored {
				if got := series[0].Metric[label]; got != want {
					t.Errorf("label %s is %q, want %q, in %v", label, got, want, series[0].Metric)
				}
			}
		})
	}
}

type target struct {
	Health    string            `json:"health"`
	LastError string            `json:"lastError"`
	Labels    map[string]string `json:"labels"`
}

// jobOf reads a job of scrape-configs.yaml. It scrapes more often, so that the test needn't wait, and finds no pods.
func jobOf(t *testing.T, name string) map[string]any {
	t.Helper()
	var file struct {
		ScrapeConfigs []map[string]any `json:"scrape_configs"`
	}
	readStrict(t, filepath.Join(examples, "scrape-configs.yaml"), &file)
	for _, job := range file.ScrapeConfigs {
		if job["job_name"] == name {
			delete(job, "kubernetes_sd_configs")
			job["scrape_interval"] = job["scrape_timeout"]
			return job
		}
	}
	t.Fatalf("no job %s", name)
	return nil
}

// startPrometheus runs Prometheus for the time of a test, and returns its address.
func startPrometheus(t *testing.T, config map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prometheus.yaml"), config)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, "prometheus"), "--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+address, "--log.level=warn") //nolint:gosec,noctx // The program is the cache's, and the test ends it.
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Prometheus: %v\n%s", err, said)
		}
	})
	return "http://" + address
}

// get reads an answer of Prometheus' API.
func get(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // It has been read.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

func text(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, content)
	}
}

// packed serves a text compressed, to a size below any limit.
func packed(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, content)
		_ = z.Close()
	}
}

// endless serves a line until the client has enough.
func endless(line string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	}
}

// many returns so many series of a metric.
func many(metric string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s{server=\"https://%d\",repo=\"https://%d\"} 1\n", metric, i, i)
	}
	return b.String()
}

// run runs a program of the lab in a folder, and fails with what it says where it fails.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, name), args...) //nolint:gosec // The program is the cache's.
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// program returns the path of a program of the lab.
func program(t *testing.T, name string) string {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	path, err := cache.Binary(name)
	if err != nil {
		t.Fatalf("`make test-monitoring` builds what this test runs: %v", err)
	}
	return path
}

func write(t *testing.T, path string, content any) {
	t.Helper()
	raw, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
