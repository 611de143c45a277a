//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

// signOnNamespace is where the identity provider is.
const signOnNamespace = "e2e-sign-on"

// signOn is a customer whose identity provider can be reached, or not.
type signOn struct {
	live     *claim.Live
	provider *sso.Provider
}

func TestSignOn(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	s := &signOn{}
	testenv.Test(t, features.New("sign-on").
		Setup(s.create).
		Assess("ProviderThatCannotBeReachedIsTold", s.unreachable).
		Assess("ProviderThatAnswersIsTold", s.answers).
		Assess("ProviderOfAnotherNameIsTold", s.otherName).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, s.live)
			deleteNamespace(ctx, t, signOnNamespace)
			return ctx
		}).Feature())
}

func (s *signOn) oidc(issuer string) map[string]any {
	return map[string]any{"issuer": issuer, "clientID": sso.ClientID, "enablePKCEAuthentication": true, "rootCA": string(s.provider.CA)}
}

func (s *signOn) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(signOnNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	s.provider = sso.Run(ctx, t, host, signOnNamespace, "https://argocd.example.org")
	// Nothing listens there.
	s.live = claim.Create(ctx, t, host, newClaim("sign-on").Set(s.oidc("https://127.0.0.1:1"), "spec", "sso", "oidc"))
	s.live.AwaitReady(ctx, t, readyWithin)
	return ctx
}

// await waits until the claim tells of the provider.
func (s *signOn) await(ctx context.Context, t *testing.T, what string, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	start := time.Now()
	s.live.Await(ctx, t, toldOfWithin, what, func(state *claim.State) bool {
		is := state.Condition(claim.SSOReady)
		return is.Status == status && is.Reason == reason && strings.Contains(is.Message, message) && state.IsReady()
	})
	measured.add("sign-on: "+what, time.Since(start))
}

func (s *signOn) unreachable(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.await(ctx, t, "tells that the provider can't be reached", metav1.ConditionFalse, v1alpha1.ReasonConnectionFailed, "connection refused")
	return ctx
}

func (s *signOn) answers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.live.Patch(ctx, t, s.oidc(s.provider.Issuer), "spec", "sso", "oidc")
	s.await(ctx, t, "tells that people sign on", metav1.ConditionTrue, v1alpha1.ReasonAvailable, "Argo CD sends people to SSO")
	// At rest nothing is written, while the proxy looks several times.
	version := func() string {
		t.Helper()
		list, err := host.Dynamic.Resource(schema.GroupVersionResource{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Resource: "objects"}).
			List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-name=" + s.live.Name})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if strings.HasSuffix(o.GetName(), "-argocd-connections") {
				return o.GetResourceVersion()
			}
		}
		t.Fatal("nobody observes what Argo CD connects to")
		return ""
	}
	before := version()
	time.Sleep(3 * watch.DefaultIntervals.Poll)
	if now := version(); now != before {
		t.Errorf("at rest, the Object was written: %s, %s", before, now)
	}
	return ctx
}

// otherName has Argo CD ask the provider by a name that isn't its own.
func (s *signOn) otherName(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.live.Patch(ctx, t, s.oidc(s.provider.Issuer+"/"), "spec", "sso", "oidc")
	s.await(ctx, t, "tells that the provider has another name", metav1.ConditionFalse, v1alpha1.ReasonConnectionFailed, "did not match")
	return ctx
}
