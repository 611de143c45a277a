package function

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// dns returns what the virtual cluster's DNS is to be configured with, and whether
// it may ask the host's DNS.
func (e *engine) dns() (corefile string, hostDNS bool) {
	e.t.Helper()
	corefile = field(e.rsp.GetDesired().GetResources()[tenant.VClusterRelease].GetResource(), "spec", "forProvider", "values", "controlPlane", "coredns").
		GetFields()["overwriteConfig"].GetStringValue()
	for _, r := range e.rsp.GetDesired().GetResources() {
		if o := r.GetResource(); o.GetFields()["kind"].GetStringValue() == "NetworkPolicy" && field(o, "metadata").GetFields()["name"].GetStringValue() == "virtual-argocd-dns" {
			return corefile, strings.Contains(field(o, "spec").String(), "kube-system")
		}
	}
	e.t.Fatal("there is no NetworkPolicy virtual-argocd-dns")
	return "", false
}

// TestNoTenantWithoutResolver: the host's own DNS tells names of other tenants, so a new tenant
// waits until there is another resolver.
func TestNoTenantWithoutResolver(t *testing.T) {
	for name, change := range map[string]func(*engine){
		"None":        func(e *engine) { delete(e.cluster, resolverKey) },
		"NotObserved": func(e *engine) { e.resolver("") },
		"Headless":    func(e *engine) { e.resolver("None") },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			change(e)
			e.cycle(3)
			is := e.condition(v1alpha1.ConditionHostProtected)
			if is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || is.GetReason() != v1alpha1.ReasonResolverMissing || !strings.Contains(is.GetMessage(), "apply dns.yaml and providerconfigs.yaml") {
				t.Errorf("HostProtected: %v", is)
			}
			if n := len(e.req.GetObserved().GetResources()); n > 0 || e.status("phase") != "Pending" {
				t.Errorf("%d resources are composed; %s: %s", n, e.status("phase"), e.status("message"))
			}
			e.resolver("10.96.0.53")
			e.install()
			if corefile, host := e.dns(); host || !strings.Contains(corefile, "forward . 10.96.0.53\n") {
				t.Errorf("may ask the host's DNS: %t; %s", host, corefile)
			}
			// What is lost later changes nothing for a tenant that has it.
			change(e)
			e.reconcile()
			if corefile, host := e.dns(); host || !strings.Contains(corefile, "forward . 10.96.0.53\n") || e.status("phase") != "Ready" {
				t.Errorf("without the resolver it is %s, may ask the host's DNS: %t; %s", e.status("phase"), host, corefile)
			}
			if is := e.condition(v1alpha1.ConditionHostProtected); is.GetReason() != v1alpha1.ReasonResolverMissing {
				t.Errorf("HostProtected: %v", is)
			}
		})
	}
}

// TestOldTenantGetsTheResolver: a tenant of a release that had none keeps the host's DNS while
// there is no resolver, and until its virtual cluster has been given it.
func TestOldTenantGetsTheResolver(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	e.install()
	coredns := field(e.observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane", "coredns")
	delete(coredns.GetFields(), "overwriteConfig")
	delete(e.cluster, resolverKey)
	e.reconcile()
	if corefile, host := e.dns(); corefile != "" || !host || e.status("phase") != "Ready" {
		t.Errorf("without a resolver: it is %s, may ask the host's DNS: %t; %s", e.status("phase"), host, corefile)
	}
	e.resolver("10.96.0.53")
	e.reconcile()
	if corefile, host := e.dns(); corefile == "" || !host {
		t.Errorf("as it gets the resolver: may ask the host's DNS: %t; %s", host, corefile)
	}
	e.reconcile()
	if corefile, host := e.dns(); corefile == "" || host {
		t.Errorf("with the resolver: may ask the host's DNS: %t; %s", host, corefile)
	}
}
