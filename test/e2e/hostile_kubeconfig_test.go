//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// trapPort is one that the providers' NetworkPolicies let them reach anywhere.
const trapPort = "6443"

// note says who has connected.
const note = `use IO::Socket::INET; $| = 1;
my $s = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => $ARGV[0], Listen => 16, ReuseAddr => 1) or die "cannot listen: $!";
while (my $c = $s->accept) { print "connection from ", $c->peerhost, "\n"; close $c }`

// astray is a kubeconfig that would have whoever uses it show a token at another server. The file isn't there.
const astray = `apiVersion: v1
kind: Config
current-context: v
clusters: [{name: v, cluster: {server: "http://%s"}}]
users: [{name: v, user: {tokenFile: /nowhere/token}}]
contexts: [{name: v, context: {cluster: v, user: v}}]
`

// hostileKubeconfig writes a kubeconfig by the account that brings the virtual cluster's objects to the host.
func hostileKubeconfig(ctx context.Context, t *testing.T, i *intrusion) {
	trap := probePod("trap")
	trap.Spec.Containers[0].Command = []string{"perl", "-e", note, trapPort}
	at := net.JoinHostPort(runProbe(ctx, t, host, bystanders, trap).address, trapPort)
	i.onlooker.mustReach(ctx, t, at)

	syncer := i.mallory.asSyncer(t).Typed.CoreV1().Secrets(i.mallory.namespace)
	used := i.mallory.id() + "-kubeconfig"
	before := secretData(ctx, t, used)
	write := func(file []byte) {
		t.Helper()
		eventually.True(ctx, t, time.Minute, "vcluster's account writes its kubeconfig", func(ctx context.Context) (bool, string) {
			s, err := syncer.Get(ctx, "vc-vcluster", metav1.GetOptions{})
			if err == nil {
				s.Data["config"] = file
				_, err = syncer.Update(ctx, s, metav1.UpdateOptions{})
			}
			return err == nil, fmt.Sprint(err)
		})
	}
	genuine, err := syncer.Get(ctx, "vc-vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	healed := false
	t.Cleanup(func() {
		if !healed {
			write(genuine.Data["config"])
		}
	})
	write(fmt.Appendf(nil, astray, at))
	i.mallory.live.Await(ctx, t, 2*time.Minute, "tells that the kubeconfig isn't used", func(s *claim.State) bool {
		c := s.Condition(claim.VirtualClusterReady)
		return c.Status == metav1.ConditionFalse && c.Reason == "KubeconfigInvalid" && strings.Contains(c.Message, "it has user.tokenFile, which vcluster doesn't write")
	})
	// Long enough for those who use it to have tried.
	time.Sleep(10 * time.Second)
	if after := secretData(ctx, t, used); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("the kubeconfig that the providers use has changed: %v", slices.Sorted(maps.Keys(after)))
	}
	// Another visit, after theirs, shows that the log is read to its end.
	visits := func() (onlookers int, others []string, err error) {
		log, err := logOf(ctx, bystanders, trap.Name, corev1.PodLogOptions{})
		for line := range strings.Lines(log) {
			if strings.TrimSpace(line) == "connection from "+i.onlooker.address {
				onlookers++
			} else {
				others = append(others, line)
			}
		}
		return onlookers, others, err
	}
	seen, _, err := visits()
	if err != nil {
		t.Fatal(err)
	}
	i.onlooker.mustReach(ctx, t, at)
	var others []string
	eventually.True(ctx, t, time.Minute, "the trap has seen the onlooker once more", func(context.Context) (bool, string) {
		var now int
		now, others, err = visits()
		return err == nil && now > seen, fmt.Sprintf("%d visits, before %d: %v", now, seen, err)
	})
	if len(others) > 0 {
		t.Errorf("somebody has followed the kubeconfig:\n%s", lines(others))
	}

	write(genuine.Data["config"])
	healed = true
	i.mallory.live.Await(ctx, t, 2*time.Minute, "is Ready again", func(s *claim.State) bool { return s.True(claim.Ready) && s.True(claim.VirtualClusterReady) })
}

// secretData is what stands in a Secret of the platform's.
func secretData(ctx context.Context, t *testing.T, name string) map[string][]byte {
	t.Helper()
	s, err := host.Typed.CoreV1().Secrets(crossplane).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Data
}
