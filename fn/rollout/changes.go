package rollout

import (
	"reflect"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// changes returns the end of a message, which says what would change in a tenant from one
// decision to another; "" if one of them is nil, or nothing would.
func changes(now, then *tenant.Decision) string {
	if now == nil || then == nil {
		return ""
	}
	var out []string
	say := func(what, is, will string) {
		if is != will {
			out = append(out, what+" "+is+" to "+will)
		}
	}
	say("chart argo-cd", now.ArgoCD.Version, then.ArgoCD.Version)
	say("chart vcluster", now.VirtualCluster.Version, then.VirtualCluster.Version)
	say("Kubernetes", now.Kubernetes, then.Kubernetes)
	if !reflect.DeepEqual(now.ArgoCD.Values, then.ArgoCD.Values) {
		out = append(out, "values of argo-cd")
	}
	if !reflect.DeepEqual(now.VirtualCluster.Values, then.VirtualCluster.Values) {
		out = append(out, "values of vcluster")
	}
	if len(out) == 0 {
		return ""
	}
	return "; would change: " + strings.Join(out, ", ")
}
