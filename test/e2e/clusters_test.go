//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// appsNamespace is where the Git server is whose repository has a folder for each purpose.
const appsNamespace = "e2e-apps"

// inUseWithin is the promise for a credential that was changed in its Secret.
const inUseWithin = 90 * time.Second

// connected is a customer, hub, with clusters of its own. They are one API server, that of another customer, edge, by
// three addresses: Argo CD tells clusters apart by those.
type connected struct {
	hub, edge *claim.Live
	repo      string
	clusters  []*customerCluster
	account   *external.Cluster
	secrets   ownSecrets
}

// A customerCluster is an entry of spec.clusters, and the form of its Secret.
type customerCluster struct {
	name, server string
	// field is spec.clusters[].server.
	field string
	form  func(external.Cluster) (map[string]string, error)
}

func (c *customerCluster) secret() string { return "cluster-" + c.name }

func (c *customerCluster) entry() map[string]any {
	out := map[string]any{
		"name": c.name, "secretRef": map[string]any{"name": c.secret()},
		"labels": map[string]any{"example.org/form": c.name},
	}
	if c.field != "" {
		out["server"] = c.field
	}
	return out
}

func TestClusters(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	c := &connected{}
	testenv.Test(t, features.New("hub and edge").
		Setup(c.create).
		Assess("EachFormOfSecretRegistersItsCluster", c.registered).
		Assess("ApplicationsDeployToEach", c.deployed).
		Assess("UnreachableClusterIsTold", c.unreachable).
		Assess("RotatedCredentialIsInUse", c.rotated).
		Assess("MissingAndBrokenSecretsAreNamedAndHarmless", c.brokenSecrets).
		Assess("CorrectionHeals", c.corrected).
		Assess("RemovedEntryRemovesTheCluster", c.removed).
		Assess("BootstrapBringsApplications", c.bootstrapped).
		Assess("BootstrapThatCannotBeSyncedIsNamed", c.badBootstrap).
		Assess("EventsAreNotRepeated", c.quiet).
		Assess("ProtectedClaimIsNotDeleted", c.protected).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			c.unprotect(ctx, t)
			cleanUp(ctx, t, c.hub, c.edge)
			if t.Failed() && keep {
				return ctx
			}
			c.secrets.deleteAll(ctx, t)
			deleteNamespace(ctx, t, appsNamespace)
			return ctx
		}).Feature())
}

func (c *connected) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.hub = claim.Create(ctx, t, host, newClaim("hub"))
	c.edge = claim.Create(ctx, t, host, newClaim("edge"))
	c.hub.AwaitReady(ctx, t, readyWithin)
	edge := c.edge.AwaitReady(ctx, t, readyWithin)

	c.open(ctx, t, edge.Namespace)
	address := c.addresses(ctx, t, edge.Namespace)
	c.account = external.Prepare(ctx, t, open(ctx, t, c.edge), "")
	c.clusters = []*customerCluster{
		{name: "by-kubeconfig", server: "https://" + address[0] + ":443", form: func(e external.Cluster) (map[string]string, error) {
			return e.Kubeconfig()
		}},
		{name: "by-token", server: "https://" + address[0], field: "https://" + address[0], form: func(e external.Cluster) (map[string]string, error) {
			return e.ServiceAccountToken(), nil
		}},
		{name: "by-declaration", server: "https://" + address[1], form: func(e external.Cluster) (map[string]string, error) {
			return declaredAs(e, "vcluster."+edge.Namespace+".svc")
		}},
	}

	if _, err := createNamespace(appsNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	git := gitserver.RunPrivate(ctx, t, host, appsNamespace, func(url string) map[string]string {
		return map[string]string{"web/deployment.yaml": webManifest, "root/shop.yaml": fmt.Sprintf(shopApplication, url)}
	})
	c.repo = git.HTTPS()
	c.secrets.write(ctx, t, "apps-password", map[string]string{"username": gitserver.Username, "password": git.Password(), "insecure": "true"})
	c.hub.Patch(ctx, t, []any{map[string]any{"name": "apps", "url": c.repo, "secretRef": map[string]any{"name": "apps-password"}}}, "spec", "repositories")
	return ctx
}

// open lets hub reach edge's API server.
func (c *connected) open(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	letIn(ctx, t, namespace, "hub", tenantNamespace(ctx, c.hub))
}

// letIn lets the tenant whose namespace is from, called who, reach the API server of another tenant, as the platform may: tenants reach no
// other's unless it does. The one's pods reach namespaces with a label, and the other's control plane is reached by those that one more NetworkPolicy names.
func letIn(ctx context.Context, t *testing.T, namespace, who, from string) {
	t.Helper()
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, reachable)
	if _, err := host.Typed.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	port, protocol := intstr.FromInt32(8443), corev1.ProtocolTCP
	_, err := host.Typed.NetworkingV1().NetworkPolicies(namespace).Create(ctx, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "open-to-" + who},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "vcluster"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: []networkingv1.NetworkPolicyPort{{Port: &port, Protocol: &protocol}},
				From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{corev1.LabelMetadataName: from},
				}}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// addresses are two ways to the API server of a virtual cluster. Its certificate is for the first alone.
func (c *connected) addresses(ctx context.Context, t *testing.T, namespace string) [2]string {
	t.Helper()
	services := host.Typed.CoreV1().Services(namespace)
	first, err := services.Get(ctx, "vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "second-address"},
		Spec: corev1.ServiceSpec{Selector: first.Spec.Selector, Ports: []corev1.ServicePort{{
			Name: "https", Port: 443, TargetPort: first.Spec.Ports[slices.IndexFunc(first.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == 443 })].TargetPort,
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{first.Spec.ClusterIP, second.Spec.ClusterIP}
}

// declaredAs is Argo CD's own form, for a server whose certificate is for another name than its address.
func declaredAs(e external.Cluster, name string) (map[string]string, error) {
	data, err := e.Declarative()
	if err != nil {
		return nil, err
	}
	config := map[string]any{}
	if err := json.Unmarshal([]byte(data["config"]), &config); err != nil {
		return nil, err
	}
	tls, _ := config["tlsClientConfig"].(map[string]any)
	tls["serverName"] = name
	out, err := json.Marshal(config)
	data["config"] = string(out)
	// Argo CD's own form says the cluster's name.
	data["name"] = "by-declaration"
	return data, err
}

// shopApplication is what the first Application brings: another one.
const shopApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
spec:
  project: default
  source:
    repoURL: %s
    path: web
    targetRevision: HEAD
  destination:
    server: https://kubernetes.default.svc
    namespace: shop
  syncPolicy:
    automated: {}
    syncOptions: [CreateNamespace=true]
`

// writeSecrets writes the credentials in use down, each cluster's in its form.
func (c *connected) writeSecrets(ctx context.Context, t *testing.T, clusters ...*customerCluster) {
	t.Helper()
	for _, cluster := range clusters {
		at := *c.account
		at.Server = cluster.server
		data, err := cluster.form(at)
		if err != nil {
			t.Fatal(err)
		}
		c.secrets.write(ctx, t, cluster.secret(), data)
	}
}

// specify sets spec.clusters to the test's clusters, and further ones that have a kubeconfig.
func (c *connected) specify(ctx context.Context, t *testing.T, further ...string) {
	t.Helper()
	var entries []any
	for _, cluster := range c.clusters {
		entries = append(entries, cluster.entry())
	}
	for _, name := range further {
		entries = append(entries, map[string]any{"name": name, "secretRef": map[string]any{"name": "cluster-" + name}})
	}
	c.hub.Patch(ctx, t, entries, "spec", "clusters")
}

func (c *connected) registered(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.writeSecrets(ctx, t, c.clusters...)
	c.specify(ctx, t)
	start := time.Now()
	// Argo CD connects to a cluster once it is used.
	s := c.hub.Await(ctx, t, 2*time.Minute, "tells that its clusters are configured", func(s *claim.State) bool {
		is := s.Condition(claim.ClustersConnected)
		return is.Status == metav1.ConditionUnknown && is.Reason == v1alpha1.ReasonConfigured && len(s.Clusters) == len(c.clusters)
	})
	for _, status := range s.Clusters {
		if status.State != "Configured" || status.Message != "" {
			t.Errorf("status of cluster %s is %s %q", status.Name, status.State, status.Message)
		}
	}
	c.awaitClusters(ctx, t, loggedIn(ctx, t, c.hub), func(got map[string]argocd.Cluster) string {
		for _, cluster := range c.clusters {
			if is, ok := got[cluster.name]; !ok || is.Server != cluster.server || is.Labels["example.org/form"] != cluster.name {
				return "not as in the spec: " + cluster.name
			}
		}
		return ""
	})
	measured.add("clusters: entries to registered in Argo CD", time.Since(start))
	return ctx
}

// awaitClusters waits until nothing is wrong with Argo CD's clusters.
func (c *connected) awaitClusters(ctx context.Context, t *testing.T, api *argocd.Client, wrong func(map[string]argocd.Cluster) string) {
	t.Helper()
	eventually.True(ctx, t, 2*time.Minute, "Argo CD has the clusters of the spec", func(ctx context.Context) (bool, string) {
		got, err := api.Clusters(ctx)
		if err != nil {
			return false, err.Error()
		}
		what := wrong(got)
		return what == "", fmt.Sprintf("%s; Argo CD has %v", what, got)
	})
}

func (c *connected) deployed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.deploy(ctx, t, "first", c.clusters...)
	start := time.Now()
	c.awaitStates(ctx, t, "Connected")
	measured.add("clusters: used to connected in the status", time.Since(start))
	return ctx
}

const (
	// toldOfWithin is the promise for what Argo CD tells to be told by the claim.
	toldOfWithin = 2 * time.Minute
	// noticedWithin is how long Argo CD may take to notice that an API server is gone: its HTTP client gives up a connection after 45 seconds
	// without an answer, and the attempt to open another after 30.
	noticedWithin = 75 * time.Second
)

// awaitStates waits until the claim tells that all clusters are in a state, and so does its condition.
func (c *connected) awaitStates(ctx context.Context, t *testing.T, state string) *claim.State {
	t.Helper()
	status := map[string]metav1.ConditionStatus{"Connected": metav1.ConditionTrue, "Failed": metav1.ConditionFalse}[state]
	defer func() {
		if t.Failed() {
			t.Log(c.counted(ctx, t))
		}
	}()
	return c.hub.Await(ctx, t, noticedWithin+toldOfWithin, "tells that its clusters are "+state, func(s *claim.State) bool {
		return s.Condition(claim.ClustersConnected).Status == status && len(s.Clusters) == len(c.clusters) && s.IsReady() &&
			!slices.ContainsFunc(s.Clusters, func(c claim.Connection) bool { return c.State != state })
	})
}

// counted is what Argo CD's metrics say of clusters and of the requests to them.
func (c *connected) counted(ctx context.Context, t *testing.T) string {
	page, err := open(ctx, t, c.hub).Typed.CoreV1().Pods("argocd").ProxyGet("http", "argocd-application-controller-0", "8082", "metrics", nil).DoRaw(ctx)
	lines := []string{fmt.Sprint("what Argo CD's metrics say: ", err)}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "argocd_cluster_") || strings.HasPrefix(line, "argocd_kubectl_requests_total") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// unreachable stops the cluster's API server for a while. Argo CD itself calls such a cluster connected for hours.
func (c *connected) unreachable(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	edge, err := c.edge.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scale := func(replicas string) {
		t.Helper()
		if _, err := host.Typed.AppsV1().StatefulSets(edge.Namespace).Patch(ctx, "vcluster", types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	scale("0")
	eventually.True(ctx, t, time.Minute, "the cluster's API server is gone", func(ctx context.Context) (bool, string) {
		is, err := host.Typed.AppsV1().StatefulSets(edge.Namespace).Get(ctx, "vcluster", metav1.GetOptions{})
		return err == nil && is.Status.Replicas == 0, fmt.Sprint(is.Status, err)
	})
	start := time.Now()
	s := c.awaitStates(ctx, t, "Failed")
	measured.add("clusters: unreachable to failed in the status", time.Since(start))
	if is := s.Condition(claim.ClustersConnected); is.Reason != v1alpha1.ReasonConnectionFailed || !strings.Contains(is.Message, "get no answer") {
		t.Errorf("ClustersConnected: %v", is)
	}
	scale("1")
	c.edge.AwaitReady(ctx, t, readyWithin)
	start = time.Now()
	c.awaitStates(ctx, t, "Connected")
	measured.add("clusters: reachable to connected in the status", time.Since(start))
	return ctx
}

// deploy makes an Application for each cluster and waits until it is there.
func (c *connected) deploy(ctx context.Context, t *testing.T, prefix string, clusters ...*customerCluster) {
	t.Helper()
	api, edge := loggedIn(ctx, t, c.hub), open(ctx, t, c.edge)
	for _, cluster := range clusters {
		createApp(ctx, t, api, prefix+"-"+cluster.name, argocd.Source{RepoURL: c.repo, Path: "web"}, cluster.name)
	}
	for _, cluster := range clusters {
		app := prefix + "-" + cluster.name
		awaitHealthy(ctx, t, api, app)
		web, err := edge.Typed.AppsV1().Deployments(app).Get(ctx, "web", metav1.GetOptions{})
		if err != nil || web.Status.AvailableReplicas != 1 {
			t.Errorf("Application %s is Healthy, its Deployment in the customer's cluster is %v, %v", app, web.Status, err)
		}
	}
}

// awaitHealthy waits for longer than the four minutes after which Argo CD tries again to read a repository.
func awaitHealthy(ctx context.Context, t *testing.T, api *argocd.Client, app string) {
	t.Helper()
	eventually.True(ctx, t, 6*time.Minute, "Application "+app+" becomes Synced and Healthy", func(ctx context.Context) (bool, string) {
		a, err := api.Get(ctx, app)
		if err != nil {
			return false, err.Error()
		}
		return a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy", a.String()
	})
}

// rotated takes the old credential's power away first, so that what is deployed then is deployed with the new one.
func (c *connected) rotated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.account.Rotate(ctx, t)
	c.account.Revoke(ctx, t)
	calm.RLock()
	defer calm.RUnlock()
	start := time.Now()
	c.writeSecrets(ctx, t, c.clusters...)
	c.deploy(ctx, t, "second", c.clusters...)
	took := time.Since(start)
	measured.add("clusters: rotated credential to deployed with it, all forms", took)
	if took > inUseWithin {
		t.Errorf("the new credential is in use %s after it was written, more than %s", took.Round(time.Second), inUseWithin)
	}
	return ctx
}

// brokenSecrets breaks the Secret of one cluster that works and deletes that of another, and adds clusters that never
// had a good one.
func (c *connected) brokenSecrets(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.secrets.write(ctx, t, "cluster-garbled", map[string]string{"kubeconfig": "no kubeconfig: ["})
	c.secrets.write(ctx, t, c.clusters[1].secret(), map[string]string{"token": ""})
	c.secrets.delete(ctx, t, c.clusters[0].secret())
	c.specify(ctx, t, "garbled", "absent")
	want := map[string]string{
		c.clusters[0].name: "SecretMissing", c.clusters[1].name: "SecretInvalid", c.clusters[2].name: "Connected",
		"garbled": "SecretInvalid", "absent": "SecretMissing",
	}
	start := time.Now()
	s := c.hub.Await(ctx, t, 2*time.Minute, "tells which Secrets are missing or broken, names them in condition ClustersConnected, and is Ready", func(s *claim.State) bool {
		got := map[string]string{}
		for _, status := range s.Clusters {
			got[status.Name] = status.State
		}
		message := s.Condition(claim.ClustersConnected).Message
		for name, state := range want {
			if got[name] != state || state != "Connected" && !strings.Contains(message, "Secret cluster-"+name+" ") {
				return false
			}
		}
		return s.Condition(claim.ClustersConnected).Status == metav1.ConditionFalse && s.IsReady()
	})
	measured.add("clusters: Secrets broken to told in the status", time.Since(start))
	for name, state := range want {
		if state == "Connected" {
			continue
		}
		eventually.True(ctx, t, time.Minute, "the claim has an event that names Secret cluster-"+name, func(ctx context.Context) (bool, string) {
			return warned(ctx, c.hub, "cluster-"+name)
		})
	}
	showsOnTheHost(ctx, t, s, "Degraded", "cluster-garbled", "cluster-absent")
	// Time enough to do what must not be done.
	time.Sleep(20 * time.Second)
	got, err := loggedIn(ctx, t, c.hub).Clusters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range c.clusters {
		if _, ok := got[cluster.name]; !ok {
			t.Errorf("cluster %s worked, and Argo CD has it no more: %v", cluster.name, got)
		}
	}
	c.deploy(ctx, t, "third", c.clusters...)
	return ctx
}

func (c *connected) corrected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.writeSecrets(ctx, t, c.clusters...)
	c.specify(ctx, t)
	start := time.Now()
	s := c.hub.Await(ctx, t, 2*time.Minute, "tells that its clusters are connected, and is ready", func(s *claim.State) bool {
		return s.True(claim.ClustersConnected) && len(s.Clusters) == len(c.clusters) && s.IsReady()
	})
	showsOnTheHost(ctx, t, s, "Healthy")
	measured.add("clusters: Secrets corrected to told in the status", time.Since(start))
	return ctx
}

func (c *connected) removed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	gone := c.clusters[2]
	c.clusters = c.clusters[:2]
	c.specify(ctx, t)
	start := time.Now()
	c.awaitClusters(ctx, t, loggedIn(ctx, t, c.hub), func(got map[string]argocd.Cluster) string {
		if _, ok := got[gone.name]; ok {
			return gone.name + " is still there"
		}
		for _, cluster := range c.clusters {
			if _, ok := got[cluster.name]; !ok {
				return cluster.name + " has gone with it"
			}
		}
		return ""
	})
	measured.add("clusters: entry removed to gone from Argo CD", time.Since(start))
	web, err := open(ctx, t, c.edge).Typed.AppsV1().Deployments("first-"+gone.name).Get(ctx, "web", metav1.GetOptions{})
	if err != nil || web.DeletionTimestamp != nil {
		t.Errorf("what was deployed to the removed cluster does not stay: %v", err)
	}
	return ctx
}
