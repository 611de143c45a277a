//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// toldWithin is how soon a claim tells that its Argo CD is broken, whatever other virtual clusters do.
const toldWithin = time.Minute

// hostileAPI answers for an API server as no API server would: for each workload of Argo CD in another way. Discovery is in order, so
// that clients go on. Whatever else is asked for is an error, so that nothing in the virtual cluster is taken for gone.
const hostileAPI = `#!/usr/bin/perl
$| = 1; my $u = $ENV{REQUEST_URI};
sub ok { print "Status: 200\r\nContent-Type: application/json\r\n", @_, "\r\n" }
if ($u =~ m{^/apis/apps/v1/?$}) { ok; open F, "/files/v1.apps"; local $/; print <F> }
elsif ($u =~ m{/deployments/argocd-server}) { sleep 3600 }
elsif ($u =~ m{/deployments/argocd-repo-server}) { ok; my $s = " " x 65536; print $s while 1 }
elsif ($u =~ m{/deployments/argocd-redis}) { ok "Content-Encoding: gzip\r\n"; open F, "/files/spaces.gz"; local $/; my $s = <F>; print $s while 1 }
elsif ($u =~ m{/deployments/argocd-applicationset}) { ok; print '{"kind":"Deployment","data":['; my $s = "{}," x 65536; print $s while 1 }
elsif ($u =~ m{/statefulsets/}) { ok; while (1) { print " "; sleep 1 } }
else { print "Status: 500\r\nContent-Type: application/json\r\n\r\n", '{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"not today"}' }
`

// stallsProviders has a tenant's own server answer for the part of its virtual API that the platform asks about its Argo CD, and puts
// records of Helm there that unpack to gigabytes. Others are to notice nothing: what breaks is told, and what changes is installed.
func stallsProviders(ctx context.Context, t *testing.T, i *intrusion) {
	providers := podsOfProviders(ctx, t)
	t.Cleanup(func() { i.mallory.live.AwaitReady(ctx, t, 5*time.Minute) })
	i.mallory.bomb(ctx, t)
	i.mallory.hijack(ctx, t, hostileServer{
		program: hostileAPI, kinds: workloadKinds, files: map[string][]byte{"spaces.gz": bytes.Repeat(spaces(t), 50)},
	})
	i.mallory.poke(ctx, t, argocdRelease)
	// The platform has met all of it by then.
	i.mallory.live.Await(ctx, t, 3*time.Minute, "tells that its virtual API goes over a limit", func(s *claim.State) bool {
		return !s.True(claim.Ready) && !s.True(claim.ArgoCDReady)
	})
	i.mallory.awaitRelease(ctx, t, argocdRelease, "has met the record", func(r *helmRelease) bool {
		return r.says("unpack to more than") || r.says("gone over a limit")
	})
	i.alice.breaksAndHeals(ctx, t, "beside a hostile virtual API")
	i.alice.changes(ctx, t)
	if after := podsOfProviders(ctx, t); !slices.Equal(providers, after) {
		t.Errorf("the providers were %v, and are %v", providers, after)
	}
}

// virtualClustersGone has two of three virtual clusters go.
func virtualClustersGone(ctx context.Context, t *testing.T, i *intrusion) {
	onlyInFull(t)
	i.doomed.settle(ctx, t)
	for _, n := range []*tenant{i.mallory, i.doomed} {
		sets := host.Typed.AppsV1().StatefulSets(n.namespace)
		scale(ctx, t, sets, "vcluster", 0)
		t.Cleanup(func() {
			scale(ctx, t, sets, "vcluster", 1)
			n.awaitAnswer(ctx, t)
			n.live.AwaitReady(ctx, t, readyWithin)
		})
	}
	for _, n := range []*tenant{i.mallory, i.doomed} {
		n.live.Await(ctx, t, 2*time.Minute, "tells that its virtual cluster is gone", func(s *claim.State) bool { return !s.True(claim.Ready) })
	}
	i.alice.breaksAndHeals(ctx, t, "beside virtual clusters that are gone")
}

// breaksAndHeals takes Argo CD's server away, and gives it back.
func (n *tenant) breaksAndHeals(ctx context.Context, t *testing.T, when string) {
	t.Helper()
	deployments := n.cluster.Typed.AppsV1().Deployments("argocd")
	patchDeployment(ctx, t, deployments, "argocd-server", stopped)
	start := time.Now()
	n.live.Await(ctx, t, toldWithin, "tells that argocd-server is gone", func(s *claim.State) bool {
		return s.Phase == "Degraded" && strings.Contains(s.Message, "argocd-server") && !s.True(claim.Ready)
	})
	measured.add("argocd-server gone to Degraded, "+when, time.Since(start))
	patchDeployment(ctx, t, deployments, "argocd-server", runs)
	n.live.AwaitReady(ctx, t, 5*time.Minute)
}

// changes gives Argo CD another setting, which provider-helm has to install.
func (n *tenant) changes(ctx context.Context, t *testing.T) {
	t.Helper()
	hint := fmt.Sprint(time.Now().UnixNano())
	n.live.Patch(ctx, t, map[string]any{"configs": map[string]any{"cm": map[string]any{"ui.bannercontent": hint}}}, "spec", "argocd", "values")
	took := eventually.True(ctx, t, toldWithin, "the change of "+n.live.Name+" is installed", func(ctx context.Context) (bool, string) {
		c, err := n.cluster.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
		return err == nil && c.Data["ui.bannercontent"] == hint, fmt.Sprint(err)
	})
	measured.add("hostile: change of a claim to installed, beside a hostile virtual API", took)
	n.live.AwaitReady(ctx, t, 5*time.Minute)
}

// podsOfProviders are the providers' pods with how often their containers were started again.
func podsOfProviders(ctx context.Context, t *testing.T) []string {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/provider"})
	if err != nil || len(pods.Items) < 2 {
		t.Fatalf("want the providers' pods, got %v, %v", pods, err)
	}
	var out []string
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			out = append(out, fmt.Sprintf("%s/%s restarted %d times", p.Name, c.Name, c.RestartCount))
		}
	}
	slices.Sort(out)
	return out
}

// spaces is gzip of a megabyte of them, which may be repeated.
func spaces(t *testing.T) []byte {
	t.Helper()
	return gzipped(t, bytes.Repeat([]byte(" "), 1<<20))
}

// bomb writes later revisions of Argo CD's release, each of which unpacks to more than half a gigabyte.
func (n *tenant) bomb(ctx context.Context, t *testing.T) {
	t.Helper()
	one := spaces(t)
	secrets := n.cluster.Typed.CoreV1().Secrets("argocd")
	for version := 1000; version < 1002; version++ {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.argocd.v%d", version)}
		s := recordSecret(meta, "argocd", version, "deployed", bytes.Repeat(one, 700_000/len(one)))
		if _, err := secrets.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := secrets.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
				t.Error(err)
			}
		})
	}
}
