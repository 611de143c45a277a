//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/netcheck"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/reposerver"
)

const (
	// team is the namespace of mallory's virtual cluster in which a developer may do everything.
	team = "team-dev"
	// developerGit is that of a Git server that tenants may reach.
	developerGit = "e2e-developer-git"
	// marker is what the developer's program says when it runs in the repository server.
	marker = `echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "marker"}, "data": {"who": "'"$(id -u)"', has '${#REDIS_PASSWORD}' characters"}}'`
)

// labelOfNamespace is the label by which a pod on the host is one of a namespace of the virtual cluster.
const labelOfNamespace = "vcluster.loft.sh/namespace"

// labelsOfArgoCD are those with which a pod would be one of Argo CD's on the host.
var labelsOfArgoCD = map[string]string{labelOfNamespace: "argocd", "vcluster.loft.sh/managed-by": "vcluster", "app.kubernetes.io/name": "argocd-server", "app.kubernetes.io/part-of": "argocd"}

// ownDeveloper tries, from a pod of a developer's namespace, what Argo CD's pods keep to themselves. The same works from a pod
// beside Argo CD, whose pods trust each other: that shows that the attempts are good ones.
func ownDeveloper(ctx context.Context, t *testing.T, i *intrusion) {
	i.mallory.makeTeam(ctx, t)
	pod := probePod("developer")
	pod.Spec.AutomountServiceAccountToken = new(bool)
	// By these labels, the host's NetworkPolicies know Argo CD's pods. vcluster writes its own over a tenant's.
	for label, of := range labelsOfArgoCD {
		pod.Labels[label] = of
	}
	developer := runProbe(ctx, t, i.mallory.cluster, team, pod)
	onTheHost, err := host.Typed.CoreV1().Pods(i.mallory.namespace).Get(ctx, onHost(pod.Name, team), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := onTheHost.Labels[labelOfNamespace]; got != team {
		t.Errorf("a developer's pod has the label %s: %s on the host, want %s", labelOfNamespace, got, team)
	}
	beside := runProbe(ctx, t, i.mallory.cluster, "argocd", probePod("beside"))
	t.Cleanup(func() {
		if err := i.mallory.cluster.Typed.CoreV1().Pods("argocd").Delete(ctx, beside.name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})

	where := i.mallory.portsOfArgoCD(ctx, t, beside)
	t.Logf("Argo CD's pods listen at %v", where)
	got := developer.tryBeside(ctx, t, "argocd-server.argocd:443", where...)
	for _, target := range where {
		if got[target] != netcheck.NoAnswer {
			t.Errorf("a developer's pod at %s: want no answer, got %q", target, got[target])
		}
	}

	repoServer := i.mallory.podOfArgoCD(ctx, t, "argocd-repo-server")
	address := net.JoinHostPort(repoServer.Status.PodIP, "8081")
	eventually.True(ctx, t, 2*time.Minute, "a program runs in the repository server for a pod beside it", func(ctx context.Context) (bool, string) {
		said, err := reposerver.Run(ctx, through(beside), "https://"+address, marker)
		return err == nil && strings.Contains(said, "999, has"), fmt.Sprint(said, err)
	})
	if said, err := reposerver.Run(ctx, through(developer), "https://"+address, marker); !unanswered(err) {
		t.Errorf("a developer's program in the repository server: want no answer, got %v, %s", err, said)
	}
	i.byProxyOfAPI(ctx, t, developer, repoServer)

	// All the while, Argo CD works: by its URL, and from Git to the virtual cluster.
	if _, err := createNamespace(developerGit)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNamespace(ctx, t, developerGit) })
	repo := gitserver.RunPublic(ctx, t, host, developerGit, artifacts.ServersImage, map[string]string{"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: synced}\n"})
	createApp(ctx, t, loggedIn(ctx, t, i.mallory.live), "meanwhile", wholeOf(repo), argocd.InCluster)
	eventually.True(ctx, t, 3*time.Minute, "Argo CD syncs an Application", func(ctx context.Context) (bool, string) {
		_, err := i.mallory.cluster.Typed.CoreV1().ConfigMaps("meanwhile").Get(ctx, "synced", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// through is an HTTP client of a pod. The repository server has a certificate that it made itself.
func through(p place) *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.cluster.Relay(ctx, p.namespace, p.name, "probe", address)
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
}

// portsOfArgoCD are those at which a pod beside Argo CD's pods reaches them, but for the one of the API server.
func (n *tenant) portsOfArgoCD(ctx context.Context, t *testing.T, beside place) []string {
	t.Helper()
	where := []string{"argocd-redis.argocd:6379", "argocd-repo-server.argocd:8081"}
	for name, ports := range map[string][]string{
		"argocd-server": {"8083"}, "argocd-repo-server": {"8081", "8084"}, "argocd-application-controller": {"8082"}, "argocd-redis": {"6379"},
	} {
		address := n.podOfArgoCD(ctx, t, name).Status.PodIP
		for _, port := range ports {
			where = append(where, net.JoinHostPort(address, port))
		}
	}
	beside.mustReach(ctx, t, where...)
	// Not all of these listen in each Argo CD.
	var more []string
	for _, name := range []string{"argocd-applicationset-controller", "argocd-notifications-controller", "argocd-dex-server"} {
		pods := n.podsOfArgoCD(ctx, t, name)
		for _, p := range pods {
			for _, c := range p.Spec.Containers {
				for _, port := range c.Ports {
					more = append(more, net.JoinHostPort(p.Status.PodIP, fmt.Sprint(port.ContainerPort)))
				}
			}
		}
	}
	got := beside.tryBeside(ctx, t, "argocd-server.argocd:443", more...)
	return append(where, slices.DeleteFunc(more, func(target string) bool { return got[target] != netcheck.Connected })...)
}

func (n *tenant) podsOfArgoCD(ctx context.Context, t *testing.T, name string) []corev1.Pod {
	t.Helper()
	pods, err := n.cluster.Typed.CoreV1().Pods("argocd").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
}

func (n *tenant) podOfArgoCD(ctx context.Context, t *testing.T, name string) corev1.Pod {
	t.Helper()
	pods := n.podsOfArgoCD(ctx, t, name)
	if len(pods) == 0 {
		t.Fatalf("no pod of %s runs", name)
	}
	return pods[0]
}

// byProxyOfAPI asks the virtual API server to connect to the repository server, at an address in Endpoints that a developer can
// have Argo CD write: Kubernetes' role edit has the right to services/proxy. Kubernetes connects only to pods of the Service's own
// namespace, such as the developer's.
func (i *intrusion) byProxyOfAPI(ctx context.Context, t *testing.T, developer place, repoServer corev1.Pod) {
	t.Helper()
	core := i.mallory.cluster.Typed
	way := func(name, scheme, ip string, port int32, target *corev1.ObjectReference) string {
		service := plainService(name)
		service.Spec.Selector = nil
		if _, err := core.CoreV1().Services(team).Create(ctx, service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		endpoints := &corev1.Endpoints{ //nolint:staticcheck // What is deprecated works for attackers, too.
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // See above.
				Addresses: []corev1.EndpointAddress{{IP: ip, TargetRef: target}}, Ports: []corev1.EndpointPort{{Port: port}},
			}},
		}
		if _, err := core.CoreV1().Endpoints(team).Create(ctx, endpoints, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return i.mallory.cluster.Config.Host + "/api/v1/namespaces/" + team + "/services/" + scheme + ":" + name + ":" + fmt.Sprint(answerPort) + "/proxy"
	}
	pod := func(namespace, name string) *corev1.ObjectReference {
		return &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: name}
	}
	client, err := rest.HTTPClientFor(i.mallory.member(team, "developer"))
	if err != nil {
		t.Fatal(err)
	}
	client.Timeout = 45 * time.Second
	own := way("way-to-own", "http", developer.address, answerPort, pod(team, developer.name))
	eventually.True(ctx, t, time.Minute, "a developer reaches a pod of its own by the virtual API server", func(ctx context.Context) (bool, string) {
		_, err := reposerver.Run(ctx, client, own, marker)
		// The pod says hello, which is no HTTP.
		return says(err, "malformed HTTP") || says(err, "error trying to reach service"), fmt.Sprint(err)
	})
	for name, target := range map[string]*corev1.ObjectReference{
		"way-to-repo": nil, "way-to-repo-by-name": pod("argocd", repoServer.Name), "way-to-repo-by-own": pod(team, developer.name),
	} {
		said, err := reposerver.Run(ctx, client, way(name, "https", repoServer.Status.PodIP, 8081, target), marker)
		if !says(err, "no endpoints available") {
			t.Errorf("a developer's program in the repository server by the virtual API server (%s): want no endpoints, got %v, %s", name, err, said)
		}
	}
}

// makeTeam makes a namespace with a developer who may do there what Kubernetes' role edit has.
func (n *tenant) makeTeam(ctx context.Context, t *testing.T) {
	t.Helper()
	_, err := n.cluster.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, metav1.CreateOptions{})
	if kerrors.IsAlreadyExists(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "namespace "+team+" has its ServiceAccount", func(ctx context.Context) (bool, string) {
		_, err := n.cluster.Typed.CoreV1().ServiceAccounts(team).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	_, err = n.cluster.Typed.RbacV1().RoleBindings(team).Create(ctx, mayEdit("developer"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// member is the configuration of a ServiceAccount of the virtual cluster.
func (n *tenant) member(namespace, name string) *rest.Config {
	config := rest.CopyConfig(n.cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return config
}
