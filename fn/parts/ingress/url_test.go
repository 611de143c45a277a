package ingress_test

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestURLWithoutHostname: a URL that nobody serves is refused, unless it was accepted before, or may be that of a load balancer.
func TestURLWithoutHostname(t *testing.T) {
	const domain = `{"argocd":{"values":{"global":{"domain":"a.example.org"}}}}`
	t.Run("AcceptedBefore", func(t *testing.T) {
		crossplanetest.CheckStaysAccepted(t, domain, `{"argocd":{"values":{"global":{"domain":"b.example.org"}}}}`)
	})
	t.Run("IngressIsRemoved", func(t *testing.T) {
		e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"},"argocd":{"values":{"global":{"domain":"a.example.org"}}}}`, "").Install()
		e.SetSpec(domain)
		e.CheckRefused("spec.argocd.values.global.domain: nobody serves")
	})
	t.Run("LoadBalancer", func(t *testing.T) {
		e := crossplanetest.New(t, `{"plan":"balancers","argocd":{"values":{"global":{"domain":"a.example.org"},"server":{"service":{"type":"LoadBalancer"}}}}}`, "")
		e.AddPlan("balancers", `{"loadBalancers":1}`)
		if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" {
			t.Error(msg)
		}
	})
}
