package host_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestPriorityOfTenants: each tenant has a level of priority of its own at the host's API server before its virtual cluster, and
// one that runs on a host with older policies, and so older rights, goes on without.
func TestPriorityOfTenants(t *testing.T) {
	names := []string{tenant.PriorityLevel, tenant.FlowSchema}
	e := crossplanetest.New(t, `{}`, "")
	e.Install()
	for _, name := range names {
		o := e.Request.GetObserved().GetResources()[name].GetResource()
		if text := protojson.Format(o); !strings.Contains(text, `"vargo-customer1-7rw8j"`) || !strings.Contains(text, `"Namespace"`) {
			t.Errorf("%s: want one for the tenant, with its namespace as the owner, got %s", name, text)
		}
	}
	if text := protojson.Format(e.Request.GetObserved().GetResources()[tenant.FlowSchema].GetResource()); !strings.Contains(text, `"system:serviceaccounts:vargo-customer1-7rw8j"`) {
		t.Errorf("want the accounts of the tenant's namespace: %s", text)
	}

	old := e.Cluster["ValidatingAdmissionPolicy//virtual-argocd-priorities"]
	delete(e.Cluster, "ValidatingAdmissionPolicy//virtual-argocd-priorities")
	for _, observed := range []bool{true, false} {
		if !observed {
			for _, name := range names {
				delete(e.Request.GetObserved().GetResources(), name)
			}
		}
		rsp := e.Reconcile()
		for _, name := range names {
			if _, ok := rsp.GetDesired().GetResources()[name]; ok != observed {
				t.Errorf("%s: observed: %v, desired: %v", name, observed, ok)
			}
		}
		if is := e.Condition(v1alpha1.ConditionHostProtected); e.Status("phase") != "Ready" || !strings.Contains(is.GetMessage(), "virtual-argocd-priorities") {
			t.Errorf("observed: %v: a tenant that runs is %s: %s, %v", observed, e.Status("phase"), e.Status("message"), is)
		}
	}
	e.Cluster["ValidatingAdmissionPolicy//virtual-argocd-priorities"] = old
	e.Cycle(2)
	for _, name := range names {
		if _, ok := e.Request.GetObserved().GetResources()[name]; !ok {
			t.Errorf("%s isn't created once the policies are there", name)
		}
	}
}
