//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/demogroup"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// pair is two customers who live side by side: red has a claim of the original demo's group and spec, blue one with
// Argo CD settings and, in make e2e-full, a Kubernetes version of its own.
type pair struct {
	demo      *demogroup.Group
	red, blue *claim.Live
	// plan lists the version that blue names.
	plan *installedPlan
}

func TestTwoCustomers(t *testing.T) {
	t.Parallel()
	p := &pair{}
	testenv.Test(t, features.New("red and blue").
		Setup(p.installDemoGroup).
		Assess("BothBecomeReadyAtOnce", p.bothBecomeReady).
		Assess("EachHasItsKubernetesVersion", p.versions).
		Assess("EachHasItsArgoCDSettings", p.settings).
		Assess("CredentialsOpenOnlyTheirOwn", p.isolated).
		Assess("BadClaimsOfOthersAreNotNoticed", p.badClaims).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, p.red, p.blue)
			p.plan.remove(ctx, t)
			p.demo.Remove(ctx, t)
			return ctx
		}).Feature())
}

func (p *pair) installDemoGroup(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.demo = demogroup.Install(ctx, t, host, "../../examples/demo-group")
	return ctx
}

func (p *pair) bothBecomeReady(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// The whole spec is what the demo of 2023 wrote; only the Secret's name is ours, to find the kubeconfig by.
	p.red = claim.Create(ctx, t, host, newClaim("red").OfGroup(demogroup.Name).
		Set(map[string]any{}, "spec", "argocd", "values"))
	blue := newClaim("blue").ArgoCDValue("true", "configs", "cm", "statusbadge.enabled")
	if full {
		p.plan = allVersions(ctx, t, "blue")
		blue = blue.Set("blue", "spec", "plan").Kubernetes(otherKubernetes)
	}
	p.blue = claim.Create(ctx, t, host, blue)
	for _, l := range []*claim.Live{p.red, p.blue} {
		l.AwaitReady(ctx, t, readyWithin)
		measured.add("two at once: claim "+l.Name+" to Ready", time.Since(l.Created))
	}
	return ctx
}

func (p *pair) versions(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	got := map[string]string{}
	for _, l := range []*claim.Live{p.red, p.blue} {
		v, err := open(ctx, t, l).Typed.Discovery().ServerVersion()
		if err != nil {
			t.Fatalf("the virtual cluster of %s does not answer: %v", l.Name, err)
		}
		s, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.VCluster.KubernetesVersion != v.GitVersion {
			t.Errorf("%s says Kubernetes %s, its API server %s", l.Name, s.VCluster.KubernetesVersion, v.GitVersion)
		}
		got[l.Name] = v.GitVersion
	}
	if got["blue"] != otherKubernetes {
		t.Errorf("blue asked for Kubernetes %s and has %s", otherKubernetes, got["blue"])
	}
	if got["red"] == got["blue"] {
		t.Errorf("both have Kubernetes %s: this test shows nothing", got["red"])
	}
	return ctx
}

func (p *pair) settings(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for l, want := range map[*claim.Live]bool{p.red: false, p.blue: true} {
		settings, err := loggedIn(ctx, t, l).Settings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := settings["statusBadgeEnabled"].(bool); got != want {
			t.Errorf("Argo CD of %s has its status badge enabled: %t, want %t", l.Name, got, want)
		}
	}
	return ctx
}

func (p *pair) isolated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, pair := range [][2]*claim.Live{{p.red, p.blue}, {p.blue, p.red}} {
		mine, other := connectionConfig(ctx, t, pair[0]), connectionConfig(ctx, t, pair[1])
		who := pair[0].Name + "'s credentials at " + pair[1].Name + "'s API server"

		if err := whatItSays(ctx, t, mine); err != nil {
			t.Errorf("%s does not open its own virtual cluster: %v", pair[0].Name, err)
		}
		// As an attacker who knows the other's address and even its certificate authority.
		attack := rest.CopyConfig(mine)
		attack.Host, attack.CAData = other.Host, other.CAData
		if err := whatItSays(ctx, t, attack); !kerrors.IsUnauthorized(err) {
			t.Errorf("%s: want Unauthorized, got %v", who, err)
		}
		// With the own authority, already the server must not be believed.
		attack = rest.CopyConfig(mine)
		attack.Host = other.Host
		if err := whatItSays(ctx, t, attack); err == nil || !strings.Contains(err.Error(), "x509") {
			t.Errorf("%s with %s's authority: want a certificate error, got %v", who, pair[0].Name, err)
		}
		p.passwordsDiffer(ctx, t, pair[0], pair[1])
	}
	// What one makes, the other does not see.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "only-in-red"}}
	if _, err := open(ctx, t, p.red).Typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Errorf("red cannot create a namespace in its virtual cluster: %v", err)
	}
	for where, c := range map[string]*kube.Cluster{"blue": open(ctx, t, p.blue), "the host": host} {
		if _, err := c.Typed.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{}); !kerrors.IsNotFound(err) {
			t.Errorf("red's namespace shows up in %s: %v", where, err)
		}
	}
	return ctx
}

// whatItSays lists the Secrets of a virtual cluster: what an owner may, and nobody else.
func whatItSays(ctx context.Context, t *testing.T, config *rest.Config) error {
	t.Helper()
	c, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Typed.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	return err
}

func (p *pair) passwordsDiffer(ctx context.Context, t *testing.T, mine, other *claim.Live) {
	t.Helper()
	a, err := mine.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	api := argocd.New(dialer, string(b.Data["url"]))
	if err := api.Login(ctx, string(a.Data["username"]), string(a.Data["password"])); err == nil {
		t.Errorf("%s's password opens %s's Argo CD", mine.Name, other.Name)
	}
}
