package status

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/core/vcluster"
	"github.com/virtual-argocd/virtual-argocd/fn/parts"
	"github.com/virtual-argocd/virtual-argocd/fn/redact"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// ownWords are the conditions whose messages are ours alone: nothing of a Secret or
// a provider's error is in them, and names such as edge-token stay readable.
var ownWords = map[string]bool{v1alpha1.ConditionClustersConnected: true, v1alpha1.ConditionRepositoriesConnected: true}

// conditions are those of the core, which Ready waits for, and those of the parts
// that the spec has beside it.
func conditions(t tenant.Tenant) (core, optional []condition.Condition) {
	core = []condition.Condition{vcluster.Condition(t), argocd.Condition(t)}
	optional = append([]condition.Condition{specAccepted(t), host.Condition(t)}, parts.Conditions(t)...)
	redact := redact.New(t.Observed)
	for _, conditions := range [][]condition.Condition{core, optional} {
		for i := range conditions {
			if c := conditions[i]; !c.True && !ownWords[c.Type] {
				conditions[i].Message = redact(conditions[i].Message)
			}
		}
	}
	return core, optional
}

func allTrue(conditions []condition.Condition) bool {
	return !slices.ContainsFunc(conditions, func(c condition.Condition) bool { return !c.True })
}

// specAccepted is the condition of what people have written.
func specAccepted(t tenant.Tenant) condition.Condition {
	is := condition.Of(v1alpha1.ConditionSpecAccepted)
	if t.Refused == nil {
		if failed := release.TakenBack(t); failed != "" {
			return is.No(v1alpha1.ReasonUpgradeFailed, failed, "")
		}
		return condition.Condition{Type: string(is), True: true, Reason: v1alpha1.ReasonAccepted, Message: "The claim, its plan and the platform's input are in use"}
	}
	return is.No(mistakeOf(t.Refused), t.Refused.Error(), "")
}

// mistakeOf tells from the field that an error begins with who has to correct it.
func mistakeOf(err error) string {
	switch message := err.Error(); {
	case strings.HasPrefix(message, "input"):
		return v1alpha1.ReasonInvalidInput
	case strings.HasPrefix(message, "plan "):
		return v1alpha1.ReasonInvalidPlan
	}
	return v1alpha1.ReasonInvalidSpec
}
