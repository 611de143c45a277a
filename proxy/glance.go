package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A glance is one look at what Argo CD tells of its connections: the metrics of its application
// controllers, the errors of Applications, and how its API server answers somebody who wants to sign on.
// It asks for all that as a user of the virtual cluster could, by the API server's proxy to pods, and
// needs no account of Argo CD.
type glance struct {
	proxy     *Proxy
	server    *server
	namespace string
	asked     map[ConnectionKey]bool
	// before are the counts of requests at the last look, and requests those of this one.
	before, requests map[string]map[string]requests
	found            map[ConnectionKey]Connection
	// quiet are clusters that Argo CD hasn't asked anything since the last look: they are as they were, unless they were found.
	quiet map[ConnectionKey]bool
	// metrics is how many bytes of metrics were read.
	metrics int64
}

// The labels of Argo CD's pods, as in the NetworkPolicies of tenants.
const (
	podName        = "app.kubernetes.io/name"
	controllerName = "argocd-application-controller"
	serverName     = "argocd-server"
)

// maxControllers is of how many application controllers the proxy reads metrics. Clusters may be
// spread over several.
const maxControllers = 4

// look finds what it can.
func (l *glance) look(ctx context.Context) {
	var clusters, repositories, signOn bool
	for k := range l.asked {
		clusters = clusters || strings.HasPrefix(string(k), "c.")
		repositories = repositories || strings.HasPrefix(string(k), "r.")
		signOn = signOn || strings.HasPrefix(string(k), "s.")
	}
	if clusters || repositories {
		l.fromMetrics(ctx)
	}
	if signOn {
		l.signOn(ctx)
	}
}

// pods returns the names of ready pods of Argo CD.
func (l *glance) pods(ctx context.Context, name string) []string {
	pods := corev1.PodList{}
	if !l.proxy.list(ctx, l.server, "namespaces/"+l.namespace+"/pods", url.Values{"labelSelector": {podName + "=" + name}}, &pods) {
		return nil
	}
	var out []string
	for _, pod := range pods.Items {
		if isReady(pod) && pod.DeletionTimestamp == nil && objectNames.MatchString(pod.Name) {
			out = append(out, pod.Name)
		}
	}
	slices.Sort(out)
	return out
}

// maxPage is how many bytes of a page of Argo CD's API server the proxy reads, and maxMetrics how many
// of all metrics in a look, which it doesn't keep.
const (
	maxPage    = 16 << 10
	maxMetrics = 4 << 20
	maxLine    = 8 << 10
)

// visit asks a pod for something, by the virtual API server. The caller closes the answer. Redirects
// aren't followed.
func (l *glance) visit(ctx context.Context, scheme, pod, port, path string) (*http.Response, error) {
	if scheme != "" {
		pod = scheme + ":" + pod
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/namespaces/"+l.namespace+"/pods/"+pod+":"+port+"/proxy"+path, nil)
	if err != nil {
		return nil, err
	}
	return l.server.ask(ctx, r)
}

// page returns the status of a page and what it says. It reports false if the pod doesn't answer.
func (l *glance) page(ctx context.Context, scheme, pod, port, path string) (status int, text string, ok bool) {
	answer, err := l.visit(ctx, scheme, pod, port, path)
	if err != nil {
		return 0, "", false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage))
	if err != nil {
		return 0, "", false
	}
	// The virtual API server's own answer where it can't reach the pod.
	var own struct {
		Kind string `json:"kind"`
	}
	if mediaOf(answer) == mediaJSON && json.Unmarshal(body, &own) == nil && own.Kind == "Status" {
		return 0, "", false
	}
	return answer.StatusCode, string(body), true
}

// lines calls f for each line of a pod's metrics, without keeping them.
func (l *glance) lines(ctx context.Context, pod, port string, f func(line string)) bool {
	answer, err := l.visit(ctx, "", pod, port, "/metrics")
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "" {
		return false
	}
	scan := bufio.NewScanner(io.LimitReader(answer.Body, maxMetrics-l.metrics))
	scan.Buffer(make([]byte, maxLine), maxLine)
	for scan.Scan() {
		l.metrics += int64(len(scan.Bytes())) + 1
		f(scan.Text())
	}
	return scan.Err() == nil
}

// find notes a connection that was asked for. That it fails counts more than that it works.
func (l *glance) find(k ConnectionKey, connected bool, message string) {
	if !l.asked[k] {
		return
	}
	if was, ok := l.found[k]; ok && !was.Connected {
		if was.Message == "" && !connected {
			l.found[k] = Connection{Message: message}
		}
		return
	}
	l.found[k] = Connection{Connected: connected, Message: message}
}

// signOn looks whether Argo CD's API server sends those who want to sign on to the identity provider,
// which it does only once it has read the provider's discovery document.
func (l *glance) signOn(ctx context.Context) {
	pods := l.pods(ctx, serverName)
	if len(pods) == 0 {
		return
	}
	for k := range l.asked {
		path, dex, ok := k.signOn()
		if !ok {
			continue
		}
		ask := func(page string) (status int, text string, ok bool) {
			ctx, cancel := context.WithTimeout(ctx, l.proxy.pace.signOn)
			defer cancel()
			status, text, ok = l.page(ctx, "http", pods[0], "8080", path+page)
			// Without server.insecure, it sends everybody to HTTPS.
			if ok && status >= 300 && status < 400 && status != http.StatusSeeOther {
				status, text, ok = l.page(ctx, "https", pods[0], "8080", path+page)
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				status = http.StatusGatewayTimeout
			}
			return status, text, ok
		}
		if dex {
			status, text, ok := ask("/api/dex/.well-known/openid-configuration")
			if !ok {
				return
			}
			if status != http.StatusOK {
				l.find(k, false, "Dex: "+text)
				continue
			}
		}
		switch status, text, ok := ask("/auth/login"); {
		case !ok && status == http.StatusGatewayTimeout:
			// It waits for the provider, or for something else.
			if status, _, ok := ask("/healthz"); ok && status == http.StatusOK {
				l.find(k, false, "the identity provider doesn't answer Argo CD")
			}
		case !ok:
		case status == http.StatusSeeOther:
			l.find(k, true, "")
		case status >= http.StatusBadRequest:
			l.find(k, false, text)
		}
	}
}
