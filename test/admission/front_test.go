package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
)

// TestFrontPolicies: whoever has rights only in a namespace reaches no tenant but its own by a namespaced VirtualArgoCD, nor by the Object of one,
// and a namespace that is deleted with one in it goes.
func TestFrontPolicies(t *testing.T) { ask(t, fronts()) }

func fronts() map[string]verdict {
	const (
		crossplane = "system:serviceaccount:crossplane-system:crossplane"
		provider   = "system:serviceaccount:crossplane-system:virtual-argocd-provider-kubernetes"
		front      = "system:serviceaccount:crossplane-system:virtual-argocd-front"
		collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
		namespaces = "system:serviceaccount:kube-system:namespace-controller"

		writes  = "is Crossplane's to write"
		itsOwn  = "the composite resource of a VirtualArgoCD of its own namespace"
		refers  = "refers to no other objects"
		noClaim = "writes and deletes no tenant of a claim"
		stays   = "a tenant stays with its namespace and name"
		labels  = "the labels of a tenant say to whom it belongs"
		leaves  = "what is Crossplane's in the spec of a tenant stays"
		record  = "needs this record"
	)
	// manifest is the composite resource of a VirtualArgoCD, and objectOf the Object with it.
	manifest := func(apiVersion, namespace string) string {
		return "{apiVersion: virtualargocd.io/v1alpha1, kind: XVirtualArgoCD, spec: {claimRef: {apiVersion: " + apiVersion + ", kind: VirtualArgoCD, namespace: " + namespace + ", name: a}}}"
	}
	objectOf := func(manifest, more string) string {
		return "{spec: {providerConfigRef: {kind: ClusterProviderConfig, name: virtual-argocd-front}, forProvider: {manifest: " + manifest + "}" + more + "}}"
	}
	good := objectOf(manifest("m.virtualargocd.io/v1alpha1", "team"), "")
	others := "{spec: {providerConfigRef: {kind: ClusterProviderConfig, name: theirs}, forProvider: {manifest: {kind: ConfigMap}}}}"
	do := func(by, namespace, old, object string) request {
		return request{by: by, resource: "kubernetes.m.crossplane.io/objects", namespace: namespace, name: "a", old: old, object: object}
	}
	remove := func(by, namespace string) request {
		return request{by: by, operation: admission.Delete, resource: "kubernetes.m.crossplane.io/objects", namespace: namespace, name: "a", old: good}
	}
	back := func(apiVersion, namespace, name, more string) string {
		return "{metadata: {labels: {crossplane.io/claim-namespace: " + namespace + ", crossplane.io/claim-name: " + name + "}}, spec: {claimRef: {apiVersion: " + apiVersion + ", kind: VirtualArgoCD, namespace: " + namespace + ", name: " + name + "}" + more + "}}"
	}
	const ours, claims = "m.virtualargocd.io/v1alpha1", "virtualargocd.io/v1alpha1"
	tenant := func(by, old, object string) request {
		return request{by: by, resource: "virtualargocd.io/xvirtualargocds", name: "a-1", old: old, object: object}
	}
	removeTenant := func(by, old string) request {
		return request{by: by, operation: admission.Delete, resource: "virtualargocd.io/xvirtualargocds", name: "a-1", old: old}
	}
	usage := func(by, config string, uid bool) request {
		options := &metav1.DeleteOptions{}
		if uid {
			is := types.UID("1")
			options.Preconditions = &metav1.Preconditions{UID: &is}
		}
		return request{by: by, operation: admission.Delete, resource: "kubernetes.m.crossplane.io/providerconfigusages", namespace: "team", name: "a", options: options,
			old: "{providerConfigRef: {kind: ClusterProviderConfig, name: " + config + "}}"}
	}
	collection := "{spec: {providerConfigRef: {kind: ClusterProviderConfig, name: virtual-argocd-front}, observeObjects: {kind: XVirtualArgoCD}}}"
	return map[string]verdict{
		"Composed":               {do(crossplane, "team", "", good), ""},
		"Changed":                {do(crossplane, "team", good, good), ""},
		"FinalizerOfProvider":    {do(provider, "team", good, good), ""},
		"Others":                 {do("user", "team", "", others), ""},
		"ByUser":                 {do("user", "team", "", good), writes},
		"ChangedByUser":          {do("user", "team", good, good), writes},
		"TakesAnothersConfig":    {do("user", "team", others, good), writes},
		"TakesItsConfigAway":     {do("user", "team", good, others), writes},
		"DeletedByUser":          {remove("user", "team"), writes},
		"DeletedByCrossplane":    {remove(crossplane, "team"), ""},
		"GoesWithItsOwner":       {remove(collector, "team"), ""},
		"GoesWithItsNamespace":   {remove(namespaces, "team"), ""},
		"MadeByAController":      {do(namespaces, "team", "", good), writes},
		"OwnerOfCollector":       {do(collector, "team", good, good), ""},
		"ByPlatform":             {do(platform, "team", good, good), ""},
		"Committed":              {do(argocd, "customer", "", objectOf(manifest(ours, "customer"), "")), writes},
		"CommitDeletes":          {remove(argocd, "customer"), writes},
		"OfAnotherNamespace":     {do(crossplane, "team", "", objectOf(manifest(ours, "others"), "")), itsOwn},
		"OfAClaim":               {do(crossplane, "team", "", objectOf(manifest(claims, "team"), "")), itsOwn},
		"OfNobody":               {do(crossplane, "team", "", objectOf("{apiVersion: virtualargocd.io/v1alpha1, kind: XVirtualArgoCD, spec: {}}", "")), itsOwn},
		"OtherKind":              {do(platform, "team", "", objectOf("{apiVersion: v1, kind: Secret}", "")), itsOwn},
		"Empty":                  {do(crossplane, "team", "", "{spec: {providerConfigRef: {name: virtual-argocd-front}}}"), itsOwn},
		"Patched":                {do(crossplane, "team", "", objectOf(manifest(ours, "team"), ", references: [{patchesFrom: {name: b}}]")), refers},
		"Details":                {do(crossplane, "team", "", objectOf(manifest(ours, "team"), ", connectionDetails: [{kind: Secret}]")), refers},
		"Publishes":              {do(crossplane, "team", "", objectOf(manifest(ours, "team"), ", writeConnectionSecretToRef: {name: a}")), refers},
		"ListsAllTenants":        {request{by: "user", resource: "kubernetes.m.crossplane.io/observedobjectcollections", namespace: "team", object: collection}, writes},
		"ListedByCrossplane":     {request{by: crossplane, resource: "kubernetes.m.crossplane.io/observedobjectcollections", namespace: "team", object: collection}, itsOwn},
		"Tenant":                 {tenant(front, "", back(ours, "team", "a", "")), ""},
		"TenantChanges":          {tenant(front, back(ours, "team", "a", ", plan: small, resourceRefs: [{name: a}]"), back(ours, "team", "a", ", plan: large, resourceRefs: [{name: a}]")), ""},
		"TenantOfItsClaim":       {tenant(front, back(claims, "team", "a", ", compositionUpdatePolicy: Automatic"), back(ours, "team", "a", ", compositionUpdatePolicy: Automatic")), ""},
		"TenantForAClaim":        {tenant(front, "", back(claims, "team", "a", "")), noClaim},
		"TenantBackToAClaim":     {tenant(front, back(ours, "team", "a", ""), back(claims, "team", "a", "")), noClaim},
		"TenantOfAnother":        {tenant(front, back(ours, "others", "a", ""), back(ours, "team", "a", "")), stays},
		"TenantOfAnotherName":    {tenant(front, back(ours, "team", "b", ""), back(ours, "team", "a", "")), stays},
		"TenantWithoutLabels":    {tenant(front, "", "{spec: {claimRef: {apiVersion: "+ours+", namespace: team, name: a}}}"), labels},
		"TenantsReferences":      {tenant(front, back(ours, "team", "a", ""), back(ours, "team", "a", ", resourceRefs: [{kind: Namespace, name: kube-system}]")), leaves},
		"TenantsSecret":          {tenant(front, "", back(ours, "team", "a", ", writeConnectionSecretToRef: {name: a, namespace: kube-system}")), leaves},
		"TenantDeleted":          {removeTenant(front, back(ours, "team", "a", "")), ""},
		"ClaimsTenantDeleted":    {removeTenant(front, back(claims, "team", "a", "")), noClaim},
		"TenantByCrossplane":     {tenant(crossplane, back(ours, "team", "a", ""), back(claims, "team", "a", "")), ""},
		"FrontWritesElsewhere":   {request{by: front, resource: "configmaps", namespace: "team", object: "{}"}, "writes XVirtualArgoCDs"},
		"FrontChangesElsewhere":  {request{by: front, resource: "configmaps", namespace: "team", old: "{}", object: "{}"}, "writes XVirtualArgoCDs"},
		"FrontDeletesElsewhere":  {request{by: front, operation: admission.Delete, resource: "configmaps", namespace: "team", name: "a", old: "{}"}, "writes XVirtualArgoCDs"},
		"FrontWritesAStatus":     {request{by: front, resource: "virtualargocd.io/xvirtualargocds/status", name: "a-1", old: back(ours, "team", "a", ""), object: back(ours, "team", "a", "")}, "writes XVirtualArgoCDs"},
		"RecordWithNamespace":    {usage(namespaces, "virtual-argocd-front", false), record},
		"RecordByUser":           {usage("user", "virtual-argocd-front", false), record},
		"RecordCollected":        {usage(collector, "virtual-argocd-front", true), ""},
		"RecordByProvider":       {usage(provider, "virtual-argocd-front", false), ""},
		"OthersRecord":           {usage(namespaces, "theirs", false), ""},
		"NamespacedComposition":  {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{spec: {compositionRef: {name: weak}}}"}, "spec.compositionRef is the platform's to choose"},
		"NamespacedLarge":        {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{spec: {argocd: {values: {a: " + strings.Repeat("a", 140<<10) + "}}}}"}, "spec has more than 128 KiB"},
		"NamespacedWide":         {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{spec: {argocd: {values: {a: " + strings.Repeat("\U0001F600", 35<<10) + "}}}}"}, "spec has more than 128 KiB"},
		"NamespacedEscaped":      {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{spec: {argocd: {values: {a: '" + strings.Repeat("<", 25<<10) + "'}}}}"}, "spec has more than 128 KiB"},
		"NamespacedAnnotations":  {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{metadata: {annotations: {a: '" + strings.Repeat("<", 5<<10) + "'}}, spec: {}}"}, "annotations of a claim take at most 16 KiB"},
		"NamespacedFreely":       {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "free-team", object: "{spec: {compositionRef: {name: europe}}}"}, ""},
		"NamespacedReferences":   {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{spec: {crossplane: {resourceRefs: [{name: a}]}}}"}, "spec.crossplane is Crossplane's"},
		"NamespacedForgets":      {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {crossplane: {resourceRefs: [{name: a}]}}}", object: "{spec: {}}"}, "spec.crossplane is Crossplane's"},
		"NamespacedByCrossplane": {request{by: crossplane, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {}}", object: "{spec: {crossplane: {resourceRefs: [{name: a}]}}}"}, ""},
		"NamespacedLeaves":       {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {}}", object: "{metadata: {annotations: {virtualargocd.io/leave-tenant: 'true'}}, spec: {}}"}, "leave-tenant is the platform's"},
		"NamespacedLeft":         {request{by: platform, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {}}", object: "{metadata: {annotations: {virtualargocd.io/leave-tenant: 'true'}}, spec: {}}"}, ""},
		"NamespacedSuspends":     {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {suspension: {reason: a}}}", object: "{spec: {}}"}, "spec.suspension is the platform's"},
		"NamespacedSuspended":    {request{by: platform, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{spec: {}}", object: "{spec: {suspension: {reason: a}}}"}, ""},
		"NamespacedDeleted":      {request{by: "user", operation: admission.Delete, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", name: "a", old: "{spec: {suspension: {reason: a}}}"}, "suspended by the platform"},
		"NamespacedByPlatform":   {request{by: platform, operation: admission.Delete, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", name: "a", old: "{spec: {suspension: {reason: a}}}"}, ""},
		"NamespacedPauses":       {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{metadata: {annotations: {crossplane.io/paused: 'true'}}, spec: {}}"}, "crossplane.io/paused is the platform's"},
		"NamespacedUnprotected":  {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{metadata: {labels: {crossplane.io/in-use: 'true'}}, spec: {}}", object: "{spec: {}}"}, "crossplane.io/in-use is Crossplane's to remove"},
	}
}
