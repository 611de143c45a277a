//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// endsEvery is how often Crossplane's pod is deleted while tenants are moved.
const endsEvery = 7 * time.Second

// movers are three customers whose claims become VirtualArgoCDs of group m.virtualargocd.io, and claims again.
type movers struct {
	namespace string
	lives     []*claim.Live
	beside    *claim.Live
	was       map[string]inUse
	history   map[string]map[string]string
}

// TestAdoptionUnderLoad moves three tenants there and back, each time all at once, while Crossplane ends again and again and another tenant comes
// up: they stay what they are, with what their Argo CDs know of syncs. No other test runs beside it.
func TestAdoptionUnderLoad(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	m := &movers{namespace: "e2e-movers", was: map[string]inUse{}, history: map[string]map[string]string{}}
	testenv.Test(t, features.New("adoption under load").
		Setup(m.create).
		Assess("ThreeAreAdopted", m.move(claim.FindNamespaced)).
		Assess("ThreeGoBack", m.move(claim.Find, "--back")).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, append(m.lives, m.beside)...)
			if !t.Failed() || !keep {
				deleteNamespace(ctx, t, m.namespace)
			}
			return ctx
		}).Feature())
}

func (m *movers) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(m.namespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	repo := gitserver.RunHTTP(ctx, t, host, m.namespace, map[string]string{"web/deployment.yaml": webManifest})
	for _, name := range []string{"mover1", "mover2", "mover3"} {
		m.lives = append(m.lives, claim.Create(ctx, t, host, newClaim(name).In(m.namespace).Set(map[string]any{"repoURL": repo, "path": "web"}, "spec", "bootstrap")))
	}
	for _, l := range m.lives {
		l.Await(ctx, t, 2*readyWithin, "is Ready, with an Application that is synced", func(s *claim.State) bool { return s.IsReady() && s.True(claim.BootstrapSynced) })
		m.was[l.Name], m.history[l.Name] = usedBy(ctx, t, l), syncs(ctx, t, l)
	}
	return ctx
}

// move moves all, by the script of the example, to the kind of which find finds objects.
func (m *movers) move(find func(host *kube.Cluster, namespace, name string) (*claim.Live, error), args ...string) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		m.beside = claim.Create(ctx, t, host, newClaim("beside-movers"))
		stop := endCrossplane(ctx, t)
		start := time.Now()
		adopt(ctx, t, append(args, "--timeout", "15", m.namespace)...)
		measured.add(strings.TrimSpace("adoption: three under load "+strings.Join(args, " ")), time.Since(start))
		if n := stop(); n < 2 {
			t.Errorf("Crossplane ended %d times meanwhile: this shows little", n)
		}
		for i, l := range m.lives {
			moved, err := find(host, m.namespace, l.Name)
			if err != nil {
				t.Fatal(err)
			}
			m.lives[i] = moved
			moved.AwaitReady(ctx, t, readyWithin)
			m.was[l.Name].same(t, l.Name+"'s move", usedBy(ctx, t, moved))
			if diff := cmp.Diff(m.history[l.Name], syncs(ctx, t, moved)); diff != "" || len(m.history[l.Name]) == 0 {
				t.Errorf("%s: what Argo CD knows of %d Applications is another: -before, +after:\n%s", l.Name, len(m.history[l.Name]), diff)
			}
		}
		m.beside.AwaitReady(ctx, t, 2*readyWithin)
		deleteAndAwait(ctx, t, m.beside, goneWithin)
		m.beside = nil
		return ctx
	}
}

// endCrossplane deletes Crossplane's pod again and again, until the caller calls stop, which returns how often.
func endCrossplane(ctx context.Context, t *testing.T) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	ended := make(chan int, 1)
	go func() {
		n := 0
		for {
			select {
			case <-ctx.Done():
				ended <- n
				return
			case <-time.After(endsEvery):
			}
			now := int64(0)
			err := host.Typed.CoreV1().Pods(crossplane).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: "app=crossplane"})
			if err == nil {
				n++
			}
		}
	}()
	return func() int {
		cancel()
		return <-ended
	}
}
