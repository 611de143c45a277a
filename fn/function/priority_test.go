package function

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestPriorityOfTenants: each tenant has a level of priority of its own at the host's API server before its virtual cluster, and
// one that runs on a host with older policies, and so older rights, goes on without.
func TestPriorityOfTenants(t *testing.T) {
	names := []string{tenant.PriorityLevel, tenant.FlowSchema}
	e := newEngine(t, tenantXR(`{}`), "")
	e.install()
	for _, name := range names {
		o := e.req.GetObserved().GetResources()[name].GetResource()
		if text := protojson.Format(o); !strings.Contains(text, `"vargo-customer1-7rw8j"`) || !strings.Contains(text, `"Namespace"`) {
			t.Errorf("%s: want one for the tenant, with its namespace as the owner, got %s", name, text)
		}
	}
	if text := protojson.Format(e.req.GetObserved().GetResources()[tenant.FlowSchema].GetResource()); !strings.Contains(text, `"system:serviceaccounts:vargo-customer1-7rw8j"`) {
		t.Errorf("want the accounts of the tenant's namespace: %s", text)
	}

	old := e.cluster["ValidatingAdmissionPolicy//virtual-argocd-priorities"]
	delete(e.cluster, "ValidatingAdmissionPolicy//virtual-argocd-priorities")
	for _, observed := range []bool{true, false} {
		if !observed {
			for _, name := range names {
				delete(e.req.GetObserved().GetResources(), name)
			}
		}
		rsp := e.reconcile()
		for _, name := range names {
			if _, ok := rsp.GetDesired().GetResources()[name]; ok != observed {
				t.Errorf("%s: observed: %v, desired: %v", name, observed, ok)
			}
		}
		if is := e.condition(v1alpha1.ConditionHostProtected); e.status("phase") != "Ready" || !strings.Contains(is.GetMessage(), "virtual-argocd-priorities") {
			t.Errorf("observed: %v: a tenant that runs is %s: %s, %v", observed, e.status("phase"), e.status("message"), is)
		}
	}
	e.cluster["ValidatingAdmissionPolicy//virtual-argocd-priorities"] = old
	e.cycle(2)
	for _, name := range names {
		if _, ok := e.req.GetObserved().GetResources()[name]; !ok {
			t.Errorf("%s isn't created once the policies are there", name)
		}
	}
}
