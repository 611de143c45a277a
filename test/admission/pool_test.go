package admission

import (
	"testing"

	"k8s.io/apiserver/pkg/admission"
)

// TestPoolPolicies: of two who take one spare, the second is refused; a pool writes only what belongs to nobody, and deletes nothing; and what
// somebody has isn't collected with a pool.
func TestPoolPolicies(t *testing.T) { ask(t, pools()) }

func pools() map[string]verdict {
	const (
		crossplane = "system:serviceaccount:crossplane-system:crossplane"
		front      = "system:serviceaccount:crossplane-system:virtual-argocd-front"
		pool       = "system:serviceaccount:crossplane-system:virtual-argocd-pool"
		collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
		controller = "system:kube-controller-manager"

		stays   = "a tenant stays with its namespace and name"
		only    = "only a spare of a pool that isn't being deleted becomes a tenant"
		isNot   = "a tenant isn't a spare"
		noMore  = "isn't the pool's any more"
		deletes = "and deletes none"
		labels  = "has the label virtualargocd.io/spare"
		owner   = "a spare goes with the Object of its name"
		leaves  = "what is Crossplane's in the spec of a spare stays"
		has     = "that somebody has doesn't go with a pool"
		itself  = "{apiVersion: kubernetes.crossplane.io/v1alpha2, kind: Object, name: s-1, uid: u}"
	)
	// spare is one with further metadata and a spec; taken is one that VirtualArgoCD a of a namespace has.
	spare := func(more, spec string) string {
		return "{metadata: {name: s-1, labels: {virtualargocd.io/spare: 'true', virtualargocd.io/pool: p}, ownerReferences: [" + itself + "]" + more + "}, spec: {" + spec + "}}"
	}
	taken := func(namespace, more string) string {
		return "{metadata: {name: s-1, labels: {crossplane.io/claim-namespace: " + namespace + ", crossplane.io/claim-name: a}" + more + "}, spec: {claimRef: {apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, namespace: " + namespace + ", name: a}}}"
	}
	labelled := func(label string) string {
		return "{metadata: {name: s-1, labels: {" + label + ": p, crossplane.io/claim-namespace: team, crossplane.io/claim-name: a}}, spec: {claimRef: {apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, namespace: team, name: a}}}"
	}
	const (
		owned     = ", ownerReferences: [" + itself + "]"
		claimed   = ", annotations: {virtualargocd.io/claimed-at: '2026-01-01T00:00:00Z'}"
		annotated = ", annotations: {a: b}"
	)
	do := func(by, old, object string) request {
		return request{by: by, resource: "virtualargocd.io/xvirtualargocds", name: "s-1", old: old, object: object}
	}
	remove := func(by, old string) request {
		return request{by: by, operation: admission.Delete, resource: "virtualargocd.io/xvirtualargocds", name: "s-1", old: old}
	}
	dry := func(r request) request {
		r.dryRun = true
		return r
	}
	withOwner := func(owners string) string {
		return "{metadata: {name: s-1, labels: {virtualargocd.io/spare: 'true'}, ownerReferences: [" + owners + "]}, spec: {}}"
	}
	return map[string]verdict{
		"Taken":              {do(front, spare("", ""), taken("team", owned)), ""},
		"TakenByTheSecond":   {do(front, taken("team", owned), taken("others", owned)), stays},
		"TriedByTheSecond":   {dry(do(front, taken("team", owned), taken("others", owned))), stays},
		"TakenFromItsOwner":  {do(front, taken("team", claimed), taken("others", "")), stays},
		"HandedOver":         {do(front, taken("team", owned), taken("team", claimed)), ""},
		"Nobodys":            {do(front, "{metadata: {name: s-1, labels: {a: b}}, spec: {}}", taken("team", "")), only},
		"NobodysUnlabelled":  {do(front, "{metadata: {name: s-1}, spec: {}}", taken("team", "")), only},
		"Deleting":           {do(front, spare(", deletionTimestamp: '2026-01-01T00:00:00Z'", ""), taken("team", owned)), only},
		"StaysASpare":        {do(front, spare("", ""), labelled("virtualargocd.io/spare")), isNot},
		"StaysOfItsPool":     {do(front, spare("", ""), labelled("virtualargocd.io/pool")), isNot},
		"StaysOfItsPlan":     {do(front, spare("", ""), labelled("virtualargocd.io/pool-plan")), isNot},
		"Made":               {do(pool, "", spare("", "plan: small")), ""},
		"Woken":              {do(pool, spare("", "hibernation: {enabled: true}, resourceRefs: [{name: a}]"), spare("", "hibernation: {enabled: false}, resourceRefs: [{name: a}]")), ""},
		"TakenBack":          {do(pool, taken("team", owned), spare("", "")), noMore},
		"ChangedOnceTaken":   {do(pool, taken("team", owned), taken("team", owned)), noMore},
		"GivenAway":          {do(pool, spare("", ""), taken("team", owned)), noMore},
		"MadeForSomebody":    {do(pool, "", taken("team", owned)), noMore},
		"DeletedByPool":      {remove(pool, spare("", "")), deletes},
		"TakenDeletedByPool": {remove(pool, taken("team", "")), deletes},
		"PoolElsewhere":      {request{by: pool, resource: "configmaps", namespace: "team", object: "{}"}, "creates and changes XVirtualArgoCDs"},
		"PoolChangesElse":    {request{by: pool, resource: "configmaps", namespace: "team", old: "{}", object: "{}"}, "creates and changes XVirtualArgoCDs"},
		"PoolDeletesElse":    {request{by: pool, operation: admission.Delete, resource: "configmaps", namespace: "team", name: "a", old: "{}"}, deletes},
		"PoolWritesAStatus":  {request{by: pool, resource: "virtualargocd.io/xvirtualargocds/status", name: "s-1", old: spare("", ""), object: spare("", "")}, "creates and changes XVirtualArgoCDs"},
		"NobodysIsNoSpare":   {do(pool, "{metadata: {name: s-1}, spec: {}}", spare("", "")), labels},
		"SpareIsNobodys":     {do(pool, "", "{metadata: {name: s-1, labels: {virtualargocd.io/spare: 'false'}, ownerReferences: ["+itself+"]}, spec: {}}"), labels},
		"WithoutOwner":       {do(pool, "", "{metadata: {name: s-1, labels: {virtualargocd.io/spare: 'true'}}, spec: {}}"), owner},
		"OwnerOfAnotherKind": {do(pool, "", withOwner("{apiVersion: kubernetes.crossplane.io/v1alpha2, kind: ProviderConfig, name: s-1, uid: u}")), owner},
		"OwnerElsewhere":     {do(pool, "", withOwner("{apiVersion: example.org/v1, kind: Object, name: s-1, uid: u}")), owner},
		"OwnerOfAnotherName": {do(pool, "", withOwner("{apiVersion: kubernetes.crossplane.io/v1alpha2, kind: Object, name: s-2, uid: u}")), owner},
		"TwoOwners":          {do(pool, "", withOwner(itself+", "+itself)), owner},
		"SparesReferences":   {do(pool, spare("", ""), spare("", "resourceRefs: [{kind: Namespace, name: kube-system}]")), leaves},
		"SparesSecret":       {do(pool, "", spare("", "writeConnectionSecretToRef: {name: a, namespace: kube-system}")), leaves},
		"Collected":          {remove(collector, spare("", "")), ""},
		"CollectedEmpty":     {remove(collector, "{metadata: {name: s-1}}"), ""},
		"Abandoned":          {remove(collector, taken("team", owned)), ""},
		"AbandonedAnnotated": {remove(collector, taken("team", owned+annotated)), ""},
		"TakenCollected":     {remove(collector, taken("team", "")), has},
		"HandedCollected":    {remove(collector, taken("team", owned+claimed)), has},
		"TakenByController":  {remove(controller, taken("team", claimed)), has},
		"DeletedByFront":     {remove(front, taken("team", claimed)), ""},
		"DeletedByOthers":    {remove(crossplane, taken("team", claimed)), ""},
	}
}
