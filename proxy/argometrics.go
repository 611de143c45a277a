package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Metrics of Argo CD's application controller (3.0 to 3.6).
const (
	metricsPort = "8082"
	// metricApp has the repository, the destination and the sync status of each Application.
	metricApp = "argocd_app_info{"
	// metricCluster is 1 for a cluster that Argo CD has read. It stays so until Argo CD reads the
	// cluster again as a whole, which it does after hours: argoproj/gitops-engine#559.
	metricCluster = "argocd_cluster_connection_status{"
	// metricRequests counts the requests to API servers. A watch that has ended is tried again each
	// second, so that a cluster that can't be reached shows here.
	metricRequests = "argocd_kubectl_requests_total{"
)

var (
	// metricLine is a line of metrics: name, labels and value.
	metricLine  = regexp.MustCompile(`^[a-z_]+\{(.*)\} ([0-9.e+]+)`)
	metricLabel = regexp.MustCompile(`([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"`)
	// objectNames are names of objects, and of namespaces.
	objectNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	unescape    = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, " ")
)

// readMetric returns the labels and the value in a line of metrics.
func readMetric(line string) (labels map[string]string, value float64, ok bool) {
	match := metricLine.FindStringSubmatch(line)
	if match == nil {
		return nil, 0, false
	}
	value, err := strconv.ParseFloat(match[2], 64)
	labels = map[string]string{}
	for _, l := range metricLabel.FindAllStringSubmatch(match[1], -1) {
		labels[l[1]] = unescape.Replace(l[2])
	}
	return labels, value, err == nil
}

// requests are the counts of an application controller's requests to an API server.
type requests struct {
	// answered, refused (401), and failed before there was an answer, or in the API server.
	answered, refused, failed float64
}

// since returns how many there were since an earlier count. A controller that was restarted counts anew.
func (r requests) since(b requests) requests {
	if r.answered < b.answered || r.refused < b.refused || r.failed < b.failed {
		return r
	}
	return requests{r.answered - b.answered, r.refused - b.refused, r.failed - b.failed}
}

func (r requests) fail() bool { return r.refused+r.failed > 0 && r.answered == 0 }

// count counts requests with a status code.
func (r requests) count(code string, n float64) requests {
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

// An appName is that of an Application that Argo CD can't compare.
type appName struct{ namespace, name string }

// Bounds of what a glance keeps of metrics: a tenant may have any number of Applications and clusters.
const (
	maxHosts    = 200
	maxHost     = 300
	maxUnclear  = 2
	maxExplains = 12
	// maxConditions is how many conditions of an Application are read. Argo CD has one of each type.
	maxConditions = 10
	// firstApplications is how many Applications are read for their further sources.
	firstApplications = "40"
)

// told is what the metrics of an application controller tell.
type told struct {
	// status of the clusters that were asked for, by their servers; hosts are how many clusters there are
	// of each host, and requests the counts of those that were asked for, by host.
	status   map[string]bool
	hosts    map[string]int
	requests map[string]requests
	// unclear are Applications that can't be compared, by the repository and by the cluster that they use.
	unclear map[ConnectionKey][]appName
	// compares are the repositories of Applications that could be compared.
	compares map[ConnectionKey]bool
}

// read reads the metrics of a pod.
func (l *glance) read(ctx context.Context, pod string) (told, bool) {
	t := told{status: map[string]bool{}, hosts: map[string]int{}, requests: map[string]requests{}, unclear: map[ConnectionKey][]appName{}, compares: map[ConnectionKey]bool{}}
	ok := l.lines(ctx, pod, metricsPort, func(line string) {
		app, cluster, request := strings.HasPrefix(line, metricApp), strings.HasPrefix(line, metricCluster), strings.HasPrefix(line, metricRequests)
		if !app && !cluster && !request {
			return
		}
		labels, value, ok := readMetric(line)
		switch {
		case !ok:
		case app:
			t.addApp(l, labels)
		case cluster:
			t.addCluster(l, labels["server"], value)
		default:
			// Metrics are sorted by name: the clusters come first.
			if counts, asked := t.requests[labels["host"]]; asked {
				t.requests[labels["host"]] = counts.count(labels["code"], value)
			}
		}
	})
	return t, ok
}

func (t told) addApp(l *glance, labels map[string]string) {
	keys := []ConnectionKey{RepositoryKey(labels["repo"]), ClusterKey(labels["dest_server"])}
	is := appName{labels["namespace"], labels["name"]}
	switch status := labels["sync_status"]; {
	case status == "Synced" || status == "OutOfSync":
		if l.asked[keys[0]] {
			t.compares[keys[0]] = true
		}
	case status == "Unknown" && objectNames.MatchString(is.namespace) && objectNames.MatchString(is.name):
		for _, k := range keys {
			if l.asked[k] && len(t.unclear[k]) < maxUnclear {
				t.unclear[k] = append(t.unclear[k], is)
			}
		}
	}
}

func (t told) addCluster(l *glance, server string, value float64) {
	// A part of a line keeps the whole line in memory.
	host := strings.Clone(hostOf(server))
	if len(host) <= maxHost && (len(t.hosts) < maxHosts || t.hosts[host] > 0) {
		t.hosts[host]++
	}
	if l.asked[ClusterKey(server)] {
		t.status[strings.Clone(server)] = value == 1
		if _, ok := t.requests[host]; !ok {
			t.requests[host] = requests{}
		}
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

// fromMetrics finds what the application controllers' metrics say, and asks for the errors of
// Applications that use what seems to fail.
func (l *glance) fromMetrics(ctx context.Context) {
	pods := l.pods(ctx, controllerName)
	explains := 0
	for i, pod := range pods {
		if i == maxControllers {
			break
		}
		t, ok := l.read(ctx, pod)
		if !ok {
			continue
		}
		before := l.before[pod]
		// Without an earlier count, failures could be old ones: the proxy may have been restarted.
		if before == nil && t.hasFailures() {
			before = t.requests
			if !sleep(ctx, l.proxy.pace.sample) {
				return
			}
			if t, ok = l.read(ctx, pod); !ok {
				continue
			}
		}
		if l.requests == nil {
			l.requests = map[string]map[string]requests{}
		}
		l.requests[pod] = t.requests
		l.clusters(t, before)
		for k := range t.compares {
			l.find(k, true, "")
		}
		for _, k := range slices.Sorted(keysOf(t.unclear)) {
			for _, app := range t.unclear[k] {
				if explains++; explains <= maxExplains {
					l.explain(ctx, k, app)
				}
			}
		}
	}
	l.fromSources(ctx)
}

func keysOf[V any](m map[ConnectionKey]V) func(func(ConnectionKey) bool) {
	return func(yield func(ConnectionKey) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// hasFailures reports whether requests to a cluster that was asked for have failed.
func (t told) hasFailures() bool {
	for server := range t.status {
		if r := t.requests[hostOf(server)]; r.refused+r.failed > 0 {
			return true
		}
	}
	return false
}

// clusters finds the clusters.
func (l *glance) clusters(t told, before map[string]requests) {
	for server, connected := range t.status {
		k, host := ClusterKey(server), hostOf(server)
		now := t.requests[host].since(before[host])
		switch {
		case !connected:
			l.find(k, false, "")
		// Clusters with the same host, behind paths, are counted together.
		case t.hosts[host] == 1 && now.refused > 0 && now.fail():
			l.find(k, false, "Argo CD's requests are answered with 401 Unauthorized: its credentials aren't accepted")
		case t.hosts[host] == 1 && now.fail():
			l.find(k, false, "Argo CD's requests get no answer, or one with a status of 500 and more")
		case t.hosts[host] != 1 || now.answered > 0 || before == nil:
			l.find(k, true, "")
		default:
			// There were no requests since.
			l.quiet[k] = true
		}
	}
}

// What begins the messages of an Application's conditions.
const (
	ofTarget = "Failed to load target state: "
	ofLive   = "Failed to load live state: "
)

var (
	// ofSource precedes the error of one of an Application's sources.
	ofSource = regexp.MustCompile(`^failed to generate manifest for source (\d+) of \d+: `)
	rpcError = regexp.MustCompile(`^rpc error: code = \w+ desc = `)
	// wasRead are words of errors that come once Argo CD has read the repository, whatever else they say.
	wasRead = regexp.MustCompile(`(?i)app path does not exist|app path is|to a commit SHA|manifest generation error|error unmarshal|failed to unmarshal|helm template|error converting YAML|reference not found`)
	// unreached are words of errors of Git, Helm and OCI clients that couldn't connect, or weren't let in.
	unreached = regexp.MustCompile(`(?i)authenti|authoriz|unauthori[sz]ed|forbidden|permission denied|access denied|credential|could not read|repository not found|unable to connect|not a valid chart repository|` +
		`failed to list refs|failed to initialize repository|dial tcp|no such host|connection re(fused|set)|no route to host|network is unreachable|i/o timeout|timed out|x509:|tls:|certificate|knownhosts|ssh: |handshake|\b40[13]\b|\b50[0-9]\b`)
	// further are words of errors that are about something else than the Application's own repository, such as
	// a dependency of its chart.
	further = regexp.MustCompile("(?i)helm dependency|kustomize build|plugin sidecar")
)

// appError is what the proxy reads of an Application, or of one in a list.
type appError struct {
	Spec struct {
		Source  appSource   `json:"source"`
		Sources []appSource `json:"sources"`
	} `json:"spec"`
	Status struct {
		Sync struct {
			Status string `json:"status"`
		} `json:"sync"`
		Conditions []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

type appSource struct {
	RepoURL string `json:"repoURL"`
}

// applicationsIn returns the path of the Applications in a namespace.
func applicationsIn(namespace string) string {
	return strings.TrimSuffix(applications.path, "/applications") + "/namespaces/" + namespace + "/applications"
}

// get reads what the virtual API server has at a path. It reports whether there is something.
func (l *glance) get(ctx context.Context, path, query string, into any) bool {
	answer, err := get(ctx, l.server, path+query)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	body, release, err := l.proxy.read(ctx, l.server, answer, path)
	defer release()
	return err == nil && answer.StatusCode == http.StatusOK && l.proxy.decode(ctx, func() error { return json.Unmarshal(body, into) }) == nil
}

// fromSources finds repositories in the further sources of Applications, of which metrics have the first alone. It reads the
// first Applications only.
func (l *glance) fromSources(ctx context.Context) {
	unseen := func(k ConnectionKey) bool { _, ok := l.found[k]; return l.asked[k] && !ok }
	some := false
	for k := range l.asked {
		some = some || strings.HasPrefix(string(k), "r.") && unseen(k)
	}
	list := struct {
		Items []appError `json:"items"`
	}{}
	if !some || !l.get(ctx, applicationsIn(l.namespace), "?limit="+firstApplications, &list) {
		return
	}
	for _, app := range list.Items {
		if status := app.Status.Sync.Status; len(app.Spec.Sources) < 2 || status != "Synced" && status != "OutOfSync" {
			continue
		}
		for _, source := range app.Spec.Sources {
			if k := RepositoryKey(source.RepoURL); unseen(k) {
				l.find(k, true, "")
			}
		}
	}
}

// explain reads why an Application can't be compared, which says whether its repository or its cluster
// can't be reached.
func (l *glance) explain(ctx context.Context, k ConnectionKey, of appName) {
	app := appError{}
	if !l.get(ctx, applicationsIn(of.namespace)+"/"+of.name, "", &app) {
		return
	}
	for i, c := range app.Status.Conditions {
		if i == maxConditions {
			return
		}
		if len(c.Message) > maxSaid {
			c.Message = c.Message[:maxSaid]
		}
		if message, ok := strings.CutPrefix(c.Message, ofTarget); ok {
			l.explainSource(app, message)
		}
		if message, ok := strings.CutPrefix(c.Message, ofLive); ok && strings.HasPrefix(string(k), "c.") {
			if is, ok := l.found[k]; ok && !is.Connected {
				l.find(k, false, message)
			}
		}
	}
}

// explainSource finds the repository of an Application's source that Argo CD can't read.
func (l *glance) explainSource(app appError, message string) {
	sources, at := app.Spec.Sources, 0
	if len(sources) == 0 {
		sources = []appSource{app.Spec.Source}
	}
	if match := ofSource.FindStringSubmatch(message); match != nil {
		n, _ := strconv.Atoi(match[1])
		message, at = strings.TrimPrefix(message, match[0]), n-1
	}
	if at < 0 || at >= len(sources) {
		return
	}
	message = rpcError.ReplaceAllString(message, "")
	k := RepositoryKey(sources[at].RepoURL)
	switch {
	case !l.asked[k] || further.MatchString(message):
	case wasRead.MatchString(message):
		l.find(k, true, "")
	case unreached.MatchString(message):
		l.find(k, false, message)
	}
	// Other errors, such as that Argo CD's own repository server is away, say nothing of the repository.
}
