//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// bystanders is a namespace of the host that is nobody's, and that no policy is about; hostileGit is that of a Git
	// server that tenants may reach.
	bystanders = "e2e-bystanders"
	hostileGit = "e2e-hostile-git"

	// answerPort is where probes answer.
	answerPort = 8080
)

// An intrusion is a customer, mallory, that wants more than its own, and another one, alice, that has something.
type intrusion struct {
	mallory, alice *tenant
	// doomed is another one of mallory's, for attempts that break it. They settle it.
	doomed *tenant
	// bystander is a pod of the host that nothing is refused, and onlooker another. insider is another one of alice's, which
	// Argo CD trusts.
	bystander, onlooker, insider place
}

// tenant is a claim as its owner knows it, with every right in its virtual cluster, and as the host does.
type tenant struct {
	live      *claim.Live
	cluster   *kube.Cluster
	namespace string
	probe     place
}

// place is a pod with programs to look around with, that answers to all who reach it.
type place struct {
	cluster                  *kube.Cluster
	namespace, name, address string
}

func intrude(ctx context.Context, t *testing.T) *intrusion {
	t.Helper()
	i := &intrusion{mallory: &tenant{}, alice: &tenant{}, doomed: &tenant{}}
	t.Cleanup(func() {
		cleanUp(ctx, t, i.mallory.live, i.alice.live, i.doomed.live)
		if t.Failed() && keep {
			return
		}
		deleteNamespace(ctx, t, bystanders)
		deleteNamespace(ctx, t, hostileGit)
	})
	i.mallory.live = claim.Create(ctx, t, host, newClaim("mallory"))
	i.alice.live = claim.Create(ctx, t, host, newClaim("alice"))
	i.doomed.live = claim.Create(ctx, t, host, newClaim("mallory2"))
	// Without the label of namespaces that tenants reach.
	_, err := host.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bystanders}}, metav1.CreateOptions{})
	if err == nil || kerrors.IsAlreadyExists(err) {
		_, err = createNamespace(bystanders)(ctx, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	i.bystander = runProbe(ctx, t, host, bystanders, probePod("bystander"))
	i.onlooker = runProbe(ctx, t, host, bystanders, probePod("onlooker"))
	for _, who := range []*tenant{i.mallory, i.alice} {
		who.settle(ctx, t)
	}
	i.insider = runProbe(ctx, t, i.alice.cluster, "argocd", probePod("insider"))
	i.registerClusters(ctx, t)
	return i
}

// settle waits for the tenant, and puts a probe into its virtual cluster.
func (n *tenant) settle(ctx context.Context, t *testing.T) {
	t.Helper()
	n.namespace = n.live.AwaitReady(ctx, t, readyWithin).Namespace
	n.cluster = byAddress(ctx, t, n.live)
	eventually.True(ctx, t, time.Minute, "the virtual cluster's default ServiceAccount is there", func(ctx context.Context) (bool, string) {
		_, err := n.cluster.Typed.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	n.probe = runProbe(ctx, t, n.cluster, metav1.NamespaceDefault, probePod("probe"))
}

// byAddress opens a claim's virtual cluster by the address of its Service: commands in pods go past a client's dialer.
func byAddress(ctx context.Context, t *testing.T, l *claim.Live) *kube.Cluster {
	t.Helper()
	named := open(ctx, t, l)
	u, err := url.Parse(named.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(named.Config)
	config.Host, config.ServerName, config.Dial = external.URL(ctx, t, host, named), u.Hostname(), nil
	out, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// answer says hello on a port.
const answer = `use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 16, ReuseAddr => 1) or die "cannot listen: $!";
while (my $c = $s->accept) { print $c "hello\n"; close $c }`

func probePod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64), // There is nothing to finish.

			Containers: []corev1.Container{{
				Name: "probe", Image: artifacts.ServersImage,
				Command: []string{"perl", "-e", answer, "0.0.0.0", fmt.Sprint(answerPort)},
			}},
		},
	}
}

// runProbe makes a pod, or finds it there, and waits until it runs: a tenant's is where the others can't be.
func runProbe(ctx context.Context, t *testing.T, c *kube.Cluster, namespace string, pod *corev1.Pod) place {
	t.Helper()
	pods := c.Typed.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot create pod %s: %v", pod.Name, err)
	}
	p := place{cluster: c, namespace: namespace, name: pod.Name}
	eventually.True(ctx, t, 5*time.Minute, "pod "+pod.Name+" runs", func(ctx context.Context) (bool, string) {
		is, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		p.address = is.Status.PodIP
		return is.Status.Phase == corev1.PodRunning && p.address != "", fmt.Sprint(is.Status.Phase, is.Status.ContainerStatuses)
	})
	return p
}

// run runs a command in the pod, which it may do several times, and returns all that it prints.
func (p place) run(ctx context.Context, command ...string) (string, error) {
	return p.cluster.Output(ctx, p.namespace, p.name, "probe", command...)
}

// asSyncer is the host as the account sees it that brings a tenant's objects there: what a tenant could do at the most
// if vcluster did all that it is asked.
func (n *tenant) asSyncer(t *testing.T) *kube.Cluster {
	t.Helper()
	return as(t, "system:serviceaccount:"+n.namespace+":vc-vcluster", "system:serviceaccounts", "system:serviceaccounts:"+n.namespace)
}

// onHost is the name on the host of an object in the virtual cluster.
func onHost(name, namespace string) string { return name + "-x-" + namespace + "-x-vcluster" }

// awaitEvent waits until an event of an object in the tenant's virtual cluster has the words. The name may be a pattern.
func (n *tenant) awaitEvent(ctx context.Context, t *testing.T, namespace, kind, name, words string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, fmt.Sprintf("%s %s has an event that says %q", kind, name, words), func(ctx context.Context) (bool, string) {
		list, err := n.cluster.Typed.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var seen []string
		for _, e := range list.Items {
			if is, _ := path.Match(name, e.InvolvedObject.Name); !is || e.InvolvedObject.Kind != kind {
				continue
			}
			if strings.Contains(e.Message, words) {
				t.Logf("%s %s: %s", kind, e.InvolvedObject.Name, e.Message)
				return true, ""
			}
			seen = append(seen, e.Message)
		}
		return false, "\n" + lines(seen)
	})
}
