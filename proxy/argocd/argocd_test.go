package argocd_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/argocd"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

func TestMain(m *testing.M) { proxytest.Main(m) }

// aRelease is an Argo CD in a virtual cluster, with the record of its Helm release.
type aRelease struct {
	*proxytest.VirtualAPI
	store  *argocd.Store
	client *virtualapi.Client

	mu       sync.Mutex
	manifest string
	revision int
	// exists are the objects that there are, by their paths; unlabelled are those without Helm's label.
	exists, unlabelled map[string]bool
	// refuses is a path that isn't answered for.
	refuses string
	metrics []string
	asked   []string
}

const in = "/api/v1/namespaces/argocd/"

func serve(t *testing.T, manifest string, exists ...string) *aRelease {
	t.Helper()
	c := &aRelease{manifest: manifest, revision: 3, exists: map[string]bool{}, unlabelled: map[string]bool{}, store: argocd.NewStore(0), metrics: []string{"argocd_app_info{} 1\n"}}
	for _, path := range exists {
		c.exists[path] = true
	}
	l := proxytest.Roomy()
	l.LargeResponse = 8 << 20
	c.VirtualAPI = proxytest.Serve(t, c.answer, proxytest.With(l))
	c.client = c.Direct(t)
	return c
}

func (c *aRelease) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, query, accept := r.URL.Path, r.URL.Query(), r.Header.Get("Accept")
	c.asked = append(c.asked, path)
	w.Header().Set("Content-Type", virtualapi.MediaJSON)
	switch {
	case path == c.refuses:
		w.WriteHeader(http.StatusForbidden)
	case path == in+"pods":
		items := []string{}
		for n := range c.metrics {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"argocd-application-controller-%d"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, n))
		}
		_, _ = fmt.Fprintf(w, `{"kind":"PodList","items":[%s]}`, strings.Join(items, ","))
	case strings.HasSuffix(path, ":8082/proxy/metrics"):
		n := int(strings.TrimPrefix(path, in+"pods/argocd-application-controller-")[0] - '0')
		if c.metrics[n] == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		proxytest.ReplyAs(w, "text/plain; version=0.0.4", c.metrics[n])
	case path == in+"secrets" && query.Get("labelSelector") == "owner=helm,status=deployed,name=argocd":
		items := ""
		if c.manifest != "" {
			items = fmt.Sprintf(`{"metadata":{"name":"sh.helm.release.v1.argocd.v1","uid":"b","labels":{"version":"1"}}},{"metadata":{"name":"sh.helm.release.v1.argocd.v%d","uid":"a","resourceVersion":"%[1]d","labels":{"version":"%[1]d"}}}`, c.revision)
		}
		_, _ = fmt.Fprintf(w, `{"items":[%s]}`, items)
	case path == fmt.Sprintf(in+"secrets/sh.helm.release.v1.argocd.v%d", c.revision):
		_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string][]byte{"release": record(c.manifest)}})
	case strings.Contains(accept, "as=Table"):
		rows := []string{}
		for object := range c.exists {
			if name, ok := strings.CutPrefix(object, path+"/"); ok && !c.unlabelled[object] {
				rows = append(rows, fmt.Sprintf(`{"cells":["not-%s",%q,5]}`, name, name))
			}
		}
		if query.Get("labelSelector") != "app.kubernetes.io/managed-by=Helm" || query.Get("includeObject") != "None" || query.Get("limit") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = fmt.Fprintf(w, `{"kind":"Table","columnDefinitions":[{"name":"Other","format":""},{"name":"Name","format":"name"}],"rows":[%s]}`, strings.Join(rows, ","))
	case c.exists[path] && strings.Contains(accept, "as=PartialObjectMetadata"):
		_, _ = fmt.Fprint(w, `{"metadata":{}}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"kind":"Status"}`)
	}
}

func record(manifest string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_ = json.NewEncoder(z).Encode(map[string]any{"chart": map[string]any{}, "manifest": manifest})
	_ = z.Close()
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

// look looks, and returns what is known then.
func (c *aRelease) look(t *testing.T) (data map[string]string, changed bool) {
	t.Helper()
	changed = c.store.Look(t.Context(), c.client, "argocd")
	data = map[string]string{}
	c.store.AddTo(c.client, "argocd", data)
	return data, changed
}

func (c *aRelease) change(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// manifest of a release with an object of each kind that matters here.
const manifest = `---
# Source: argo-cd/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-rbac-cm
  namespace: argocd
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: argocd:server
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: applications.argoproj.io
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-server
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: argocd-server
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: elsewhere
  namespace: other
---
apiVersion: other.example.org/v1
kind: Role
metadata:
  name: no-role
`

const (
	configMap   = in + "configmaps/argocd-rbac-cm"
	clusterRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles/argocd:server"
	crd         = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/applications.argoproj.io"
)

// TestMissing: objects of the release are missing that don't exist, and only where that is known.
func TestMissing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*aRelease)
		want   *proxy.Missing
	}{
		"AllThere":   {"Nothing is missing.", func(*aRelease) {}, nil},
		"Deleted":    {"One is.", func(c *aRelease) { delete(c.exists, configMap) }, &proxy.Missing{Revision: 3, Objects: []string{"ConfigMap argocd-rbac-cm"}}},
		"ClusterOne": {"So is one without a namespace, and a definition.", func(c *aRelease) { delete(c.exists, clusterRole); delete(c.exists, crd) }, &proxy.Missing{Revision: 3, Objects: []string{"ClusterRole argocd:server", "CustomResourceDefinition applications.argoproj.io"}}},
		"NoLabel":    {"Somebody has taken its label away: it exists.", func(c *aRelease) { c.unlabelled[configMap] = true }, nil},
		"Refused": {"One kind can't be read: nothing is known.", func(c *aRelease) {
			delete(c.exists, configMap)
			c.refuses = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
		}, nil},
		"GetRefused": {"Nor where the object itself can't be.", func(c *aRelease) { delete(c.exists, configMap); c.refuses = configMap }, nil},
		"NoRecord":   {"Helm deploys it now.", func(c *aRelease) { c.manifest = ""; clear(c.exists) }, nil},
		"Unreadable": {"The record isn't Helm's.", func(c *aRelease) { c.manifest = "kind: ["; clear(c.exists) }, nil},
		"Many": {"No more than ten are named, and looked for.", func(c *aRelease) {
			c.manifest = strings.Repeat("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n", 400)
		}, &proxy.Missing{Revision: 3, Objects: strings.Split(strings.TrimSuffix(strings.Repeat("Secret a,", proxy.MaxMissing), ","), ",")}},
		"Hostile": {"Only names become parts of paths.", func(c *aRelease) {
			c.manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ../secrets/a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a?b\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"a\\nb\"\n"
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, manifest, configMap, clusterRole, crd)
			tc.change(c)
			data, _ := c.look(t)
			if got := proxy.ReadMissing(data[proxy.SummaryMissing]); cmp.Diff(tc.want, got) != "" {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
			if odd := slices.IndexFunc(c.asked, func(path string) bool { return strings.ContainsAny(path, "?\n") || strings.Contains(path, "..") }); odd >= 0 {
				t.Errorf("%s\nasked for %s", tc.reason, c.asked[odd])
			}
		})
	}
}

// TestLook: a record is read once, however often its objects are looked at, and only news is a change.
func TestLook(t *testing.T) {
	t.Parallel()
	c := serve(t, manifest, configMap, clusterRole, crd)
	records := func() (n int) {
		for _, path := range c.asked {
			if strings.HasPrefix(path, in+"secrets/") {
				n++
			}
		}
		return n
	}
	for n, step := range []struct {
		change  func()
		changed bool
		records int
	}{
		{func() {}, true, 1},
		{func() {}, false, 1},
		{func() { delete(c.exists, configMap) }, true, 1},
		{func() {}, false, 1},
		{func() { c.exists[configMap] = true; c.revision++ }, true, 2},
		{func() { c.metrics[0] = "argocd_app_info{} 1\nargocd_app_info{} 1\n" }, true, 2},
		// A controller restarts.
		{func() { c.metrics[0] = "" }, false, 2},
		{func() { c.metrics = nil }, false, 2},
	} {
		c.change(step.change)
		data, changed := c.look(t)
		if changed != step.changed || records() != step.records || data[proxy.SummaryApplications] == "" {
			t.Errorf("step %d: changed %t, %d records, %v", n, changed, records(), data)
		}
	}
	seldom := argocd.NewStore(time.Hour)
	if !seldom.Look(t.Context(), c.client, "argocd") {
		c.change(func() { c.metrics = []string{"argocd_app_info{} 1\n"} })
	}
	if seldom.Look(t.Context(), c.client, "argocd") {
		t.Error("it looks again before it is time")
	}
}

// TestCountApplications: the Applications of all application controllers are counted, and no more than a bounded part of metrics is read.
func TestCountApplications(t *testing.T) {
	t.Parallel()
	app := func(health, sync string) string {
		return fmt.Sprintf("argocd_app_info{dest_server=\"https://a\",health_status=%q,name=\"a } 1\\\"\",namespace=\"argocd\",sync_status=%q} 1\n", health, sync)
	}
	const other, header = "argocd_app_reconcile_count{namespace=\"argocd\"} 1\n", "# HELP argocd_app_info Information about application.\n"
	for name, tc := range map[string]struct {
		metrics []string
		want    *proxy.Applications
	}{
		"None":        {[]string{"argocd_cluster_info{} 1\n"}, &proxy.Applications{}},
		"Some":        {[]string{header + app("Healthy", "Synced") + app("Degraded", "Synced") + app("Healthy", "OutOfSync") + app("Unknown", "Unknown") + other}, &proxy.Applications{Total: 4, NotHealthy: 2, NotSynced: 2}},
		"TwoShards":   {[]string{app("Healthy", "Synced") + other, app("Progressing", "Synced") + other}, &proxy.Applications{Total: 2, NotHealthy: 1}},
		"OneIsSilent": {[]string{app("Healthy", "Synced"), ""}, nil},
		"NotArgoCD":   {[]string{"hello 1\n"}, nil},
		"LaterLines":  {[]string{app("Healthy", "Synced") + other + app("Degraded", "OutOfSync")}, &proxy.Applications{Total: 1}},
		"NoRead":      {[]string{app("Healthy", "Synced") + "argocd_app_info{x\n" + other}, &proxy.Applications{Total: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, "")
			c.metrics = tc.metrics
			data, _ := c.look(t)
			if got := proxy.ReadApplications(data[proxy.SummaryApplications]); cmp.Diff(tc.want, got) != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
	c := serve(t, "")
	line := app("Degraded", "Synced")
	c.metrics = []string{strings.Repeat(line, 100_000)}
	data, _ := c.look(t)
	got := proxy.ReadApplications(data[proxy.SummaryApplications])
	if got == nil || got.Total < 10_000 || got.Total > 4<<20/int64(len(line)) || got.NotHealthy != got.Total {
		t.Errorf("of 100,000 Applications, got %+v", got)
	}
}
