//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	names "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// decoy is a host that nobody's record keeps from rival, until rival asks for another.
const decoy = "decoy.example.org"

// takenOver has rival try to take over the host of live: it names it in its chart values, and then takes that out
// again for a host that somebody else has.
func (s *site) takenOver(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.HostnameRecord(decoy)}, Data: map[string]string{names.HostnameKey: decoy}}
	if _, err := host.Typed.CoreV1().ConfigMaps(crossplane).Create(ctx, record, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.rival.Patch(ctx, t, map[string]any{
		"ingress": nil, "argocd": map[string]any{"values": map[string]any{"server": map[string]any{"ingress": map[string]any{"enabled": true, "hostname": s.host}}}},
	}, "spec")
	state := s.rival.Await(ctx, t, 3*time.Minute, "is refused an Ingress by its values, or has one", func(state *claim.State) bool {
		return state.Condition(claim.SpecAccepted).Reason == "InvalidSpec" || state.IsReady() && state.Condition(claim.IngressReady).Reason == "NotInSpec"
	})
	if c := state.Condition(claim.SpecAccepted); c.Status == metav1.ConditionTrue || !strings.Contains(c.Message, "spec.argocd.values.server.ingress") {
		t.Errorf("a claim may make an Ingress for another one's host by its values: %+v", c)
	}
	s.rival.Patch(ctx, t, map[string]any{"ingress": map[string]any{"host": decoy}, "argocd": nil}, "spec")
	state = s.rival.Await(ctx, t, time.Minute, "is refused the host of somebody else", func(state *claim.State) bool {
		c := state.Condition(claim.IngressReady)
		return c.Reason == "HostTaken" && strings.Contains(c.Message, decoy)
	})
	t.Logf("the condition of the second edit: %s", state.Condition(claim.IngressReady).Message)
	s.staysItsOwners(ctx, t)
	return ctx
}

// staysItsOwners watches who has the host, for longer than it takes from an edit of a claim until the ingress controller
// serves another host.
func (s *site) staysItsOwners(ctx context.Context, t *testing.T) {
	t.Helper()
	namespace, rivals := tenantNamespace(ctx, s.rival), connectionDetails(ctx, t, s.rival)["password"]
	within := 20 * time.Second
	if full {
		within = 90 * time.Second
	}
	var owner, rival, taken int
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Second) {
		if s.visitor(t).Login(ctx, "admin", s.password) == nil {
			owner++
		}
		if s.visitor(t).Login(ctx, "admin", rivals) == nil {
			rival++
		}
		ns, err := host.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if ns.Annotations[names.AnnotationIngressHost] != "" || len(s.ingresses(ctx, t, namespace)) > 0 {
			taken++
		}
	}
	t.Logf("in %s, at https://%s: %d logins with the password of the claim that has the host, %d with its rival's; rival was seen to have a host %d times", within, s.host, owner, rival, taken)
	if owner == 0 || rival > 0 || taken > 0 {
		t.Error("the host isn't that claim's alone which has reserved it")
	}
	if state, err := s.rival.State(ctx); err != nil || strings.Contains(state.ArgoCD.URL, s.host) {
		t.Errorf("rival says that it is at %s, %v", state.ArgoCD.URL, err)
	}
	if full {
		// A person with a bookmark.
		b := browser.Open(t, browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}, Width: 1280, Height: 680})
		b.LogIn(t, "https://"+s.host, "admin", s.password)
		b.AwaitText(t, pageWithin, healthy...)
	}
}
