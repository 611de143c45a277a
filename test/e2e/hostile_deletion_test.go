//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// looksAgainWithin is how long provider-kubernetes may take until it notices that a namespace is gone for which it has waited more
// than a minute. Its watch tells it at once, but where its last look was just then, Kubernetes refuses what it writes, since it has
// not seen its own last change yet, and it tries again after up to a minute.
const looksAgainWithin = 75 * time.Second

// stubborn doesn't end when it is told to, and goes on connecting to its arguments.
const stubborn = `use IO::Socket::INET; $| = 1; $SIG{TERM} = "IGNORE";
while (1) {
  for my $target (@ARGV) {
    my $s = IO::Socket::INET->new(PeerAddr => $target, Timeout => 2);
    print time, " $target ", ($s ? "connected" : "no: $!"), "\n";
  }
  sleep 1;
}`

// timedOut is what stubborn says of a target that NetworkPolicies keep it from.
const timedOut = "no: Connection timed out"

// afterTheClaim has a pod outlive its claim for as long as it can, with a record in place that would have Helm make something then.
func afterTheClaim(ctx context.Context, t *testing.T, i *intrusion) {
	i.doomed.settle(ctx, t)
	own := i.doomed.namespace
	targets := slices.Concat(hostAPIServer(ctx, t, i), kubelets(ctx, t, i), []string{net.JoinHostPort(i.bystander.address, fmt.Sprint(answerPort))})
	// What the pod may reach while it's there shows that its tries work.
	ownAnswer := net.JoinHostPort(serviceAddress(ctx, t, own, onHost("argocd-server", "argocd")), "443")
	pod := probePod("stubborn")
	graceOf(60)(pod)
	pod.Spec.Containers[0].Command = append([]string{"perl", "-e", stubborn, ownAnswer}, targets...)
	runProbe(ctx, t, i.doomed.cluster, metav1.NamespaceDefault, pod)
	name := onHost(pod.Name, metav1.NamespaceDefault)
	// kube-network-policies lets a pod connect to everything until it has the pod's address from the API server, up to a second after the
	// pod's start: containerd in this cluster is too old to tell it before (kubernetes/kubernetes#85966).
	eventually.True(ctx, t, 2*time.Minute, "the pod reaches its own Argo CD, and is kept from the last target", func(ctx context.Context) (bool, string) {
		said, err := logOf(ctx, own, name, corev1.PodLogOptions{})
		return err == nil && strings.Contains(said, ownAnswer+" connected") && strings.Contains(said, targets[len(targets)-1]+" "+timedOut), fmt.Sprint(said, err)
	})

	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: forged, Finalizers: []string{"example.org/keep"}}}
	syncer := i.doomed.asSyncer(t).Typed.CoreV1().ConfigMaps(own)
	if _, err := syncer.Create(ctx, kept, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !says(err, "an object of a tenant has no finalizers") {
		t.Errorf("vcluster could keep the namespace: %v", err)
	}
	t.Cleanup(func() { i.doomed.heal(ctx, t, nil) })
	i.doomed.forge(ctx, t, i.doomed.forgedRecord(t, metav1.ObjectMeta{}, 2000, "deployed", "", manifestOf("v1", "ConfigMap", crossplane, forged, "")))

	bounds := boundsOf(ctx, t, own)
	start := time.Now()
	i.doomed.live.Delete(ctx, t)
	if stuck := i.doomed.stuck(ctx, t); stuck != "" {
		t.Errorf("a forged record keeps the tenant: %s", stuck)
		// What comes after is to be seen all the same.
		i.doomed.heal(ctx, t, nil)
		i.doomed.poke(ctx, t, vclusterRelease)
		start = time.Now()
	}
	said := i.doomed.watchEnd(ctx, t, name, bounds, start, func() { i.onlooker.mustReach(ctx, t, targets...) })
	gotNowhere(t, said, targets, start)
	if took := time.Since(start); took > goneWithin {
		t.Errorf("the tenant was there for %s", took)
	}
	deleteAndAwait(ctx, t, i.doomed.live, looksAgainWithin)
	measured.add("mallory2: deleted to nothing left, with a pod that doesn't end", time.Since(start))
	forgedIn(ctx, t, crossplane)
}

// stuck tells what keeps the virtual cluster from being uninstalled, "" when nothing does.
func (n *tenant) stuck(ctx context.Context, t *testing.T) string {
	t.Helper()
	said := ""
	for end := time.Now().Add(25 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		r, err := n.release(ctx, t, vclusterRelease)
		if kerrors.IsNotFound(err) {
			return ""
		}
		if err == nil && r.says("failed to uninstall release") {
			said = r.String()
		}
	}
	return said
}

// watchEnd follows the tenant's namespace while a pod in it doesn't end, and returns what the pod has said. All that bounds it stays
// to its end. Meanwhile a control is run once.
func (n *tenant) watchEnd(ctx context.Context, t *testing.T, pod string, bounds map[string]string, start time.Time, control func()) string {
	t.Helper()
	terminating, last := 0, ""
	for ; time.Since(start) < goneWithin+time.Minute; time.Sleep(2 * time.Second) {
		ns, err := host.Typed.CoreV1().Namespaces().Get(ctx, n.namespace, metav1.GetOptions{})
		if kerrors.IsNotFound(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		is, err := host.Typed.CoreV1().Pods(n.namespace).Get(ctx, pod, metav1.GetOptions{})
		if err != nil || is.Status.Phase != corev1.PodRunning {
			continue
		}
		now := boundsOf(ctx, t, n.namespace)
		// It may have ended in between.
		again, err := host.Typed.CoreV1().Pods(n.namespace).Get(ctx, pod, metav1.GetOptions{})
		if err == nil && again.Status.Phase == corev1.PodRunning && !maps.Equal(bounds, now) {
			t.Errorf("what bounds the tenant is gone before its pods: before %v, now %v", bounds, now)
		}
		if is.DeletionTimestamp != nil && ns.Status.Phase == corev1.NamespaceTerminating {
			if terminating++; terminating == 1 {
				control()
			}
		}
		if said, err := logOf(ctx, n.namespace, pod, corev1.PodLogOptions{}); err == nil {
			last = said
		}
	}
	if terminating < 5 {
		t.Errorf("the pod and its namespace were seen ending %d times: this shows little", terminating)
	}
	t.Logf("pod and namespace were seen ending %d times", terminating)
	return last
}

// gotNowhere reads what a stubborn pod has said of its targets: it reaches none from the moment that it was kept from one, and has gone on
// trying after its claim's end.
func gotNowhere(t *testing.T, said string, targets []string, start time.Time) {
	t.Helper()
	tries, isolated := map[string]int{}, false
	for line := range strings.Lines(said) {
		var seconds int64
		var target string
		// A line without its end is no result.
		if _, err := fmt.Sscan(line, &seconds, &target); err != nil || !slices.Contains(targets, target) || !strings.HasSuffix(line, "\n") {
			continue
		}
		if seconds > start.Unix()+10 {
			tries[target]++
		}
		if strings.HasSuffix(strings.TrimSpace(line), timedOut) {
			isolated = true
		} else if isolated {
			t.Errorf("the pod was not to reach anything: %s", line)
		}
	}
	for _, target := range targets {
		if tries[target] < 3 {
			t.Errorf("the pod has tried %s %d times after the claim's end: this shows little\n%s", target, tries[target], said)
		}
	}
	t.Logf("tries after the claim's end: %v", tries)
}

// logOf returns what a pod has said. A kubelet answers for a container that is gone with a sentence and no error: here that is one.
func logOf(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (string, error) {
	out, err := host.Typed.CoreV1().Pods(namespace).GetLogs(pod, &o).DoRaw(ctx)
	if err == nil && bytes.HasPrefix(out, []byte("unable to retrieve container logs")) {
		err = errors.New(string(out))
	}
	return string(out), err
}
