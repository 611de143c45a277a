package connections_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/connections"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

func TestMain(m *testing.M) { proxytest.Main(m) }

// anArgoCD is an Argo CD in a virtual cluster.
type anArgoCD struct {
	*proxytest.VirtualAPI
	store  *connections.Store
	client *virtualapi.Client

	mu sync.Mutex
	// metrics of the application controller, Applications by their name, and pages of the API server by their path
	// with the scheme.
	metrics string
	// tunnels are the metrics of the server of tunnels.
	tunnels string
	apps    map[string]string
	// list is that of all Applications.
	list  string
	pages map[string]page
	// down: no pod answers.
	down bool
	// servers are how many pods the API server has. The pages of the second and further ones have its number before the path.
	servers int
}

type page struct {
	status   int
	location string
	text     string
}

// serveArgoCD starts a virtual API server with an Argo CD.
func serveArgoCD(t *testing.T, l limits.Limits) *anArgoCD {
	t.Helper()
	c := &anArgoCD{apps: map[string]string{}, pages: map[string]page{}, store: connections.NewStore()}
	c.VirtualAPI = proxytest.Serve(t, c.answer, proxytest.With(l))
	c.client = c.Direct(t)
	c.store.Sample, c.store.PageTimeout = 10*time.Millisecond, 3*time.Second
	return c
}

func (c *anArgoCD) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const pods, apps = "/api/v1/namespaces/argocd/pods", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"
	path := r.URL.Path
	switch {
	case path == pods:
		name, _ := strings.CutPrefix(r.URL.Query().Get("labelSelector"), "app.kubernetes.io/name=")
		items := []string{}
		for n := range max(1, c.servers) {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"%s-%d"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, name, n))
		}
		proxytest.ReplyAs(w, virtualapi.MediaJSON, `{"kind":"PodList","apiVersion":"v1","items":[`+strings.Join(items, ",")+`]}`)
	case c.down:
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","message":"error trying to reach service: dial tcp 10.0.0.1:8080: connect: connection refused"}`))
	case path == pods+"/argocd-application-controller-0:8082/proxy/metrics":
		proxytest.ReplyAs(w, "text/plain; version=0.0.4", c.metrics)
	case path == pods+"/argocd-tunnel-0:8082/proxy/metrics":
		proxytest.ReplyAs(w, "text/plain; version=0.0.4", c.tunnels)
	case path+"/" == apps:
		if c.list == "" || r.URL.Query().Get("limit") == "" {
			http.NotFound(w, r)
			return
		}
		proxytest.ReplyAs(w, virtualapi.MediaJSON, c.list)
	case strings.HasPrefix(path, apps):
		proxytest.ReplyAs(w, virtualapi.MediaJSON, c.apps[strings.TrimPrefix(path, apps)])
	default:
		scheme, rest, _ := strings.Cut(strings.TrimPrefix(path, pods+"/"), ":argocd-server-")
		n, rest, _ := strings.Cut(rest, ":8080/proxy")
		is, ok := c.pages[scheme+strings.TrimPrefix(n, "0")+rest]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if is.status == 0 {
			c.mu.Unlock()
			<-r.Context().Done()
			c.mu.Lock()
			return
		}
		if is.location != "" {
			w.Header().Set("Location", is.location)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(is.status)
		_, _ = w.Write([]byte(is.text))
	}
}

// change changes what the Argo CD answers.
func (c *anArgoCD) change(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// get returns what is known of connections, as provider-kubernetes gets it.
func (c *anArgoCD) get(t *testing.T, keys ...proxy.ConnectionKey) map[proxy.ConnectionKey]proxy.Connection {
	t.Helper()
	return proxy.ReadConnections(c.store.Get(t.Context(), c.client, "argocd", keys)[proxy.SummaryConnections])
}

// poll polls, as informers do from time to time, and returns what is known of connections then.
func (c *anArgoCD) poll(t *testing.T, keys ...proxy.ConnectionKey) map[proxy.ConnectionKey]proxy.Connection {
	t.Helper()
	c.store.Poll(t.Context(), c.client, "argocd", keys)
	return c.get(t, keys...)
}

const (
	prod  = "https://203.0.113.7:6443"
	apps  = "https://git.example.org/team/apps.git"
	login = "/auth/login"
)

func statusOf(server string, status int) string {
	return fmt.Sprintf("argocd_cluster_connection_status{k8s_version=\"1.36\",server=%q} %d\n", server, status)
}

func requestsTo(host, code string, n int) string {
	return fmt.Sprintf("argocd_kubectl_requests_total{code=%q,host=%q,method=\"GET\"} %d\n", code, host, n)
}

func appWith(name, repo, server, sync string) string {
	return fmt.Sprintf("argocd_app_info{autosync_enabled=\"true\",dest_namespace=\"web\",dest_server=%q,health_status=\"Healthy\",name=%q,namespace=\"argocd\",operation=\"\",project=\"default\",repo=%q,sync_status=%q} 1\n", server, name, repo, sync)
}

func appFailing(message string) string {
	text, _ := json.Marshal(message)
	return fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","spec":{"source":{"repoURL":%q}},"status":{"conditions":[{"type":"ComparisonError","message":%s}]}}`, apps, text)
}

// TestClusterConnections: a cluster is connected while Argo CD's requests to it are answered.
func TestClusterConnections(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	k := proxy.ClusterKey(prod)
	steps := []struct {
		reason, metrics string
		want            map[proxy.ConnectionKey]proxy.Connection
	}{
		{"No Application uses it, so Argo CD has no metrics of it.", "", map[proxy.ConnectionKey]proxy.Connection{}},
		{"Argo CD has read it.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10), map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}},
		{"All requests since have failed, and Argo CD calls it connected.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", 4),
			map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Message: "Argo CD's requests get no answer, or one with a status of 500 and more"}}},
		{"There were no requests since.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", 4),
			map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Message: "Argo CD's requests get no answer, or one with a status of 500 and more"}}},
		{"It answers again, what the account may not do, too.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "403", 1) + requestsTo("203.0.113.7:6443", "<error>", 6),
			map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}},
		{"The token was revoked.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "403", 1) + requestsTo("203.0.113.7:6443", "401", 3) + requestsTo("203.0.113.7:6443", "<error>", 6),
			map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Message: "Argo CD's requests are answered with 401 Unauthorized: its credentials aren't accepted"}}},
		{"The controller was restarted.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 1), map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}},
		{"Argo CD can't read it, and says why.", statusOf(prod, 0) + appWith("web", apps, prod, "Unknown"),
			map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Message: `failed to get cluster info for "https://203.0.113.7:6443": error synchronizing cache state : the server has asked for the client to provide credentials`}}},
		{"It was read since, and the metric is late.", statusOf(prod, 0) + requestsTo("203.0.113.7:6443", "200", 20), map[proxy.ConnectionKey]proxy.Connection{k: {Key: k}}},
		{"The metric follows, without a request since.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 20), map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}},
		{"Another cluster answers at the same host.", statusOf(prod, 1) + statusOf(prod+"/k8s/other", 1) + requestsTo("203.0.113.7:6443", "<error>", 9), map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}},
	}
	c.change(func() {
		c.apps["web"] = appFailing(`Failed to load live state: failed to get cluster info for "https://203.0.113.7:6443": error synchronizing cache state : the server has asked for the client to provide credentials`)
	})
	for _, step := range steps {
		c.change(func() { c.metrics = step.metrics })
		if diff := cmp.Diff(step.want, c.poll(t, k)); diff != "" {
			t.Errorf("\n%s\n-want, +got:\n%s", step.reason, diff)
		}
	}
}

// TestRestartedProxy: a proxy that has counted no requests yet finds out whether they fail now.
func TestRestartedProxy(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	k, n := proxy.ClusterKey(prod), atomic.Int32{}
	go func() {
		for t.Context().Err() == nil {
			c.change(func() {
				c.metrics = statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", int(n.Add(1)))
			})
			time.Sleep(time.Millisecond)
		}
	}()
	time.Sleep(50 * time.Millisecond)
	if got := c.get(t, k)[k]; got.Connected || got.Message == "" {
		t.Errorf("got %+v", got)
	}
}

// TestRepositoryConnections: Applications show whether Argo CD reads their repositories.
func TestRepositoryConnections(t *testing.T) {
	t.Parallel()
	k := proxy.RepositoryKey(apps)
	connected := map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Connected: true}}
	failed := func(message string) map[proxy.ConnectionKey]proxy.Connection {
		return map[proxy.ConnectionKey]proxy.Connection{k: {Key: k, Message: message}}
	}
	const target, source = "Failed to load target state: ", "failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
	cases := map[string]struct {
		reason, sync, error string
		want                map[proxy.ConnectionKey]proxy.Connection
	}{
		"Compared":    {"It has been compared.", "OutOfSync", "", connected},
		"NotCompared": {"It has an error that says nothing of the repository.", "Unknown", "Failed to load live state: something", map[proxy.ConnectionKey]proxy.Connection{}},
		"Password":    {"The password is wrong.", "Unknown", target + source + "failed to list refs: authentication required: Unauthorized", failed("failed to list refs: authentication required: Unauthorized")},
		"Host": {"There is no such host.", "Unknown", target + source + `failed to list refs: Get "https://user:hunter2@git.example.org/team/apps.git/info/refs": dial tcp: lookup git.example.org on 10.0.0.10:53: no such host`,
			failed(`failed to list refs: Get "https://git.example.org/team/apps.git/info/refs": dial tcp: lookup git.example.org on 10.0.0.10:53: no such host`)},
		"Key":        {"The SSH key isn't accepted.", "Unknown", target + source + "failed to list refs: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain", failed("failed to list refs: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain")},
		"Chart":      {"It is no Helm repository.", "Unknown", target + source + "helm pull failed exit status 1: Error: looks like \"https://charts.example.org\" is not a valid chart repository or cannot be reached", failed("helm pull failed exit status 1: Error: looks like \"https://charts.example.org\" is not a valid chart repository or cannot be reached")},
		"Path":       {"It was read, and lacks the folder.", "Unknown", target + source + "web: app path does not exist", connected},
		"Names":      {"It was read, and lacks a folder whose name sounds like an error.", "Unknown", target + source + "apps/certificates: app path does not exist", connected},
		"Server":     {"Argo CD's own repository server is away.", "Unknown", target + "failed to generate manifest for source 1 of 1: rpc error: code = Unavailable desc = error reading from server: EOF", map[proxy.ConnectionKey]proxy.Connection{}},
		"NoIndex":    {"An error whose words nobody knows.", "Unknown", target + source + "failed to get index: 404 Not Found", map[proxy.ConnectionKey]proxy.Connection{}},
		"At":         {"A password has an @.", "Unknown", target + source + "failed to list refs: authentication required: https://a:b@c/d@git.example.org/x", failed("failed to list refs: authentication required: https://git.example.org/x")},
		"Dependency": {"Another repository fails.", "Unknown", target + source + "`helm dependency build` failed exit status 1: dial tcp: connection refused", map[proxy.ConnectionKey]proxy.Connection{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serveArgoCD(t, proxytest.Roomy())
			c.change(func() {
				// The metrics have the URL as Argo CD compares it.
				c.metrics = appWith("web", "https://git.example.org/team/apps", "https://kubernetes.default.svc", tc.sync)
				c.apps["web"] = appFailing(tc.error)
			})
			if diff := cmp.Diff(tc.want, c.get(t, k)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSourceThatFails: of several sources, the one that the error names can't be read.
func TestSourceThatFails(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	first, second := proxy.RepositoryKey("oci://registry.example.org/charts"), proxy.RepositoryKey("git@git.example.org:team/Values.git")
	c.change(func() {
		c.metrics = appWith("web", "registry.example.org/charts", "https://kubernetes.default.svc", "Unknown")
		c.apps["web"] = `{"apiVersion":"argoproj.io/v1alpha1","spec":{"sources":[{"repoURL":"registry.example.org/charts"},{"repoURL":"ssh://git@git.example.org/team/values"}]},
			"status":{"conditions":[{"type":"ComparisonError","message":"Failed to load target state: failed to generate manifest for source 2 of 2: rpc error: code = Unknown desc = knownhosts: key is unknown"}]}}`
	})
	if diff := cmp.Diff(map[proxy.ConnectionKey]proxy.Connection{second: {Key: second, Message: "knownhosts: key is unknown"}}, c.get(t, first, second)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestFurtherSource: metrics have an Application's first source alone.
func TestFurtherSource(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	first, second, unused := proxy.RepositoryKey("https://charts.example.org"), proxy.RepositoryKey(apps), proxy.RepositoryKey("https://git.example.org/unused")
	c.change(func() {
		c.metrics = appWith("web", "https://charts.example.org", "https://kubernetes.default.svc", "Synced")
		c.list = `{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationList","items":[{"spec":{"sources":[{"repoURL":"https://charts.example.org"},{"repoURL":"` + apps + `"}]},"status":{"sync":{"status":"Synced"}}},
			{"spec":{"sources":[{"repoURL":"https://charts.example.org"},{"repoURL":"https://git.example.org/unused"}]},"status":{"sync":{"status":"Unknown"}}}]}`
	})
	want := map[proxy.ConnectionKey]proxy.Connection{first: {Key: first, Connected: true}, second: {Key: second, Connected: true}}
	if diff := cmp.Diff(want, c.get(t, first, second, unused)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestSignOnConnection: Argo CD's API server sends people to the provider once it has read its discovery document.
func TestSignOnConnection(t *testing.T) {
	t.Parallel()
	sent := page{http.StatusSeeOther, "https://id.example.org/authorize", ""}
	fails := page{http.StatusInternalServerError, "", "failed to query provider \"https://id.example.org\": Get \"https://id.example.org/.well-known/openid-configuration\": dial tcp: connection refused\n"}
	const words = `failed to query provider "https://id.example.org": Get "https://id.example.org/.well-known/openid-configuration": dial tcp: connection refused`
	oidc, below, dex := proxy.SignOnKey("", false), proxy.SignOnKey("/argo/cd", false), proxy.SignOnKey("", true)
	cases := map[string]struct {
		key   proxy.ConnectionKey
		pages map[string]page
		want  map[proxy.ConnectionKey]proxy.Connection
	}{
		"Sent":     {oidc, map[string]page{"http" + login: sent}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Connected: true}}},
		"Fails":    {oidc, map[string]page{"http" + login: fails}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Message: words}}},
		"Silent":   {oidc, map[string]page{"http" + login: {}, "http/healthz": {http.StatusOK, "", "ok"}}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Message: "the identity provider doesn't answer Argo CD"}}},
		"Busy":     {oidc, map[string]page{"http" + login: {}, "http/healthz": {}}, map[proxy.ConnectionKey]proxy.Connection{}},
		"HTTPS":    {oidc, map[string]page{"http" + login: {http.StatusTemporaryRedirect, "https://x/auth/login", ""}, "https" + login: sent}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Connected: true}}},
		"WithPath": {below, map[string]page{"http/argo/cd" + login: sent}, map[proxy.ConnectionKey]proxy.Connection{below: {Key: below, Connected: true}}},
		"OneFails": {oidc, map[string]page{"http" + login: sent, "http1" + login: fails}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Message: words}}},
		"AllSent":  {oidc, map[string]page{"http" + login: sent, "http1" + login: sent}, map[proxy.ConnectionKey]proxy.Connection{oidc: {Key: oidc, Connected: true}}},
		"Dex":      {dex, map[string]page{"http" + login: sent, "http/api/dex/.well-known/openid-configuration": {http.StatusOK, "", "{}"}}, map[proxy.ConnectionKey]proxy.Connection{dex: {Key: dex, Connected: true}}},
		"DexGone":  {dex, map[string]page{"http" + login: sent, "http/api/dex/.well-known/openid-configuration": {http.StatusBadGateway, "", "dex is away"}}, map[proxy.ConnectionKey]proxy.Connection{dex: {Key: dex, Message: "Dex: dex is away"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serveArgoCD(t, proxytest.Roomy())
			c.change(func() {
				c.pages = tc.pages
				if _, ok := c.pages["http1"+login]; ok {
					c.servers = 2
				}
			})
			if diff := cmp.Diff(tc.want, c.get(t, tc.key)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestSilenceChangesNothing: while Argo CD doesn't answer, what was observed stays.
func TestSilenceChangesNothing(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	cluster, signOn := proxy.ClusterKey(prod), proxy.SignOnKey("", false)
	c.change(func() {
		c.metrics = statusOf(prod, 1)
		c.pages["http"+login] = page{http.StatusSeeOther, "https://id.example.org", ""}
	})
	want := c.poll(t, cluster, signOn)
	c.change(func() { c.down = true })
	for range limits.MaxFailures + 1 {
		if diff := cmp.Diff(want, c.poll(t, cluster, signOn)); len(want) != 2 || diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}

// TestSameReasonIsNoChange: what changes in a message each time isn't written to the host.
func TestSameReasonIsNoChange(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	k := proxy.RepositoryKey(apps)
	fail := func(message string) {
		c.change(func() {
			c.metrics = appWith("web", apps, "", "Unknown")
			c.apps["web"] = appFailing("Failed to load target state: " + message)
		})
	}
	fail("dial tcp 10.0.0.1:4711: connection refused, request 0af31c")
	before := c.poll(t, k)
	fail("dial tcp 10.0.0.2:4712: connection refused, request 99ab01")
	if diff := cmp.Diff(before, c.poll(t, k)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	fail("authentication required")
	if got := c.poll(t, k)[k].Message; got != "authentication required" {
		t.Errorf("another reason: %s", got)
	}
}

// TestHostileArgoCD: whatever pods answer, messages are short, and about what was asked for.
func TestHostileArgoCD(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Response = 200_000
	c := serveArgoCD(t, l)
	k := proxy.RepositoryKey(apps)
	var many strings.Builder
	asked := []proxy.ConnectionKey{k, proxy.SignOnKey("", false)}
	for n := range 30 {
		url := fmt.Sprint("https://git.example.org/", n)
		asked = append(asked, proxy.RepositoryKey(url))
		many.WriteString(appWith("app-0", url, prod, "Unknown"))
	}
	for n := range 3_000 {
		many.WriteString(appWith(fmt.Sprint("app-", n), apps, prod, "Unknown"))
		many.WriteString(statusOf(fmt.Sprint("https://c", n), 0))
		many.WriteString(requestsTo(fmt.Sprint("c", n), "<error>", 1))
	}
	many.WriteString(appWith("../../../secrets/x", apps, prod, "Unknown"))
	c.change(func() {
		c.metrics = many.String()
		c.apps["app-0"] = appFailing("Failed to load target state: authentication required \x1b[31m\u202e " + strings.Repeat("x@y ", 20_000))
		c.pages["http"+login] = page{http.StatusInternalServerError, "", strings.Repeat("y", 1<<20)}
	})
	before := c.Asked.Load()
	got := c.get(t, asked...)
	if n := c.Asked.Load() - before; n > 20 {
		t.Errorf("the proxy asks %d times", n)
	}
	if len(got) == 0 || len(got) > len(asked) {
		t.Errorf("got %v", got)
	}
	for _, is := range got {
		if len(is.Message) > 500 || strings.ContainsAny(is.Message, "\x1b\u202e\n") {
			t.Errorf("%d bytes: %q", len(is.Message), is.Message)
		}
	}
	// Lines and numbers without end.
	c.change(func() { c.metrics = strings.Repeat("argocd_app_info{", 1<<20) })
	c.poll(t, k)
	c.change(func() {
		c.metrics = "argocd_kubectl_requests_total{code=\"200\",host=\"x\"} NaN\n" + statusOf("%zz", 1)
	})
	c.poll(t, k)
}

// TestLittleIsKept: of a tenant's Argo CD the store keeps little, however often its claim changes what is asked for.
func TestLittleIsKept(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	var many strings.Builder
	many.WriteString(statusOf(prod, 1))
	for n := range 30 {
		many.WriteString(requestsTo(fmt.Sprint(n, strings.Repeat("x", 400)), "200", 1))
	}
	many.WriteString(requestsTo("203.0.113.7:6443", "200", 1))
	for n := range 5 {
		repository := fmt.Sprint("https://git.example.org/", n)
		c.change(func() { c.metrics = appWith("web", repository, prod, "Synced") + many.String() })
		if got := c.poll(t, proxy.ClusterKey(prod), proxy.RepositoryKey(repository)); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	}
	if stored, kept, hosts := c.store.Kept(c.client, "argocd", "argocd-application-controller-0"); stored != 1 || kept != 2 || hosts != 1 {
		t.Errorf("the store keeps counts of %d hosts, and %d connections, in %d places", hosts, kept, stored)
	}
	// All messages together have a bound, since they are written to the host.
	keys := []proxy.ConnectionKey{}
	for n := range 50 {
		keys = append(keys, proxy.RepositoryKey(fmt.Sprint("https://git.example.org/", n)))
	}
	data := c.store.DataOf(keys, strings.Repeat("<", 390))
	if n := len(proxy.ReadConnections(data[proxy.SummaryConnections])); n != 50 || strings.Count(data[proxy.SummaryConnections], `\u003c`) > connections.MaxMessages {
		t.Errorf("%d connections, in %d bytes", n, len(data[proxy.SummaryConnections]))
	}
}

// TestQuietCluster: without a request since the first poll, nothing says that a cluster can be reached.
func TestQuietCluster(t *testing.T) {
	t.Parallel()
	c := serveArgoCD(t, proxytest.Roomy())
	c.change(func() { c.metrics = statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "<error>", 5) })
	k := proxy.ClusterKey(prod)
	if got := c.get(t, k); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	c.change(func() { c.metrics += requestsTo("203.0.113.7:6443", "200", 1) })
	if got := c.poll(t, k); !got[k].Connected {
		t.Errorf("got %v", got)
	}
}
