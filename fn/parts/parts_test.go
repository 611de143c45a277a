package parts

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestPartWithoutFunctions: what a part leaves out is left out, and doesn't panic.
func TestPartWithoutFunctions(t *testing.T) {
	before := all
	t.Cleanup(func() { all = before })
	has := func(tenant.Tenant) bool { return true }
	all = []part.Part{{Field: "nothing"}, {Field: "condition", Condition: "ConditionAlone"}, {Field: "unobserved", Condition: "Unobserved", Has: has}}
	tt := tenant.Tenant{Decision: &tenant.Decision{}}
	if names := SecretNames(tenant.Ask{}); len(names) > 0 {
		t.Errorf("Secrets %v", names)
	}
	if err := Resolve(part.Candidate{Decision: tt.Decision}); err != nil {
		t.Error(err)
	}
	if rows := Rows(tt); len(rows) > 0 {
		t.Errorf("rows %v", rows)
	}
	if conditions := Conditions(tt); len(conditions) > 0 {
		t.Errorf("conditions %v", conditions)
	}
	Report(tt, &v1alpha1.Status{})
}
