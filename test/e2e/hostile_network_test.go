//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/netcheck"
)

// reach tries to connect to addresses from a pod and tells what came of each.
func (p place) reach(ctx context.Context, targets ...string) (map[string]string, error) {
	out, err := p.run(ctx, netcheck.Command(targets...)...)
	if err != nil {
		return nil, err
	}
	got, err := netcheck.Results(out, targets...)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", p.name, err)
	}
	return got, nil
}

// mustReach waits until a pod reaches all addresses.
func (p place) mustReach(ctx context.Context, t *testing.T, targets ...string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "pod "+p.name+" reaches what it is to", func(ctx context.Context) (bool, string) {
		got, err := p.reach(ctx, targets...)
		return err == nil && !slices.ContainsFunc(targets, func(target string) bool { return got[target] != netcheck.Connected }), fmt.Sprint(got, err)
	})
}

// tryBeside tries addresses from a pod in the moment in which it reaches another.
func (p place) tryBeside(ctx context.Context, t *testing.T, known string, targets ...string) map[string]string {
	t.Helper()
	var got map[string]string
	eventually.True(ctx, t, time.Minute, "pod "+p.name+" reaches "+known, func(ctx context.Context) (bool, string) {
		var err error
		got, err = p.reach(ctx, append([]string{known}, targets...)...)
		return err == nil && got[known] == netcheck.Connected, fmt.Sprint(got, err)
	})
	return got
}

// Those who may reach what is tried. None of them is among it: a pod reaches itself, whatever policies say.
func asVictim(i *intrusion) place    { return i.insider }
func asBystander(i *intrusion) place { return i.onlooker }

// unreachable tries what somebody who may reaches, too. That the tenant's own Argo CD answers in the same moment shows that
// its probe works.
func unreachable(control func(*intrusion) place, targets func(context.Context, *testing.T, *intrusion) []string) func(context.Context, *testing.T, *intrusion) {
	return func(ctx context.Context, t *testing.T, i *intrusion) {
		where := targets(ctx, t, i)
		if len(where) == 0 {
			t.Fatal("there is nothing to reach: this would show nothing")
		}
		control(i).mustReach(ctx, t, where...)
		got := i.mallory.probe.tryBeside(ctx, t, "argocd-server.argocd:443", where...)
		for _, target := range where {
			if got[target] != netcheck.NoAnswer {
				t.Errorf("mallory at %s: want no answer, got %q", target, got[target])
			}
		}
	}
}

// podsOfVictim are its Argo CD, redis, repository server, virtual API, and a pod of its own.
func podsOfVictim(ctx context.Context, t *testing.T, i *intrusion) []string {
	t.Helper()
	out := []string{net.JoinHostPort(i.alice.probe.address, fmt.Sprint(answerPort))}
	pods, err := host.Typed.CoreV1().Pods(i.alice.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, port := range map[string]string{"argocd-server-": "8080", "argocd-redis-": "6379", "argocd-repo-server-": "8081", "vcluster-": "8443"} {
		at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool {
			return strings.HasPrefix(p.Name, prefix) && p.Status.Phase == corev1.PodRunning
		})
		if at < 0 {
			t.Fatalf("alice has no pod %s", prefix)
		}
		out = append(out, net.JoinHostPort(pods.Items[at].Status.PodIP, port))
	}
	return out
}

func servicesOfVictim(ctx context.Context, t *testing.T, i *intrusion) []string {
	t.Helper()
	var out []string
	for name, port := range victimServices {
		out = append(out, net.JoinHostPort(serviceAddress(ctx, t, i.alice.namespace, name), port))
	}
	return out
}

// victimServices on the host, and a port of each.
var victimServices = map[string]string{
	onHost("argocd-server", "argocd"): "443", onHost("argocd-redis", "argocd"): "6379", onHost("argocd-repo-server", "argocd"): "8081", "vcluster": "443",
}

func serviceAddress(ctx context.Context, t *testing.T, namespace, name string) string {
	t.Helper()
	s, err := host.Typed.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Spec.ClusterIP
}

// byName tries the names that the victim's Services have on the host, and then to ask the host's DNS.
func byName(ctx context.Context, t *testing.T, i *intrusion) {
	var names []string
	for name, port := range victimServices {
		long := name + "." + i.alice.namespace + ".svc.cluster.local"
		address := serviceAddress(ctx, t, i.alice.namespace, name)
		eventually.True(ctx, t, time.Minute, "the host has a name "+long, func(ctx context.Context) (bool, string) {
			out, err := i.bystander.run(ctx, "getent", "ahostsv4", long)
			return err == nil && strings.HasPrefix(out, address), fmt.Sprint(out, err)
		})
		names = append(names, net.JoinHostPort(long, port), net.JoinHostPort(name+"."+i.alice.namespace, port), net.JoinHostPort(name+"."+i.alice.namespace+".svc", port))
	}
	got := i.mallory.probe.tryBeside(ctx, t, "argocd-server.argocd.svc.cluster.local:443", names...)
	for _, name := range names {
		if said := got[name]; said != netcheck.NoAnswer && !strings.Contains(said, "not known") && !strings.Contains(said, "name resolution") {
			t.Errorf("mallory at %s: want a name that is not known, or no answer, got %q", name, said)
		}
	}
	unreachable(asBystander, func(context.Context, *testing.T, *intrusion) []string {
		return []string{net.JoinHostPort(serviceAddress(ctx, t, "kube-system", "kube-dns"), "53")}
	})(ctx, t, i)
}

// nodes are the addresses of the host's nodes.
func nodes(ctx context.Context, t *testing.T) []string {
	t.Helper()
	list, err := host.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range list.Items {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				out = append(out, a.Address)
			}
		}
	}
	return out
}

func hostAPIServer(ctx context.Context, t *testing.T, _ *intrusion) []string {
	t.Helper()
	out := []string{net.JoinHostPort(serviceAddress(ctx, t, "default", "kubernetes"), "443")}
	for _, node := range nodes(ctx, t) {
		out = append(out, net.JoinHostPort(node, "6443"))
	}
	return out
}

func kubelets(ctx context.Context, t *testing.T, _ *intrusion) []string {
	t.Helper()
	var out []string
	for _, node := range nodes(ctx, t) {
		out = append(out, net.JoinHostPort(node, "10250"))
	}
	return out
}

// kubeletByProxy asks the virtual cluster for what a kubelet knows of all pods of its node. The virtual node is there, and
// what is asked is about all tenants.
func kubeletByProxy(ctx context.Context, t *testing.T, i *intrusion) {
	list, err := i.mallory.cluster.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("the virtual cluster has no nodes: %v", err)
	}
	for _, path := range []string{"pods", "configz", "stats/summary", "metrics/cadvisor", "logs/", "run/" + i.alice.namespace + "/vcluster-0/syncer?cmd=id"} {
		path = "/api/v1/nodes/" + list.Items[0].Name + "/proxy/" + path
		for where, c := range map[string]*kube.Cluster{"the virtual cluster": i.mallory.cluster, "the host, as vcluster": i.mallory.asSyncer(t)} {
			answer, err := c.Typed.Discovery().RESTClient().Get().RequestURI(path).DoRaw(ctx)
			if !kerrors.IsForbidden(err) {
				t.Errorf("%s at %s: want it forbidden, got %v, %.200s", path, where, err, answer)
			}
		}
	}
}

func hostPods(ctx context.Context, t *testing.T, i *intrusion) []string {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("the host has no DNS: %v", err)
	}
	return []string{net.JoinHostPort(i.bystander.address, fmt.Sprint(answerPort)), net.JoinHostPort(pods.Items[0].Status.PodIP, "53")}
}

// metadata is the address of clouds' metadata services.
const metadata = "169.254.169.254"

// answerAsMetadata gives the node that address, and takes it away when it is told to end: SIOCSIFADDR, SIOCSIFNETMASK
// and SIOCSIFFLAGS of a struct ifreq.
const answerAsMetadata = `use Socket;
socket(my $control, AF_INET, SOCK_DGRAM, 0) or die "cannot make a socket: $!";
sub set { ioctl($control, $_[0], pack("a16 S n a4 x16", "lo:metadata", AF_INET, 0, inet_aton($_[1]))) or die "cannot set address $_[1]: $!" }
set(0x8916, $ARGV[0]);
set(0x891c, "255.255.255.255");
$SIG{TERM} = sub { ioctl($control, 0x8914, pack("a16 s x22", "lo:metadata", 0)); exit 0 };
` + answer

// metadataService runs one on the node.
func metadataService(ctx context.Context, t *testing.T, _ *intrusion) []string {
	t.Helper()
	pod := probePod("metadata")
	pod.Spec.HostNetwork, pod.Spec.TerminationGracePeriodSeconds = true, nil
	pod.Spec.Containers[0].Command = []string{"perl", "-e", answerAsMetadata, metadata, "80"}
	root := int64(0)
	security(&pod.Spec).Privileged, security(&pod.Spec).RunAsUser = yes(), &root
	runProbe(ctx, t, host, bystanders, pod)
	return []string{metadata + ":80"}
}

// byWebhook has the tenant's control plane call another tenant's, in the form of a webhook. What it gets from the
// tenant's own Argo CD is an answer that it can't trust, but an answer.
func byWebhook(ctx context.Context, t *testing.T, i *intrusion) {
	pods, err := i.mallory.cluster.Typed.CoreV1().Pods("argocd").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=argocd-server"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("mallory has no Argo CD: %v", err)
	}
	own := net.JoinHostPort(pods.Items[0].Status.PodIP, "8080")
	answered := []string{"x509", "reset by peer", "HTTP response"}
	eventually.True(ctx, t, 2*time.Minute, "a webhook at mallory's own Argo CD has an answer", func(ctx context.Context) (bool, string) {
		err := i.mallory.hooked(ctx, t, "trick-own", "https://"+own+"/")
		return slices.ContainsFunc(answered, func(word string) bool { return says(err, "failed calling webhook", word) }), fmt.Sprint(err)
	})
	for n, target := range []string{podsOfVictim(ctx, t, i)[0], virtualAPI(ctx, t, i.alice), kubelets(ctx, t, i)[0]} {
		err := i.mallory.hooked(ctx, t, fmt.Sprint("trick-", n), "https://"+target+"/")
		if !says(err, "failed calling webhook") || !unanswered(err) {
			t.Errorf("a webhook at %s: want one of %q, got %v", target, noAnswer, err)
		}
	}
}

// noAnswer are the words of programs that connect to what a policy refuses.
var noAnswer = []string{"deadline exceeded", "i/o timeout"}

func unanswered(err error) bool {
	return slices.ContainsFunc(noAnswer, func(word string) bool { return says(err, word) })
}

// hooked is what making an object says where a webhook has to be asked. Each has a name of its own, and objects of its own.
func (n *tenant) hooked(ctx context.Context, t *testing.T, name, url string) error {
	t.Helper()
	fail, none, seconds := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(3)
	hooks := n.cluster.Typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "trick.example.org", ClientConfig: admissionv1.WebhookClientConfig{URL: &url},
			AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds,
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"example.org/trick": name}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hooks.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	configs := n.cluster.Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	// An API server takes a moment to know a webhook.
	eventually.True(ctx, t, time.Minute, "the webhook at "+url+" is asked", func(ctx context.Context) (bool, string) {
		_, err = configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "trick-", Labels: map[string]string{"example.org/trick": name}}}, metav1.CreateOptions{})
		return says(err, `Post "`+url), fmt.Sprint(err)
	})
	return err
}

// ownNetworkPolicy allows all, in all namespaces of the virtual cluster.
func ownNetworkPolicy(ctx context.Context, t *testing.T, i *intrusion) {
	open := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "open"},
		Spec: networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{}}, Egress: []networkingv1.NetworkPolicyEgressRule{{}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
	if _, err := i.mallory.cluster.Typed.NetworkingV1().NetworkPolicies(metav1.NamespaceDefault).Create(ctx, open, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// What is made later is on the host: so the policy would be.
	i.mallory.awaitSynced(ctx, t, plainService("after-policy"))
	policies, err := host.Typed.NetworkingV1().NetworkPolicies(i.mallory.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies.Items {
		if !strings.HasPrefix(p.Name, "virtual-argocd-") {
			t.Errorf("NetworkPolicy %s is on the host", p.Name)
		}
	}
	_, err = i.mallory.asSyncer(t).Typed.NetworkingV1().NetworkPolicies(i.mallory.namespace).Create(ctx, open, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !says(err, "is forbidden", "cannot create resource \"networkpolicies\"") {
		t.Errorf("vcluster could make NetworkPolicies: %v", err)
	}
	unreachable(asVictim, podsOfVictim)(ctx, t, i)
}

// awaitSynced makes a Service in the virtual cluster, waits for it on the host, and returns that one.
func (n *tenant) awaitSynced(ctx context.Context, t *testing.T, service *corev1.Service) (synced *corev1.Service) {
	t.Helper()
	_, err := n.cluster.Typed.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "Service "+service.Name+" is on the host", func(ctx context.Context) (bool, string) {
		synced, err = host.Typed.CoreV1().Services(n.namespace).Get(ctx, onHost(service.Name, metav1.NamespaceDefault), metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return synced
}

func plainService(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "probe"}, Ports: []corev1.ServicePort{{Port: answerPort}}},
	}
}
