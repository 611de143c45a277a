package connections

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/metrics"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// Metrics of Argo CD's application controller (3.0 to 3.6).
const (
	// clusterMetric is 1 for a cluster that Argo CD has read. It stays so until Argo CD reads the cluster again as a whole, which it does
	// after hours: argoproj/gitops-engine#559.
	clusterMetric = "argocd_cluster_connection_status{"
	// requestMetric counts the requests to API servers. A watch that has ended is tried again each second, so that a cluster that can't be
	// reached shows here.
	requestMetric = "argocd_kubectl_requests_total{"
)

// requests are the counts of an application controller's requests to an API server.
type requests struct {
	// answered, refused (401), and failed before there was a response, or in the API server.
	answered, refused, failed float64
	// unread reports whether Argo CD had not read a cluster there by then. Argo CD's metric of that is up to half a minute older than its
	// counts: that it changes says that the cluster was read, whether or not there were requests since.
	unread bool
}

// since returns how many there were since an earlier count. A controller that was restarted counts from zero.
func (r requests) since(b requests) requests {
	if r.answered < b.answered || r.refused < b.refused || r.failed < b.failed {
		return r
	}
	return requests{answered: r.answered - b.answered, refused: r.refused - b.refused, failed: r.failed - b.failed}
}

func (r requests) fail() bool { return r.refused+r.failed > 0 && r.answered == 0 }

// add adds requests with a status code.
func (r requests) add(code string, n float64) requests {
	switch {
	case code == strconv.Itoa(http.StatusUnauthorized):
		r.refused += n
	case code == "<error>" || strings.HasPrefix(code, "5"):
		r.failed += n
	default:
		r.answered += n
	}
	return r
}

// Bounds of what a poll keeps of metrics: a tenant may have any number of Applications and clusters.
const (
	// maxControllers is of how many application controllers metrics are read. Clusters may be spread over several.
	maxControllers = 4
	maxHosts       = 200
	maxHost        = 300
	maxUnclear     = 2
)

// said is what the metrics of one application controller say.
type said struct {
	// status of the clusters that were asked for, by their servers; hosts are how many clusters there are of each host, and requests the
	// counts of those that were asked for, by host.
	status   map[string]bool
	hosts    map[string]int
	requests map[string]requests
	// unclear are Applications that can't be compared, by the repository and by the cluster that they use.
	unclear map[proxy.ConnectionKey][]appName
	// compared are the repositories of Applications that could be compared.
	compared map[proxy.ConnectionKey]bool
}

// readMetrics reads the metrics of an application controller. It reports false if not all were read.
func (p *poll) readMetrics(ctx context.Context, pod string) (said, bool) {
	m := said{status: map[string]bool{}, hosts: map[string]int{}, requests: map[string]requests{}, unclear: map[proxy.ConnectionKey][]appName{}, compared: map[proxy.ConnectionKey]bool{}}
	read, ok := metrics.Lines(ctx, p.client, p.namespace, pod, maxMetrics-p.metricBytes, func(line string) bool {
		app, cluster, request := strings.HasPrefix(line, metrics.Apps), strings.HasPrefix(line, clusterMetric), strings.HasPrefix(line, requestMetric)
		if !app && !cluster && !request {
			return true
		}
		labels, value, ok := metrics.Read(line)
		switch {
		case !ok:
		case app:
			m.addApp(p, labels)
		case cluster:
			m.addCluster(p, labels["server"], value)
		default:
			// Metrics are sorted by name: the clusters come first.
			if counts, asked := m.requests[labels["host"]]; asked {
				m.requests[labels["host"]] = counts.add(labels["code"], value)
			}
		}
		return true
	})
	p.metricBytes += read
	return m, ok
}

func (m said) addApp(p *poll, labels map[string]string) {
	keys := []proxy.ConnectionKey{proxy.RepositoryKey(labels["repo"]), proxy.ClusterKey(labels["dest_server"])}
	app := appName{labels["namespace"], labels["name"]}
	switch status := labels["sync_status"]; {
	case status == "Synced" || status == "OutOfSync":
		if p.asked[keys[0]] {
			m.compared[keys[0]] = true
		}
	case status == "Unknown" && virtualapi.IsName(app.namespace) && virtualapi.IsName(app.name):
		for _, k := range keys {
			if p.asked[k] && len(m.unclear[k]) < maxUnclear {
				m.unclear[k] = append(m.unclear[k], app)
			}
		}
	}
}

func (m said) addCluster(p *poll, server string, value float64) {
	// A part of a line keeps the whole line in memory.
	host := strings.Clone(hostOf(server))
	if len(host) <= maxHost && (len(m.hosts) < maxHosts || m.hosts[host] > 0) {
		m.hosts[host]++
	}
	if p.asked[proxy.ClusterKey(server)] {
		m.status[strings.Clone(server)] = value == 1
		m.requests[host] = requests{unread: m.requests[host].unread || value != 1}
	}
}

// hostOf returns the host and port of a URL, as Argo CD counts requests by them.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Host
}

// hasFailures reports whether requests to a cluster that was asked for have failed.
func (m said) hasFailures() bool {
	for server := range m.status {
		if r := m.requests[hostOf(server)]; r.refused+r.failed > 0 {
			return true
		}
	}
	return false
}

// readControllers finds what the application controllers' metrics say, and reads the errors of Applications that use what seems to fail.
func (p *poll) readControllers(ctx context.Context) {
	pods, _ := p.client.ReadyPods(ctx, p.namespace, metrics.Controller)
	errors := 0
	for i, pod := range pods {
		if i == maxControllers {
			break
		}
		m, before, ok := p.sample(ctx, pod)
		switch {
		case !ok && ctx.Err() != nil:
			return
		case !ok:
			continue
		}
		if p.requests == nil {
			p.requests = map[string]map[string]requests{}
		}
		p.requests[pod] = m.requests
		p.setClusters(m, before)
		for k := range m.compared {
			p.set(k, true, "")
		}
		for _, k := range slices.Sorted(maps.Keys(m.unclear)) {
			for _, app := range m.unclear[k] {
				if errors++; errors <= maxErrors {
					p.readError(ctx, k, app)
				}
			}
		}
	}
	p.readSources(ctx)
}

// sample returns the metrics of an application controller, and the counts of requests before them. If there are none from an earlier poll,
// failures could be old ones, from before the proxy was restarted: then it reads the metrics twice.
func (p *poll) sample(ctx context.Context, pod string) (m said, before map[string]requests, ok bool) {
	if m, ok = p.readMetrics(ctx, pod); !ok {
		return m, nil, false
	}
	before = p.before[pod]
	if before != nil || !m.hasFailures() {
		return m, before, true
	}
	before = m.requests
	select {
	case <-ctx.Done():
		return m, nil, false
	case <-time.After(p.store.Sample):
	}
	m, ok = p.readMetrics(ctx, pod)
	return m, before, ok
}

// setClusters sets what was found of the clusters.
func (p *poll) setClusters(m said, before map[string]requests) {
	for server, connected := range m.status {
		k, host := proxy.ClusterKey(server), hostOf(server)
		now := m.requests[host].since(before[host])
		switch {
		case !connected:
			p.set(k, false, "")
		// Clusters with the same host, behind paths, are counted together.
		case m.hosts[host] == 1 && now.refused > 0 && now.fail():
			p.set(k, false, "Argo CD's requests are answered with 401 Unauthorized: its credentials aren't accepted")
		case m.hosts[host] == 1 && now.fail():
			p.set(k, false, "Argo CD's requests get no answer, or one with a status of 500 and more")
		case m.hosts[host] != 1 || now.answered > 0 || before == nil || before[host].unread:
			p.set(k, true, "")
		default:
			// There were no requests since.
			p.quiet[k] = true
		}
	}
}
