package admission

import (
	"regexp"
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
		adopted = "an Object that exists already doesn't get the ClusterProviderConfig"
		has     = "of metadata only labels, owners and this product's annotations"
		chosen  = "has nothing that is Crossplane's in the spec of its composite resource"
		ends    = "the finalizers of a tenant stay as they are"
		asks    = "no other annotations than those by which a VirtualArgoCD asks"
		others  = "labels of crossplane.io are Crossplane's"
		owned   = "a tenant gets no owner"
	)
	// manifest is the composite resource of a VirtualArgoCD, and objectOf the Object with it. with has further metadata and fields of the spec.
	with := func(metadata, spec string) string {
		return "{apiVersion: virtualargocd.io/v1alpha1, kind: XVirtualArgoCD, metadata: {" + metadata + "}, spec: {claimRef: {apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, namespace: team, name: a}" + spec + "}}"
	}
	manifest := func(apiVersion, namespace string) string {
		return "{apiVersion: virtualargocd.io/v1alpha1, kind: XVirtualArgoCD, metadata: {name: a}, spec: {claimRef: {apiVersion: " + apiVersion + ", kind: VirtualArgoCD, namespace: " + namespace + ", name: a}}}"
	}
	objectOf := func(manifest, more string) string {
		return "{spec: {providerConfigRef: {kind: ClusterProviderConfig, name: virtual-argocd-front}, forProvider: {manifest: " + manifest + "}" + more + "}}"
	}
	const all = "name: a, labels: {team: a}, annotations: {virtualargocd.io/backup: now, virtualargocd.io/rotate-admin-password: '1', virtualargocd.io/claimed-at: '2026-01-01T00:00:00Z'}, ownerReferences: [{kind: Object, uid: u}]"
	good := objectOf(manifest("m.virtualargocd.io/v1alpha1", "team"), "")
	theirs := "{spec: {providerConfigRef: {kind: ClusterProviderConfig, name: theirs}, forProvider: {manifest: {kind: ConfigMap}}}}"
	do := func(by, namespace, old, object string) request {
		return request{by: by, resource: "kubernetes.m.crossplane.io/objects", namespace: namespace, name: "a", old: old, object: object}
	}
	remove := func(by, namespace string) request {
		return request{by: by, operation: admission.Delete, resource: "kubernetes.m.crossplane.io/objects", namespace: namespace, name: "a", old: good}
	}
	back := func(apiVersion, namespace, name, more string) string {
		return "{metadata: {labels: {crossplane.io/claim-namespace: " + namespace + ", crossplane.io/claim-name: " + name + "}}, spec: {claimRef: {apiVersion: " + apiVersion + ", kind: VirtualArgoCD, namespace: " + namespace + ", name: " + name + "}" + more + "}}"
	}
	is := func(metadata string) string {
		return "{metadata: {labels: {crossplane.io/claim-namespace: team, crossplane.io/claim-name: a}, " + metadata + "}, spec: {claimRef: {apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, namespace: team, name: a}}}"
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
		"Others":                 {do("user", "team", "", theirs), ""},
		"ByUser":                 {do("user", "team", "", good), writes},
		"ChangedByUser":          {do("user", "team", good, good), writes},
		"TakesAnothersConfig":    {do("user", "team", theirs, good), writes},
		"TakesItsConfigAway":     {do("user", "team", good, theirs), writes},
		"DeletedByUser":          {remove("user", "team"), writes},
		"DeletedByCrossplane":    {remove(crossplane, "team"), ""},
		"GoesWithItsOwner":       {remove(collector, "team"), ""},
		"GoesWithItsNamespace":   {remove(namespaces, "team"), ""},
		"MadeByAController":      {do(namespaces, "team", "", good), writes},
		"OwnerOfCollector":       {do(collector, "team", good, good), ""},
		"ByPlatform":             {do(platform, "team", good, good), ""},
		"Committed":              {do(argocd, "customer", "", objectOf(manifest(ours, "customer"), "")), writes},
		"CommitDeletes":          {remove(argocd, "customer"), writes},
		"CommitDeletesInACell":   {remove(manager, "customer"), writes},
		"ByAnotherInKubeSystem":  {do("system:serviceaccount:kube-system:other", "team", good, good), writes},
		"OfOneController":        {remove("system:kube-controller-manager", "team"), ""},
		"MadeBeforehand":         {do(crossplane, "team", theirs, good), adopted},
		"MadeWithoutAConfig":     {do(crossplane, "team", "{spec: {}}", good), adopted},
		"MadeWithoutASpec":       {do(platform, "team", "{metadata: {}}", good), adopted},
		"WithAllItsMetadata":     {do(crossplane, "team", "", objectOf(with(all, ", plan: small, compositionUpdatePolicy: Automatic"), "")), ""},
		"WithAFinalizer":         {do(crossplane, "team", "", objectOf(with("name: a, finalizers: [example.org/a]", ""), "")), has},
		"GetsAFinalizer":         {do(crossplane, "team", good, objectOf(with("name: a, finalizers: [example.org/a]", ""), "")), has},
		"Paused":                 {do(crossplane, "team", "", objectOf(with("name: a, annotations: {crossplane.io/paused: 'true'}", ""), "")), has},
		"OfAnotherName":          {do(crossplane, "team", "", objectOf(with("name: b", ""), "")), has},
		"OfNoName":               {do(crossplane, "team", "", objectOf(with("", ""), "")), has},
		"WhatItHadStays":         {do(provider, "team", objectOf(with("name: a, finalizers: [example.org/a]", ", resourceRefs: []"), ""), objectOf(with("name: a, finalizers: [example.org/a]", ", resourceRefs: []"), "")), ""},
		"ComposesOthers":         {do(crossplane, "team", "", objectOf(with("name: a", ", resourceRefs: [{kind: Secret, name: b}]"), "")), chosen},
		"ChoosesAComposition":    {do(crossplane, "team", good, objectOf(with("name: a", ", compositionRef: {name: weak}"), "")), chosen},
		"StaysAtARevision":       {do(crossplane, "team", good, objectOf(with("name: a", ", compositionRevisionRef: {name: old}"), "")), chosen},
		"HadItsComposition":      {do(crossplane, "team", objectOf(with("name: a", ", compositionRef: {name: europe}"), ""), objectOf(with("name: a", ", compositionRef: {name: europe}, plan: small"), "")), ""},
		"ChoosesFreely":          {do(crossplane, "free-team", "", strings.Replace(objectOf(with("name: a", ", compositionRef: {name: europe}"), ""), "namespace: team", "namespace: free-team", 1)), ""},
		"Wide":                   {do(crossplane, "team", good, objectOf(with("name: a", ", argocd: {values: {a: ["+strings.Repeat("{}, ", 30_000)+"{}]}}"), "")), ""},
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
		"TenantAsks":             {tenant(front, is(""), is("annotations: {virtualargocd.io/backup: now, virtualargocd.io/rotate-admin-password: '1', virtualargocd.io/claimed-at: '2026-01-01T00:00:00Z'}")), ""},
		"TenantNotApplied":       {tenant(front, "", is("annotations: {kubectl.kubernetes.io/last-applied-configuration: a}")), ""},
		"TenantKeepsCrossplanes": {tenant(front, is("finalizers: [composite.apiextensions.crossplane.io], annotations: {crossplane.io/external-name: a}"), is("finalizers: [composite.apiextensions.crossplane.io], annotations: {crossplane.io/external-name: a}")), ""},
		"TenantOfAClaimLoses":    {tenant(front, is("annotations: {example.org/a: b}, ownerReferences: [{kind: Object, uid: u}]"), is("")), ""},
		"TenantKeepsItsOwner":    {tenant(front, is("ownerReferences: [{kind: Object, uid: u}]"), is("ownerReferences: [{kind: Object, uid: u}]")), ""},
		"TenantWithAFinalizer":   {tenant(front, "", is("finalizers: [example.org/a]")), ends},
		"TenantGetsAFinalizer":   {tenant(front, is("finalizers: [composite.apiextensions.crossplane.io]"), is("finalizers: [composite.apiextensions.crossplane.io, example.org/a]")), ends},
		"TenantLosesCrossplanes": {tenant(front, is("finalizers: [composite.apiextensions.crossplane.io]"), is("")), ends},
		"TenantPaused":           {tenant(front, is(""), is("annotations: {crossplane.io/paused: 'true'}")), asks},
		"TenantPausedAtOnce":     {tenant(front, "", is("annotations: {crossplane.io/paused: 'true'}")), asks},
		"TenantOfAComposite":     {tenant(front, back(ours, "team", "a", ""), strings.Replace(back(ours, "team", "a", ""), "labels: {", "labels: {crossplane.io/composite: b, ", 1)), others},
		"TenantOfItsComposite":   {tenant(front, strings.Replace(back(ours, "team", "a", ""), "labels: {", "labels: {crossplane.io/composite: a, ", 1), strings.Replace(back(ours, "team", "a", ""), "labels: {", "labels: {crossplane.io/composite: a, ", 1)), ""},
		"TenantWithAnOwner":      {tenant(front, "", is("ownerReferences: [{kind: Object, uid: u}]")), owned},
		"TenantGetsAnOwner":      {tenant(front, is("ownerReferences: [{kind: Object, uid: u}]"), is("ownerReferences: [{kind: Object, uid: v}]")), owned},
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
		"NamespacedCollected":    {request{by: collector, operation: admission.Delete, resource: "m.virtualargocd.io/virtualargocds", namespace: "team", name: "a", old: "{spec: {suspension: {reason: a}}}"}, "suspended by the platform"},
		"NamespacedPauses":       {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", object: "{metadata: {annotations: {crossplane.io/paused: 'true'}}, spec: {}}"}, "crossplane.io/paused is the platform's"},
		"NamespacedUnprotected":  {request{by: "user", resource: "m.virtualargocd.io/virtualargocds", namespace: "team", old: "{metadata: {labels: {crossplane.io/in-use: 'true'}}, spec: {}}", object: "{spec: {}}"}, "crossplane.io/in-use is Crossplane's to remove"},
	}
}

// TestSecretsOfFronts: of the connection Secret of a namespaced VirtualArgoCD, a customer writes nothing by which Crossplane knows it, and no other
// Secret is concerned.
func TestSecretsOfFronts(t *testing.T) { ask(t, secretsOfFronts()) }

func secretsOfFronts() map[string]verdict {
	const (
		crossplane = "system:serviceaccount:crossplane-system:crossplane"
		collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
		namespaces = "system:serviceaccount:kube-system:namespace-controller"
		controller = "system:kube-controller-manager"

		front  = "{apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, name: a, uid: u, controller: true, blockOwnerDeletion: true}"
		claim  = "{apiVersion: virtualargocd.io/v1alpha1, kind: VirtualArgoCD, name: a, uid: c, controller: true, blockOwnerDeletion: true}"
		name   = "crossplane.io/composition-resource-name"
		itsOwn = name + ": connection-s"

		goes, owners, marks = "is Crossplane's to create and delete", "the owners of the connection Secret", "labels and annotations of crossplane.io of the connection Secret"
	)
	secret := func(owners, labels, annotations string) string {
		return "{metadata: {ownerReferences: [" + owners + "], labels: {" + labels + "}, annotations: {" + annotations + "}}, data: {a: YQ==}}"
	}
	its := secret(front, "crossplane.io/composite: a", itsOwn)
	do := func(by, old, object string) request {
		return request{by: by, resource: "secrets", namespace: "team", name: "s", old: old, object: object}
	}
	remove := func(by, old string) request {
		return request{by: by, operation: admission.Delete, resource: "secrets", namespace: "team", name: "s", old: old}
	}
	in := func(namespace string, r request) request {
		r.namespace = namespace
		return r
	}
	const plain = "{data: {a: YQ==}}"
	return map[string]verdict{
		"Composed":            {do(crossplane, "", its), ""},
		"Adopted":             {do(crossplane, plain, its), ""},
		"Collected":           {remove(collector, its), ""},
		"CollectedByOne":      {remove(controller, its), ""},
		"WithItsNamespace":    {remove(namespaces, its), ""},
		"DeletedByCrossplane": {remove(crossplane, its), ""},
		"LosesItsName":        {do("user", its, secret(front, "crossplane.io/composite: a", "")), marks},
		"LosesAll":            {do("user", its, "{metadata: {ownerReferences: ["+front+"]}}"), marks},
		"TakesAnothersName":   {do("user", its, secret(front, "crossplane.io/composite: a", name+": tenant")), marks},
		"GetsAName":           {do("user", secret(front, "", ""), secret(front, "", itsOwn)), marks},
		"LosesItsLabel":       {do("user", its, secret(front, "", itsOwn)), marks},
		"TakesAnothersLabel":  {do("user", its, secret(front, "crossplane.io/composite: b", itsOwn)), marks},
		"LosesItsOwner":       {do("user", its, secret("", "crossplane.io/composite: a", itsOwn)), owners},
		"GetsAnotherOwner":    {do("user", its, secret(front+", {apiVersion: v1, kind: ConfigMap, name: a, uid: b}", "crossplane.io/composite: a", itsOwn)), owners},
		"CallsItselfOne":      {do("user", plain, its), owners},
		"MadeByUser":          {do("user", "", its), goes},
		"MadeByAController":   {do(namespaces, "", its), goes},
		"DeletedByUser":       {remove("user", its), goes},
		"CommitDeletes":       {in("customer", remove(argocd, its)), goes},
		"CommitInACell":       {in("customer", remove(manager, its)), goes},
		"CommitUnnames":       {in("customer", do(argocd, its, secret(front, "crossplane.io/composite: a", ""))), marks},
		"OtherOfKubeSystem":   {remove("system:serviceaccount:kube-system:other", its), goes},
		"OwnLabels":           {do("user", its, secret(front, "crossplane.io/composite: a, team: a", itsOwn+", example.org/a: b, notcrossplane.io/a: b")), ""},
		"OwnData":             {do("user", its, strings.Replace(its, "YQ==", "Yg==", 1)), ""},
		"ReleasedByPlatform":  {do(platform, its, plain), ""},
		"GivenToAClaim":       {do(platform, its, secret(claim, "", "")), ""},
		"DeletedByPlatform":   {remove(platform, its), ""},
		"Claims":              {do("user", secret(claim, "", itsOwn), secret(claim, "", "")), ""},
		"ClaimsDeleted":       {remove("user", secret(claim, "", "")), ""},
		"OthersComposed":      {do("user", secret("{apiVersion: example.org/v1, kind: VirtualArgoCD, name: a, uid: u, controller: true}", "", itsOwn), plain), ""},
		"OtherKind":           {remove("user", secret("{apiVersion: m.virtualargocd.io/v1alpha1, kind: Other, name: a, uid: u, controller: true}", "", itsOwn)), ""},
		"OwnedBeside":         {remove("user", secret("{apiVersion: m.virtualargocd.io/v1alpha1, kind: VirtualArgoCD, name: a, uid: u}", "", "")), ""},
		"Others":              {do("user", "", plain), ""},
	}
}

// exempts finds exceptions for all accounts of a namespace.
var exempts = regexp.MustCompile(`startsWith\("system:serviceaccount:[^"]+"\)`)

// TestNoNamespaceOfAccounts: no policy makes an exception for all accounts of a namespace. Others may make some there.
func TestNoNamespaceOfAccounts(t *testing.T) {
	policies, _ := read(t)
	for _, p := range policies {
		var all []string
		for _, v := range p.Spec.Variables {
			all = append(all, v.Expression)
		}
		for _, v := range p.Spec.Validations {
			all = append(all, v.Expression)
		}
		for _, expression := range all {
			if exempts.MatchString(expression) {
				t.Errorf("policy %s trusts whoever has an account of such a name: write exact names: %s", p.Name, expression)
			}
		}
	}
}
