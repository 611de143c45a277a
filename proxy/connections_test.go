package proxy

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// anArgoCD is what an Argo CD tells in its virtual cluster.
type anArgoCD struct {
	*virtualAPI
	mu sync.Mutex
	// metrics of the application controller, Applications by their name, and pages of the API server by their path
	// with the scheme.
	metrics string
	apps    map[string]string
	// list is that of all Applications.
	list  string
	pages map[string]page
	// down: no pod answers.
	down  bool
	looks atomic.Int32
}

type page struct {
	status   int
	location string
	text     string
}

func argocdTells(t *testing.T, limits Limits) *anArgoCD {
	t.Helper()
	c := &anArgoCD{apps: map[string]string{}, pages: map[string]page{}}
	c.virtualAPI = serveWithin(t, limits, c.answers)
	c.proxy.pace = brisk
	c.proxy.pace.sample, c.proxy.pace.signOn = 10*time.Millisecond, 3*time.Second
	return c
}

func (c *anArgoCD) answers(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const pods, apps = "/api/v1/namespaces/argocd/pods", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"
	path := r.URL.Path
	switch {
	case path == pods:
		name, _ := strings.CutPrefix(r.URL.Query().Get("labelSelector"), "app.kubernetes.io/name=")
		answerAs(w, mediaJSON, fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"%s-0"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`, name))
	case c.down:
		w.Header().Set("Content-Type", mediaJSON)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","message":"error trying to reach service: dial tcp 10.0.0.1:8080: connect: connection refused"}`))
	case path == pods+"/argocd-application-controller-0:8082/proxy/metrics":
		c.looks.Add(1)
		answerAs(w, "text/plain; version=0.0.4", c.metrics)
	case path+"/" == apps:
		if c.list == "" || r.URL.Query().Get("limit") == "" {
			http.NotFound(w, r)
			return
		}
		answerAs(w, mediaJSON, c.list)
	case strings.HasPrefix(path, apps):
		answerAs(w, mediaJSON, c.apps[strings.TrimPrefix(path, apps)])
	default:
		scheme, rest, _ := strings.Cut(strings.TrimPrefix(path, pods+"/"), ":argocd-server-0:8080/proxy")
		is, ok := c.pages[scheme+rest]
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

func (c *anArgoCD) tell(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// seen asks the proxy for connections, as provider-kubernetes does.
func (c *anArgoCD) seen(t *testing.T, keys ...ConnectionKey) map[ConnectionKey]Connection {
	t.Helper()
	is, err := c.client.CoreV1().ConfigMaps("argocd").Get(t.Context(), ConnectionsName(keys), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ReadConnections(is.Data[SummaryConnections])
}

// looked has the proxy look anew, as it does from time to time.
func (c *anArgoCD) looked(t *testing.T, keys ...ConnectionKey) map[ConnectionKey]Connection {
	t.Helper()
	s, err := c.proxy.server("Bearer " + c.token)
	if err != nil {
		t.Fatal(err)
	}
	at := target{"argocd", ConnectionsName(keys)}
	if _, _, err := argocdConnections.look(t.Context(), c.proxy, s, at, true); err != nil {
		t.Fatal(err)
	}
	return c.seen(t, keys...)
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

// TestClustersSeen: a cluster is connected while Argo CD's requests to it are answered.
func TestClustersSeen(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	k := ClusterKey(prod)
	steps := []struct {
		reason, metrics string
		want            map[ConnectionKey]Connection
	}{
		{"No Application uses it, so Argo CD has no metrics of it.", "", map[ConnectionKey]Connection{}},
		{"Argo CD has read it.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10), map[ConnectionKey]Connection{k: {Key: k, Connected: true}}},
		{"All requests since have failed, and Argo CD calls it connected.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", 4),
			map[ConnectionKey]Connection{k: {Key: k, Message: "Argo CD's requests get no answer, or one with a status of 500 and more"}}},
		{"There were no requests since.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", 4),
			map[ConnectionKey]Connection{k: {Key: k, Message: "Argo CD's requests get no answer, or one with a status of 500 and more"}}},
		{"It answers again, what the account may not do, too.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "403", 1) + requestsTo("203.0.113.7:6443", "<error>", 6),
			map[ConnectionKey]Connection{k: {Key: k, Connected: true}}},
		{"The token was revoked.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "403", 1) + requestsTo("203.0.113.7:6443", "401", 3) + requestsTo("203.0.113.7:6443", "<error>", 6),
			map[ConnectionKey]Connection{k: {Key: k, Message: "Argo CD's requests are answered with 401 Unauthorized: its credentials aren't accepted"}}},
		{"The controller was restarted.", statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 1), map[ConnectionKey]Connection{k: {Key: k, Connected: true}}},
		{"Argo CD can't read it, and says why.", statusOf(prod, 0) + appWith("web", apps, prod, "Unknown"),
			map[ConnectionKey]Connection{k: {Key: k, Message: `failed to get cluster info for "https://203.0.113.7:6443": error synchronizing cache state : the server has asked for the client to provide credentials`}}},
		{"Another cluster answers at the same host.", statusOf(prod, 1) + statusOf(prod+"/k8s/other", 1) + requestsTo("203.0.113.7:6443", "<error>", 9), map[ConnectionKey]Connection{k: {Key: k, Connected: true}}},
	}
	c.tell(func() {
		c.apps["web"] = appFailing(`Failed to load live state: failed to get cluster info for "https://203.0.113.7:6443": error synchronizing cache state : the server has asked for the client to provide credentials`)
	})
	for _, step := range steps {
		c.tell(func() { c.metrics = step.metrics })
		if diff := cmp.Diff(step.want, c.looked(t, k)); diff != "" {
			t.Errorf("\n%s\n-want, +got:\n%s", step.reason, diff)
		}
	}
}

// TestRestartedProxySees: a proxy that has counted no requests yet finds out whether they fail now.
func TestRestartedProxySees(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	k, n := ClusterKey(prod), atomic.Int32{}
	go func() {
		for t.Context().Err() == nil {
			c.tell(func() {
				c.metrics = statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "200", 10) + requestsTo("203.0.113.7:6443", "<error>", int(n.Add(1)))
			})
			time.Sleep(time.Millisecond)
		}
	}()
	time.Sleep(50 * time.Millisecond)
	if got := c.seen(t, k)[k]; got.Connected || got.Message == "" {
		t.Errorf("got %+v", got)
	}
}

// TestRepositoriesSeen: Applications show whether Argo CD reads their repositories.
func TestRepositoriesSeen(t *testing.T) {
	t.Parallel()
	k := RepositoryKey(apps)
	connected := map[ConnectionKey]Connection{k: {Key: k, Connected: true}}
	failed := func(message string) map[ConnectionKey]Connection {
		return map[ConnectionKey]Connection{k: {Key: k, Message: message}}
	}
	const target, source = "Failed to load target state: ", "failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
	cases := map[string]struct {
		reason, sync, error string
		want                map[ConnectionKey]Connection
	}{
		"Compared":    {"It has been compared.", "OutOfSync", "", connected},
		"NotCompared": {"It has an error that says nothing of the repository.", "Unknown", "Failed to load live state: something", map[ConnectionKey]Connection{}},
		"Password":    {"The password is wrong.", "Unknown", target + source + "failed to list refs: authentication required: Unauthorized", failed("failed to list refs: authentication required: Unauthorized")},
		"Host": {"There is no such host.", "Unknown", target + source + `failed to list refs: Get "https://user:hunter2@git.example.org/team/apps.git/info/refs": dial tcp: lookup git.example.org on 10.0.0.10:53: no such host`,
			failed(`failed to list refs: Get "https://git.example.org/team/apps.git/info/refs": dial tcp: lookup git.example.org on 10.0.0.10:53: no such host`)},
		"Key":        {"The SSH key isn't accepted.", "Unknown", target + source + "failed to list refs: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain", failed("failed to list refs: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain")},
		"Chart":      {"It is no Helm repository.", "Unknown", target + source + "helm pull failed exit status 1: Error: looks like \"https://charts.example.org\" is not a valid chart repository or cannot be reached", failed("helm pull failed exit status 1: Error: looks like \"https://charts.example.org\" is not a valid chart repository or cannot be reached")},
		"Path":       {"It was read, and lacks the folder.", "Unknown", target + source + "web: app path does not exist", connected},
		"Names":      {"It was read, and lacks a folder whose name sounds like an error.", "Unknown", target + source + "apps/certificates: app path does not exist", connected},
		"Server":     {"Argo CD's own repository server is away.", "Unknown", target + "failed to generate manifest for source 1 of 1: rpc error: code = Unavailable desc = error reading from server: EOF", map[ConnectionKey]Connection{}},
		"NoIndex":    {"An error whose words nobody knows.", "Unknown", target + source + "failed to get index: 404 Not Found", map[ConnectionKey]Connection{}},
		"At":         {"A password has an @.", "Unknown", target + source + "failed to list refs: authentication required: https://a:b@c/d@git.example.org/x", failed("failed to list refs: authentication required: https://git.example.org/x")},
		"Dependency": {"Another repository fails.", "Unknown", target + source + "`helm dependency build` failed exit status 1: dial tcp: connection refused", map[ConnectionKey]Connection{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := argocdTells(t, roomy())
			c.tell(func() {
				// The metrics have the URL as Argo CD compares it.
				c.metrics = appWith("web", "https://git.example.org/team/apps", "https://kubernetes.default.svc", tc.sync)
				c.apps["web"] = appFailing(tc.error)
			})
			if diff := cmp.Diff(tc.want, c.seen(t, k)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSourceThatFails: of several sources, the one that the error names can't be read.
func TestSourceThatFails(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	first, second := RepositoryKey("oci://registry.example.org/charts"), RepositoryKey("git@git.example.org:team/Values.git")
	c.tell(func() {
		c.metrics = appWith("web", "registry.example.org/charts", "https://kubernetes.default.svc", "Unknown")
		c.apps["web"] = `{"apiVersion":"argoproj.io/v1alpha1","spec":{"sources":[{"repoURL":"registry.example.org/charts"},{"repoURL":"ssh://git@git.example.org/team/values"}]},
			"status":{"conditions":[{"type":"ComparisonError","message":"Failed to load target state: failed to generate manifest for source 2 of 2: rpc error: code = Unknown desc = knownhosts: key is unknown"}]}}`
	})
	if diff := cmp.Diff(map[ConnectionKey]Connection{second: {Key: second, Message: "knownhosts: key is unknown"}}, c.seen(t, first, second)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestFurtherSourceSeen: metrics have an Application's first source alone.
func TestFurtherSourceSeen(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	first, second, unused := RepositoryKey("https://charts.example.org"), RepositoryKey(apps), RepositoryKey("https://git.example.org/unused")
	c.tell(func() {
		c.metrics = appWith("web", "https://charts.example.org", "https://kubernetes.default.svc", "Synced")
		c.list = `{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationList","items":[{"spec":{"sources":[{"repoURL":"https://charts.example.org"},{"repoURL":"` + apps + `"}]},"status":{"sync":{"status":"Synced"}}},
			{"spec":{"sources":[{"repoURL":"https://charts.example.org"},{"repoURL":"https://git.example.org/unused"}]},"status":{"sync":{"status":"Unknown"}}}]}`
	})
	want := map[ConnectionKey]Connection{first: {Key: first, Connected: true}, second: {Key: second, Connected: true}}
	if diff := cmp.Diff(want, c.seen(t, first, second, unused)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestSignOnSeen: Argo CD's API server sends people to the provider once it has read its discovery document.
func TestSignOnSeen(t *testing.T) {
	t.Parallel()
	sent := page{http.StatusSeeOther, "https://id.example.org/authorize", ""}
	fails := page{http.StatusInternalServerError, "", "failed to query provider \"https://id.example.org\": Get \"https://id.example.org/.well-known/openid-configuration\": dial tcp: connection refused\n"}
	const words = `failed to query provider "https://id.example.org": Get "https://id.example.org/.well-known/openid-configuration": dial tcp: connection refused`
	oidc, below, dex := SignOnKey("", false), SignOnKey("/argo/cd", false), SignOnKey("", true)
	cases := map[string]struct {
		key   ConnectionKey
		pages map[string]page
		want  map[ConnectionKey]Connection
	}{
		"Sent":     {oidc, map[string]page{"http" + login: sent}, map[ConnectionKey]Connection{oidc: {Key: oidc, Connected: true}}},
		"Fails":    {oidc, map[string]page{"http" + login: fails}, map[ConnectionKey]Connection{oidc: {Key: oidc, Message: words}}},
		"Silent":   {oidc, map[string]page{"http" + login: {}, "http/healthz": {http.StatusOK, "", "ok"}}, map[ConnectionKey]Connection{oidc: {Key: oidc, Message: "the identity provider doesn't answer Argo CD"}}},
		"Busy":     {oidc, map[string]page{"http" + login: {}, "http/healthz": {}}, map[ConnectionKey]Connection{}},
		"HTTPS":    {oidc, map[string]page{"http" + login: {http.StatusTemporaryRedirect, "https://x/auth/login", ""}, "https" + login: sent}, map[ConnectionKey]Connection{oidc: {Key: oidc, Connected: true}}},
		"WithPath": {below, map[string]page{"http/argo/cd" + login: sent}, map[ConnectionKey]Connection{below: {Key: below, Connected: true}}},
		"Dex":      {dex, map[string]page{"http" + login: sent, "http/api/dex/.well-known/openid-configuration": {http.StatusOK, "", "{}"}}, map[ConnectionKey]Connection{dex: {Key: dex, Connected: true}}},
		"DexGone":  {dex, map[string]page{"http" + login: sent, "http/api/dex/.well-known/openid-configuration": {http.StatusBadGateway, "", "dex is away"}}, map[ConnectionKey]Connection{dex: {Key: dex, Message: "Dex: dex is away"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := argocdTells(t, roomy())
			c.tell(func() { c.pages = tc.pages })
			if diff := cmp.Diff(tc.want, c.seen(t, tc.key)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestSilenceChangesNothing: while Argo CD doesn't answer, what was seen stays, and so does the virtual API server's good name.
func TestSilenceChangesNothing(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	cluster, signOn := ClusterKey(prod), SignOnKey("", false)
	c.tell(func() {
		c.metrics = statusOf(prod, 1)
		c.pages["http"+login] = page{http.StatusSeeOther, "https://id.example.org", ""}
	})
	want := c.looked(t, cluster, signOn)
	c.tell(func() { c.down = true })
	for range MaxFailures + 1 {
		if diff := cmp.Diff(want, c.looked(t, cluster, signOn)); len(want) != 2 || diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}

// TestSameReasonIsNoNews: what changes in a message each time isn't written to the host.
func TestSameReasonIsNoNews(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	k := RepositoryKey(apps)
	tell := func(message string) {
		c.tell(func() {
			c.metrics = appWith("web", apps, "", "Unknown")
			c.apps["web"] = appFailing("Failed to load target state: " + message)
		})
	}
	tell("dial tcp 10.0.0.1:4711: connection refused, request 0af31c")
	before := c.looked(t, k)
	tell("dial tcp 10.0.0.2:4712: connection refused, request 99ab01")
	if diff := cmp.Diff(before, c.looked(t, k)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	tell("authentication required")
	if got := c.looked(t, k)[k].Message; got != "authentication required" {
		t.Errorf("another reason: %s", got)
	}
}

// TestHostileArgoCD: whatever pods answer, what is told is short, and of what was asked for; and the provider has an answer in time.
func TestHostileArgoCD(t *testing.T) {
	t.Parallel()
	limits := roomy()
	limits.Answer = 200_000
	c := argocdTells(t, limits)
	k := RepositoryKey(apps)
	var many strings.Builder
	asked := []ConnectionKey{k, SignOnKey("", false)}
	for n := range 30 {
		url := fmt.Sprint("https://git.example.org/", n)
		asked = append(asked, RepositoryKey(url))
		many.WriteString(appWith("app-0", url, prod, "Unknown"))
	}
	for n := range 3_000 {
		many.WriteString(appWith(fmt.Sprint("app-", n), apps, prod, "Unknown"))
		many.WriteString(statusOf(fmt.Sprint("https://c", n), 0))
		many.WriteString(requestsTo(fmt.Sprint("c", n), "<error>", 1))
	}
	many.WriteString(appWith("../../../secrets/x", apps, prod, "Unknown"))
	c.tell(func() {
		c.metrics = many.String()
		c.apps["app-0"] = appFailing("Failed to load target state: authentication required \x1b[31m\u202e " + strings.Repeat("x@y ", 20_000))
		c.pages["http"+login] = page{http.StatusInternalServerError, "", strings.Repeat("y", 1<<20)}
	})
	before := c.asked.Load()
	got := c.seen(t, asked...)
	if n := c.asked.Load() - before; n > 20 {
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
	c.tell(func() { c.metrics = strings.Repeat("argocd_app_info{", 1<<20) })
	c.looked(t, k)
	c.tell(func() {
		c.metrics = "argocd_kubectl_requests_total{code=\"200\",host=\"x\"} NaN\n" + statusOf("%zz", 1)
	})
	c.looked(t, k)
}

// TestLittleIsKept: of what a tenant's Argo CD tells, the proxy keeps little, however often its claim changes what is asked for.
func TestLittleIsKept(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	var many strings.Builder
	many.WriteString(statusOf(prod, 1))
	for n := range 30 {
		many.WriteString(requestsTo(fmt.Sprint(n, strings.Repeat("x", 400)), "200", 1))
	}
	many.WriteString(requestsTo("203.0.113.7:6443", "200", 1))
	for n := range 5 {
		repository := fmt.Sprint("https://git.example.org/", n)
		c.tell(func() { c.metrics = appWith("web", repository, prod, "Synced") + many.String() })
		if got := c.looked(t, ClusterKey(prod), RepositoryKey(repository)); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	}
	s, err := c.proxy.server("Bearer " + c.token)
	if err != nil {
		t.Fatal(err)
	}
	v := c.proxy.sightOf(s, "argocd")
	if n := len(v.requests["argocd-application-controller-0"]); n != 1 || len(v.seen) != 2 || len(c.proxy.sights.Keys()) != 1 {
		t.Errorf("the proxy keeps counts of %d hosts, and %d connections, in %d places", n, len(v.seen), len(c.proxy.sights.Keys()))
	}
	// All messages together have a bound, since they are written to the host.
	keys := []ConnectionKey{}
	for n := range 50 {
		k := RepositoryKey(fmt.Sprint("https://git.example.org/", n))
		keys = append(keys, k)
		v.see(k, Connection{Message: strings.Repeat("<", 390)}, time.Now())
	}
	if data, n := v.data(keys); n != 50 || strings.Count(data[SummaryConnections], `\u003c`) > maxTold {
		t.Errorf("%d connections, in %d bytes", n, len(data[SummaryConnections]))
	}
}

// TestQuietClusterIsNotSeen: without a request since the proxy looks on, nothing says that a cluster can be reached.
func TestQuietClusterIsNotSeen(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	c.tell(func() { c.metrics = statusOf(prod, 1) + requestsTo("203.0.113.7:6443", "<error>", 5) })
	k := ClusterKey(prod)
	if got := c.seen(t, k); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	c.tell(func() { c.metrics += requestsTo("203.0.113.7:6443", "200", 1) })
	if got := c.looked(t, k); !got[k].Connected {
		t.Errorf("got %v", got)
	}
}

// TestNamesOfConnections: only a list of keys, and a bounded one, is a name.
func TestNamesOfConnections(t *testing.T) {
	t.Parallel()
	good := ConnectionsName([]ConnectionKey{ClusterKey(prod), RepositoryKey(apps), SignOnKey("/argo", true), SignOnKey("/argo", true)})
	if keys, err := ReadConnectionsName(good); err != nil || len(keys) != 3 {
		t.Errorf("%s: %v, %v", good, keys, err)
	}
	if keys, err := ReadConnectionsName(ConnectionsName(nil)); err != nil || len(keys) != 0 {
		t.Errorf("nothing: %v, %v", keys, err)
	}
	many := make([]string, maxConnections+1)
	for i := range many {
		many[i] = string(ClusterKey(fmt.Sprint(i)))
	}
	for _, bad := range []string{"c.short", "c." + strings.Repeat("g", 12), "s.oidc.Li4vLi4", "s.oidc.!", string(SignOnKey("/a/../b?c", false)), strings.Join(many, ",")} {
		if _, err := ReadConnectionsName(connectionsPrefix + bad); err == nil {
			t.Errorf("%s is a name", bad)
		}
	}
	for _, same := range [][2]string{{"git@git.example.org:team/apps.git", "ssh://git@git.example.org/team/apps"}, {"https://Git.example.org/apps/", "https://git.example.org/apps.git"}, {"oci://r.example.org/a", "r.example.org/a"}} {
		if RepositoryKey(same[0]) != RepositoryKey(same[1]) {
			t.Errorf("%s isn't %s", same[0], same[1])
		}
	}
}

// TestTellsOfConnections: the provider's watch of ConfigMaps tells of what changes there, and of workloads as before.
func TestTellsOfConnections(t *testing.T) {
	t.Parallel()
	c := argocdTells(t, roomy())
	c.proxy.pace.poll = 20 * time.Millisecond
	k := ClusterKey(prod)
	c.tell(func() { c.metrics = statusOf(prod, 1) })
	if !c.seen(t, k)[k].Connected {
		t.Fatal("isn't connected")
	}
	watching, err := c.client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	next := func() string {
		select {
		case e := <-watching.ResultChan():
			o, _ := e.Object.(metav1.Object)
			return fmt.Sprint(e.Type, " ", o.GetName())
		case <-time.After(soon):
			t.Fatal("nothing is told")
			return ""
		}
	}
	if got, want := next(), "ADDED "+ConnectionsName([]ConnectionKey{k}); got != want {
		t.Fatalf("want %s, got %s", want, got)
	}
	c.tell(func() { c.metrics = statusOf(prod, 0) })
	if got, want := next(), "MODIFIED "+ConnectionsName([]ConnectionKey{k}); got != want {
		t.Fatalf("want %s, got %s", want, got)
	}
	if is := c.seen(t, k)[k]; is.Connected {
		t.Error("is connected")
	}
	// At rest nothing is told.
	looks := c.looks.Load()
	for c.looks.Load() < looks+5 {
		time.Sleep(5 * time.Millisecond)
	}
	select {
	case e := <-watching.ResultChan():
		t.Errorf("at rest: %v", e)
	default:
	}
}
