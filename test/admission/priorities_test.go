package admission

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// TestPriorities: a tenant's place in API Priority and Fairness is for itself, and small; and Crossplane changes nobody else's.
func TestPriorities(t *testing.T) { ask(t, priorities()) }

func priorities() map[string]verdict {
	const (
		crossplane  = "system:serviceaccount:crossplane-system:crossplane"
		level       = `{spec: {type: Limited, limited: {nominalConcurrencyShares: 1, lendablePercent: 100, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 200}}}}}`
		schema      = `{spec: {matchingPrecedence: 8500, priorityLevelConfiguration: {name: vargo-a}, rules: [{subjects: [{kind: Group, group: {name: "system:serviceaccounts:vargo-a"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}]}}`
		only        = "but those of tenants, vargo-*"
		ofSchema    = "the FlowSchema of a tenant has"
		ofLevel     = "the PriorityLevelConfiguration of a tenant is"
		levels      = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations"
		flowSchemas = "flowcontrol.apiserver.k8s.io/flowschemas"
	)
	do := func(by, resource, name, object string) request {
		return request{by: by, resource: resource, name: name, object: object}
	}
	but := func(resource, object, from, to string) request {
		if !strings.Contains(object, from) {
			panic(from)
		}
		return do(crossplane, resource, "vargo-a", strings.Replace(object, from, to, 1))
	}
	later := but(levels, level, "nominalConcurrencyShares: 1", "nominalConcurrencyShares: 100")
	later.old = level
	gone := func(by, name string) request {
		return request{by: by, resource: levels, name: name, old: level, operation: admission.Delete}
	}
	return map[string]verdict{
		"Level":            {do(crossplane, levels, "vargo-a", level), ""},
		"Schema":           {do(crossplane, flowSchemas, "vargo-a", schema), ""},
		"Gone":             {gone(crossplane, "vargo-a"), ""},
		"AdminsLevel":      {do("admin", levels, "mine", strings.Replace(level, "Shares: 1", "Shares: 100", 1)), ""},
		"AdminsSchema":     {do("admin", flowSchemas, "mine", strings.Replace(schema, "8500", "1", 1)), ""},
		"OthersLevel":      {do(crossplane, levels, "workload-low", level), only},
		"OthersSchema":     {do(crossplane, flowSchemas, "service-accounts", schema), only},
		"OthersGone":       {gone(crossplane, "workload-low"), only},
		"EverySubject":     {but(flowSchemas, schema, "system:serviceaccounts:vargo-a", "system:serviceaccounts"), ofSchema},
		"OtherTenant":      {but(flowSchemas, schema, "serviceaccounts:vargo-a", "serviceaccounts:vargo-b"), ofSchema},
		"OneUser":          {but(flowSchemas, schema, "{kind: Group, group: {name: \"system:serviceaccounts:vargo-a\"}}", "{kind: User, user: {name: a}}"), ofSchema},
		"SecondSubject":    {but(flowSchemas, schema, "subjects: [", "subjects: [{kind: Group, group: {name: \"system:nodes\"}}, "), ofSchema},
		"OtherLevel":       {but(flowSchemas, schema, "{name: vargo-a}", "{name: exempt}"), ofSchema},
		"ComesFirst":       {but(flowSchemas, schema, "8500", "100"), ofSchema},
		"ComesLast":        {but(flowSchemas, schema, "8500", "9000"), ofSchema},
		"Exempt":           {do(crossplane, levels, "vargo-a", `{spec: {type: Exempt, exempt: {nominalConcurrencyShares: 0}}}`), ofLevel},
		"ManyShares":       {but(levels, level, "nominalConcurrencyShares: 1", "nominalConcurrencyShares: 2"), ofLevel},
		"Borrows":          {but(levels, level, "borrowingLimitPercent: 0", "borrowingLimitPercent: 1"), ofLevel},
		"BorrowsUnbounded": {but(levels, level, "borrowingLimitPercent: 0, ", ""), ofLevel},
		"ManyQueues":       {but(levels, level, "queues: 1,", "queues: 10000,"), ofLevel},
		"GrowsLater":       {later, ofLevel},
	}
}
