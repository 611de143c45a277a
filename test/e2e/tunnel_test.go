//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/netcheck"
)

const (
	// closedStore is the name of the closed cluster, and storeAgent that of what is applied there for claim chain.
	closedStore, storeAgent, agents = "store-0042", "chain-store-0042", "virtual-argocd-agent"
	closedStores                    = "e2e-tunnel"
	// closedCluster is the name of the closed cluster on this machine, and closedIndex its index.
	closedCluster, closedIndex = "tunnel-closed", 15
)

// closed is a customer, chain, with a cluster behind a firewall, from which only the URL of the customer's Argo CD is reached.
type closed struct {
	chain *claim.Live
	// first is the host of the customer's tenant, and config the closed cluster.
	first, config node.Config
	cluster       *kube.Cluster
	secrets       ownSecrets
	repo          string
	authorities   string
	// agent is the agent's pod.
	agent corev1.Pod
}

// TestTunnel deploys to another cluster, which lets no connections in.
func TestTunnel(t *testing.T) {
	onlyOn(t, "tunnel", "THIS STARTS A SECOND CLUSTER, BEHIND A FIREWALL")
	c := &closed{}
	t.Cleanup(func() { c.remove(context.Background(), t) })
	testenv.Test(t, features.New("tunnel").
		Setup(c.create).
		Assess("WaitsForTheAgent", c.waits).
		Assess("AgentConnects", c.connects).
		Assess("ApplicationIsDeployedThere", c.deploys).
		Assess("NobodyElseReachesIt", c.closedToOthers).
		Assess("CutIsTold", c.cut).
		Assess("AgentComesBack", c.comesBack).
		Assess("ServerRestarts", c.restarts).
		Assess("OldKeyIsRefused", c.rotates).
		Feature())
}

func (c *closed) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, c.chain)
	if t.Failed() && keep {
		return
	}
	c.secrets.deleteAll(ctx, t)
	deleteNamespace(ctx, t, closedStores)
	if c.config.Name != "" {
		if err := node.Down(ctx, c.config); err != nil {
			t.Error(err)
		}
	}
}

func (c *closed) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	authorities, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	c.authorities = string(authorities)
	if _, err := createNamespace(closedStores)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	git := gitserver.RunPrivate(ctx, t, host, closedStores, func(string) map[string]string { return map[string]string{"web/deployment.yaml": webManifest} })
	c.repo = git.HTTPS()
	c.secrets.write(ctx, t, "store-git", map[string]string{"username": gitserver.Username, "password": git.Password(), "insecure": "true"})
	c.chain = claim.Create(ctx, t, host, newClaim("chain").
		Set("chain."+ingress.Domain, "spec", "ingress", "host").Set(olderChart(t, platformChart(ctx, t)), "spec", "argocd", "chartVersion").
		Set([]any{map[string]any{"name": closedStore, "tunnel": map[string]any{}}}, "spec", "clusters").
		Set([]any{map[string]any{"name": "store", "url": c.repo, "secretRef": map[string]any{"name": "store-git"}}}, "spec", "repositories"))
	c.start(ctx, t)
	c.chain.AwaitReady(ctx, t, readyWithin)
	return ctx
}

// start starts the closed cluster: Kubernetes, without Crossplane and this project.
func (c *closed) start(ctx context.Context, t *testing.T) {
	t.Helper()
	c.first, c.cluster = startAnother(ctx, t, closedCluster, closedIndex, &c.config, func(o *platform.Options) { o.FromGit = true })
	if err := node.JoinClosed(c.first, c.config); err != nil {
		t.Fatal(err)
	}
}

// awaits waits until the claim tells a state of the cluster, with a part of a message.
func (c *closed) awaits(ctx context.Context, t *testing.T, state, message string) claim.Connection {
	t.Helper()
	return c.chain.Await(ctx, t, noticedWithin+toldOfWithin, "tells that its cluster is "+state, func(s *claim.State) bool {
		return len(s.Clusters) == 1 && s.Clusters[0].State == state && strings.Contains(s.Clusters[0].Message, message)
	}).Clusters[0]
}

func (c *closed) waits(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.awaits(ctx, t, "SecretMissing", "its agent hasn't connected since")
	return ctx
}

// apply applies what the claim publishes in the closed cluster.
func (c *closed) apply(ctx context.Context, t *testing.T) {
	t.Helper()
	text := ""
	awaitDetails(ctx, t, c.chain, "has what is to be applied in the closed cluster", func(details map[string]string) (bool, string) {
		text = details["tunnel."+closedStore+".yaml"]
		return text != "", "it isn't there"
	})
	c.applyText(ctx, t, text, storeAgent)
}

// applyText applies a manifest in the closed cluster, with the embedded cluster's CA in the Secret of the agent.
func (c *closed) applyText(ctx context.Context, t *testing.T, text, agent string) {
	t.Helper()
	for _, doc := range strings.Split("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetKind() == "Secret" && o.GetName() == agent {
			if err := unstructured.SetNestedField(o.Object, c.authorities, "stringData", "ca.crt"); err != nil {
				t.Fatal(err)
			}
		}
		client, err := c.cluster.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
			t.Fatalf("cannot apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func (c *closed) connects(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	c.apply(ctx, t)
	c.cluster.AwaitDeployment(ctx, t, "the agent", agents, storeAgent)
	measured.add("tunnel: applied to connected", time.Since(start))
	list, err := c.cluster.Typed.CoreV1().Pods(agents).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("pods of the agent: %v, %v", list, err)
	}
	c.agent = list.Items[0]
	var token map[string][]byte
	eventually.True(ctx, t, time.Minute, "the account has a token", func(ctx context.Context) (bool, string) {
		secret, err := c.cluster.Typed.CoreV1().Secrets(agents).Get(ctx, storeAgent+"-argocd", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		token = secret.Data
		return len(token["token"]) > 0, "it has none"
	})
	c.secrets.write(ctx, t, closedStore, map[string]string{"token": string(token["token"]), "ca.crt": string(token["ca.crt"])})
	c.awaits(ctx, t, "Configured", "")
	return ctx
}

func (c *closed) deploys(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	api := loggedIn(ctx, t, c.chain)
	from := wholeOf(c.repo)
	from.Path = "web"
	createApp(ctx, t, api, "web", from, closedStore)
	eventually.True(ctx, t, 5*time.Minute, "the Application's Deployment is in the closed cluster", func(ctx context.Context) (bool, string) {
		all, err := c.cluster.Typed.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, d := range all.Items {
			if d.Name == "web" {
				return true, ""
			}
		}
		return false, "it isn't"
	})
	c.awaits(ctx, t, "Connected", "")
	return ctx
}

// closedToOthers: it is the tunnel that Argo CD uses, since neither a pod beside it nor one of the host reaches the API server; and the tunnel is
// open to Argo CD's namespace alone. What is tried answers those who may in the same moments.
func (c *closed) closedToOthers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	a := c.config.Addresses()
	api := []string{net.JoinHostPort(a.Node, "6443"), net.JoinHostPort(a.Kubernetes, "443")}
	within := runProbe(ctx, t, c.cluster, metav1.NamespaceDefault, probePod("within"))
	within.mustReach(ctx, t, api...)

	virtual := byAddress(ctx, t, c.chain)
	beside := runProbe(ctx, t, virtual, "argocd", probePod("beside"))
	mustNotAnswer(t, "a pod beside Argo CD", beside.tryBeside(ctx, t, "argocd-tunnel.argocd:8081", api...), api)
	url, hostAPI := net.JoinHostPort(ingress.Address, "443"), net.JoinHostPort(c.first.Addresses().Node, "6443")
	onHost := runProbe(ctx, t, host, closedStores, probePod("on-host"))
	onHost.mustReach(ctx, t, hostAPI)
	api = append(api[:1], net.JoinHostPort(within.address, fmt.Sprint(answerPort)))
	mustNotAnswer(t, "a pod of the host", onHost.tryBeside(ctx, t, url, api...), api)
	if got := within.tryBeside(ctx, t, url, hostAPI); got[hostAPI] == netcheck.Connected {
		t.Error("the closed cluster reaches more of the host than its ingress controller: this shows little")
	}

	servers, err := virtual.Typed.CoreV1().Pods("argocd").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=argocd-tunnel"})
	if err != nil || len(servers.Items) != 1 {
		t.Fatalf("pods of the server of tunnels: %v, %v", servers, err)
	}
	tunnel := []string{"argocd-tunnel.argocd:8081"}
	for _, port := range []string{"8080", "8081", "8082"} {
		tunnel = append(tunnel, net.JoinHostPort(servers.Items[0].Status.PodIP, port))
	}
	beside.mustReach(ctx, t, tunnel...)
	other := runProbe(ctx, t, virtual, metav1.NamespaceDefault, probePod("other"))
	mustNotAnswer(t, "another pod of the tenant", other.tryBeside(ctx, t, "argocd-server.argocd:443", tunnel...), tunnel)
	if err := virtual.Typed.CoreV1().Pods("argocd").Delete(ctx, beside.name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	return ctx
}

// mustNotAnswer checks that none of the addresses that somebody has tried answers.
func mustNotAnswer(t *testing.T, who string, got map[string]string, targets []string) {
	t.Helper()
	for _, target := range targets {
		if got[target] != netcheck.NoAnswer {
			t.Errorf("%s at %s: want no answer, got %q", who, target, got[target])
		}
	}
}

// cut drops what the agent and the server send to each other for ten minutes. Meanwhile the tenant's Argo CD is upgraded, and the server
// restarted: the claim still says since when the agent is lost.
func (c *closed) cut(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	began := time.Now()
	if err := node.Cut(c.config); err != nil {
		t.Fatal(err)
	}
	since := c.awaits(ctx, t, "AgentLost", "its agent isn't connected any more since").Agent.Since
	measured.add("tunnel: cut to lost in the status", time.Since(began))
	chart := platformChart(ctx, t)
	c.chain.Patch(ctx, t, chart, "spec", "argocd", "chartVersion")
	c.chain.Await(ctx, t, 10*time.Minute, "has the newer Argo CD", func(s *claim.State) bool {
		return s.ArgoCD.ChartVersion == chart && s.True(claim.ArgoCDReady)
	})
	c.restartServer(ctx, t)
	time.Sleep(time.Until(began.Add(10 * time.Minute)))
	c.awaits(ctx, t, "AgentLost", "its agent isn't connected any more since "+since)
	return ctx
}

// comesBack: the agent connects by itself, and its pod is the one that it was.
func (c *closed) comesBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	if err := node.Mend(c.config); err != nil {
		t.Fatal(err)
	}
	c.awaits(ctx, t, "Connected", "")
	measured.add("tunnel: end of a cut of ten minutes to connected in the status", time.Since(start))
	list, err := c.cluster.Typed.CoreV1().Pods(agents).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].UID != c.agent.UID || restarts(list.Items[0]) != restarts(c.agent) {
		t.Errorf("the agent's pod was replaced or restarted: %v, %v", list, err)
	}
	return ctx
}

// restarts restarts the server: the agent comes back by itself.
func (c *closed) restarts(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.restartServer(ctx, t)
	c.cluster.AwaitDeployment(ctx, t, "the agent", agents, storeAgent)
	c.awaits(ctx, t, "Connected", "")
	return ctx
}

// restartServer replaces the pod of the server of tunnels.
func (c *closed) restartServer(ctx context.Context, t *testing.T) {
	t.Helper()
	virtual := open(ctx, t, c.chain)
	if err := virtual.Typed.CoreV1().Pods("argocd").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=argocd-tunnel"}); err != nil {
		t.Fatal(err)
	}
	virtual.AwaitDeployment(ctx, t, "the server of tunnels", "argocd", "argocd-tunnel")
}

// rotates gives the agent another key: the one before is refused at once, and the other is in use without a restart of the agent.
func (c *closed) rotates(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := connectionDetails(ctx, t, c.chain)["tunnel."+closedStore+".yaml"]
	c.chain.Patch(ctx, t, []any{map[string]any{"name": closedStore, "tunnel": map[string]any{"rotateKey": "second"}}}, "spec", "clusters")
	c.awaits(ctx, t, "WaitingForAgent", "apply there what is at the key tunnel."+closedStore+".yaml")
	awaitDetails(ctx, t, c.chain, "has another key", func(details map[string]string) (bool, string) {
		return details["tunnel."+closedStore+".yaml"] != before, "it is the one of before"
	})
	c.apply(ctx, t)
	c.awaits(ctx, t, "Connected", "")
	c.refusesOldKey(ctx, t, before)
	return ctx
}

// refusesOldKey runs an agent with what was published before, beside the one that is connected: the server knows it as nobody, and so not as
// another one with that agent's key.
func (c *closed) refusesOldKey(ctx context.Context, t *testing.T, before string) {
	t.Helper()
	const old = storeAgent + "-old"
	c.applyText(ctx, t, strings.ReplaceAll(before, storeAgent, old), old)
	pods := c.cluster.Typed.CoreV1().Pods(agents)
	eventually.True(ctx, t, 3*time.Minute, "the agent with the key of before is refused, twice", func(ctx context.Context) (bool, string) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + old})
		if err != nil || len(list.Items) != 1 {
			return false, fmt.Sprint(list, err)
		}
		log, err := pods.GetLogs(list.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if strings.Contains(string(log), "The tunnel is connected") {
			t.Fatalf("the key of before is still good:\n%s", log)
		}
		return strings.Count(string(log), "unable to authenticate") >= 2, fmt.Sprint(string(log), err)
	})
	is, err := c.chain.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(is.Clusters) != 1 || is.Clusters[0].State != "Connected" || is.Clusters[0].Message != "" {
		t.Errorf("the cluster: %v", is.Clusters)
	}
}
