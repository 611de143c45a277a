package plan_test

import (
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// vclusterValues is what the vcluster Release has at a path of its values.
func vclusterValues(e *crossplanetest.Engine, path ...string) any {
	return crossplanetest.Field(e.Observed(tenant.VClusterRelease), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

// quotaOf is what the tenant may have of a resource; nil when its quota doesn't say.
func quotaOf(e *crossplanetest.Engine, name string) any {
	return crossplanetest.Field(e.Observed(tenant.Quota), "spec", "forProvider", "manifest", "spec", "hard").GetFields()[name].AsInterface()
}
