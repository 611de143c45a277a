package vcluster_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// dns returns what the virtual cluster's DNS is to be configured with, and whether
// it may ask the host's DNS.
func dns(e *crossplanetest.Engine) (corefile string, hostDNS bool) {
	e.T.Helper()
	corefile = crossplanetest.Field(e.Response.GetDesired().GetResources()[tenant.VClusterRelease].GetResource(), "spec", "forProvider", "values", "controlPlane", "coredns").
		GetFields()["overwriteConfig"].GetStringValue()
	for _, r := range e.Response.GetDesired().GetResources() {
		if o := r.GetResource(); o.GetFields()["kind"].GetStringValue() == "NetworkPolicy" && crossplanetest.Field(o, "metadata").GetFields()["name"].GetStringValue() == "virtual-argocd-dns" {
			return corefile, strings.Contains(crossplanetest.Field(o, "spec").String(), "kube-system")
		}
	}
	e.T.Fatal("there is no NetworkPolicy virtual-argocd-dns")
	return "", false
}

// TestNoTenantWithoutResolver: the host's own DNS tells names of other tenants, so a new tenant
// waits until there is another resolver.
func TestNoTenantWithoutResolver(t *testing.T) {
	for name, change := range map[string]func(*crossplanetest.Engine){
		"None":        func(e *crossplanetest.Engine) { delete(e.Cluster, crossplanetest.ResolverKey) },
		"NotObserved": func(e *crossplanetest.Engine) { e.SetResolver("") },
		"Headless":    func(e *crossplanetest.Engine) { e.SetResolver("None") },
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "")
			change(e)
			e.Cycle(3)
			is := e.Condition(v1alpha1.ConditionHostProtected)
			if is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || is.GetReason() != v1alpha1.ReasonResolverMissing || !strings.Contains(is.GetMessage(), "apply dns.yaml and providerconfigs.yaml") {
				t.Errorf("HostProtected: %v", is)
			}
			if n := len(e.Request.GetObserved().GetResources()); n > 0 || e.Status("phase") != "Pending" {
				t.Errorf("%d resources are composed; %s: %s", n, e.Status("phase"), e.Status("message"))
			}
			e.SetResolver("10.96.0.53")
			e.Install()
			if corefile, host := dns(e); host || !strings.Contains(corefile, "forward . 10.96.0.53\n") {
				t.Errorf("may ask the host's DNS: %t; %s", host, corefile)
			}
			// What is lost later changes nothing for a tenant that has it.
			change(e)
			e.Reconcile()
			if corefile, host := dns(e); host || !strings.Contains(corefile, "forward . 10.96.0.53\n") || e.Status("phase") != "Ready" {
				t.Errorf("without the resolver it is %s, may ask the host's DNS: %t; %s", e.Status("phase"), host, corefile)
			}
			if is := e.Condition(v1alpha1.ConditionHostProtected); is.GetReason() != v1alpha1.ReasonResolverMissing {
				t.Errorf("HostProtected: %v", is)
			}
		})
	}
}

// TestOldTenantGetsTheResolver: a tenant of a release that had none keeps the host's DNS while
// there is no resolver, and until its virtual cluster has been given it.
func TestOldTenantGetsTheResolver(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	e.Install()
	coredns := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane", "coredns")
	delete(coredns.GetFields(), "overwriteConfig")
	delete(e.Cluster, crossplanetest.ResolverKey)
	e.Reconcile()
	if corefile, host := dns(e); corefile != "" || !host || e.Status("phase") != "Ready" {
		t.Errorf("without a resolver: it is %s, may ask the host's DNS: %t; %s", e.Status("phase"), host, corefile)
	}
	e.SetResolver("10.96.0.53")
	e.Reconcile()
	if corefile, host := dns(e); corefile == "" || !host {
		t.Errorf("as it gets the resolver: may ask the host's DNS: %t; %s", host, corefile)
	}
	e.Reconcile()
	if corefile, host := dns(e); corefile == "" || host {
		t.Errorf("with the resolver: may ask the host's DNS: %t; %s", host, corefile)
	}
}
