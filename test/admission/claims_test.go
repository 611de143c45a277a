package admission

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestClaims: which Composition a claim has, and which composite resource, is not its own to say; nor what Crossplane obeys in its metadata.
func TestClaims(t *testing.T) { ask(t, claims()) }

func claims() map[string]verdict {
	const (
		crossplane = "system:serviceaccount:crossplane-system:crossplane"
		mine       = "resourceRef: {name: a-12345}, compositionRef: {name: virtual-argocd}, compositionRevisionRef: {name: virtual-argocd-1}, compositionUpdatePolicy: Automatic"
		bound      = "{spec: {plan: small, " + mine + "}}"
		reference  = "spec.resourceRef is Crossplane's to write"
		inUse      = "{metadata: {labels: {crossplane.io/in-use: 'true', team: a}}, spec: {}}"
		label      = "crossplane.io/in-use is Crossplane's to remove"
		paused     = "{metadata: {annotations: {crossplane.io/paused: 'true', team: a}}, spec: {}}"
		annotation = "is the platform's to set on a claim"
		finalized  = "{metadata: {finalizers: [finalizer.apiextensions.crossplane.io, example.org/mine]}, spec: {}}"
		finalizer  = "finalizers of crossplane.io are Crossplane's to remove"
		suspended  = "{spec: {suspension: {reason: a}}}"
	)
	do := func(by, namespace, old, object string) request {
		return request{by: by, resource: "virtualargocd.io/virtualargocds", namespace: namespace, name: "a", old: old, object: object}
	}
	remove := func(by, old string) request {
		return request{by: by, operation: admission.Delete, resource: "virtualargocd.io/virtualargocds", namespace: "team", name: "a", old: old}
	}
	in := func(namespace string, r request) request {
		r.namespace = namespace
		return r
	}
	user := func(namespace, old, object string) request { return do("user", namespace, old, object) }
	create := func(spec string) request { return user("team", "", "{spec: {"+spec+"}}") }
	update := func(spec string) request { return user("team", bound, "{spec: {"+spec+"}}") }
	free := func(spec string) request { return user("free-team", "", "{spec: {"+spec+"}}") }
	values := func(n int, item string) request {
		return create("argocd: {values: {a: [" + strings.Repeat(item+", ", n-1) + item + "]}}")
	}
	labels := func(n int) string {
		b := &strings.Builder{}
		for i := range n {
			fmt.Fprintf(b, "l%d: a, ", i)
		}
		return "{metadata: {labels: {" + b.String() + "}}, spec: {}}"
	}
	annotate := func(all string) request {
		return user("team", "{spec: {}}", "{metadata: {annotations: {"+all+"}}, spec: {}}")
	}
	many := func(n int, entry string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(entry, i))
		}
		return strings.Join(out, ", ")
	}
	const (
		platforms, size       = " is the platform's to choose", "spec has more than 384 KiB"
		annotations, metadata = "annotations of a claim take at most 16 KiB", "metadata of a claim takes at most 512 KiB"
		wide                  = "\U0001F600"
	)
	return map[string]verdict{
		"Claim":                  {create("plan: small, compositionUpdatePolicy: Automatic"), ""},
		"NoSpec":                 {do("user", "team", "", `{}`), ""},
		"TakesOver":              {create("resourceRef: {name: others}"), reference},
		"TakesOverFreely":        {free("resourceRef: {name: others}"), reference},
		"TakesOverLater":         {do("user", "team", "{spec: {}}", "{spec: {resourceRef: {name: others}}}"), reference},
		"TakesOverInstead":       {update("resourceRef: {name: others}"), reference},
		"LetsGo":                 {update("plan: small"), reference},
		"GivenByPlatform":        {do(platform, "team", "", "{spec: {resourceRef: {name: a-12345}}}"), ""},
		"CommitTakesOver":        {do(argocd, "customer", "", "{spec: {resourceRef: {name: others}}}"), reference},
		"Composition":            {create("compositionRef: {name: weak}"), "spec.compositionRef" + platforms},
		"CompositionLater":       {update("resourceRef: {name: a-12345}, compositionRef: {name: weak}"), "spec.compositionRef" + platforms},
		"Selector":               {create("compositionSelector: {matchLabels: {}}"), "spec.compositionSelector" + platforms},
		"Revision":               {update("resourceRef: {name: a-12345}, compositionRevisionRef: {name: virtual-argocd-0}"), "spec.compositionRevisionRef" + platforms},
		"RevisionSelector":       {create("compositionRevisionSelector: {matchLabels: {}}"), "spec.compositionRevisionSelector" + platforms},
		"StaysAsItIs":            {create("compositionUpdatePolicy: Manual"), "must be Automatic"},
		"StaysLater":             {update("resourceRef: {name: a-12345}, compositionUpdatePolicy: Manual"), "must be Automatic"},
		"OtherPlan":              {update("plan: large, " + mine), ""},
		"LeftOutByGitOps":        {update("plan: large, resourceRef: {name: a-12345}"), ""},
		"ManualFromBefore":       {do("user", "team", "{spec: {compositionUpdatePolicy: Manual}}", "{spec: {plan: a, compositionUpdatePolicy: Manual}}"), ""},
		"ChosenFreely":           {free("compositionRef: {name: europe}, compositionUpdatePolicy: Manual"), ""},
		"StagedFreely":           {free("compositionRef: {name: virtual-argocd-staged}, compositionRevisionSelector: {matchLabels: {stage: canary}}"), ""},
		"DeletedInBackground":    {create("compositeDeletePolicy: Background"), ""},
		"DeletedInForeground":    {create("compositeDeletePolicy: Foreground"), "compositeDeletePolicy must be Background"},
		"ForegroundLater":        {update("compositeDeletePolicy: Foreground, " + mine), "compositeDeletePolicy must be Background"},
		"BoundByCrossplane":      {do(crossplane, "team", "{spec: {plan: small}}", bound), ""},
		"LabelsItself":           {do("user", "team", "{spec: {}}", inUse), "labels of crossplane.io"},
		"Protected":              {do("user", "team", inUse, inUse), ""},
		"Unlabelled":             {do("user", "team", inUse, "{metadata: {labels: {team: a}}, spec: {}}"), label},
		"WithoutLabels":          {do("user", "team", inUse, "{spec: {}}"), label},
		"UnlabelledFreely":       {do("user", "free-team", inUse, "{spec: {}}"), label},
		"LabelledByCrossplane":   {do(crossplane, "team", "{spec: {}}", inUse), ""},
		"ReleasedByCrossplane":   {do(crossplane, "team", inUse, "{spec: {}}"), ""},
		"Pauses":                 {do("user", "team", "{spec: {}}", paused), "crossplane.io/paused " + annotation},
		"PausedFromTheStart":     {do("user", "team", "", paused), "crossplane.io/paused " + annotation},
		"PausesAgain":            {do("user", "team", "{metadata: {annotations: {crossplane.io/paused: 'false'}}, spec: {}}", paused), annotation},
		"PausesFreely":           {do("user", "free-team", "{spec: {}}", paused), annotation},
		"PausedBefore":           {do("user", "team", paused, "{metadata: {annotations: {crossplane.io/paused: 'true'}}, spec: {plan: small}}"), ""},
		"Resumes":                {do("user", "team", paused, "{spec: {}}"), ""},
		"Suspends":               {do("user", "team", "{spec: {}}", "{spec: {suspension: {reason: a}}}"), "spec.suspension is the platform's"},
		"SuspendedFromTheStart":  {do("user", "team", "", "{spec: {suspension: {reason: a}}}"), "spec.suspension is the platform's"},
		"EndsItsSuspension":      {do("user", "team", "{spec: {suspension: {reason: a}}}", "{spec: {}}"), "spec.suspension is the platform's"},
		"EndsItFreely":           {do("user", "free-team", "{spec: {suspension: {reason: a}}}", "{spec: {}}"), "spec.suspension is the platform's"},
		"ChangesItsSuspension":   {do("user", "team", "{spec: {suspension: {reason: a}}}", "{spec: {suspension: {reason: b}}}"), "spec.suspension is the platform's"},
		"EmptiesItsSuspension":   {do("user", "team", "{spec: {suspension: {reason: a}}}", "{spec: {suspension: null}}"), "spec.suspension is the platform's"},
		"KeepsItsSuspension":     {do("user", "team", "{spec: {suspension: {reason: a}}}", "{spec: {plan: small, suspension: {reason: a}}}"), ""},
		"DeletesSuspended":       {remove("user", "{spec: {suspension: {reason: a}}}"), "suspended by the platform, which alone may delete it"},
		"DeletesItsOwn":          {remove("user", "{spec: {}}"), ""},
		"DeletedWithNamespace":   {in("leaving", remove("system:serviceaccount:kube-system:namespace-controller", suspended)), ""},
		"WithItByOneController":  {in("leaving", remove("system:kube-controller-manager", suspended)), ""},
		"DeletedWithItsOwner":    {remove("system:serviceaccount:kube-system:generic-garbage-collector", suspended), "suspended by the platform"},
		"CollectedByController":  {remove("system:kube-controller-manager", suspended), "suspended by the platform"},
		"ItsOwnCollected":        {remove("system:serviceaccount:kube-system:generic-garbage-collector", "{spec: {}}"), ""},
		"ByAnotherInKubeSystem":  {remove("system:serviceaccount:kube-system:other", suspended), "suspended by the platform"},
		"CommitReplacesInACell":  {in("customer", remove(manager, suspended)), "suspended by the platform"},
		"DeletedByPlatform":      {remove(platform, "{spec: {suspension: {reason: a}}}"), ""},
		"SuspendedByPlatform":    {do(platform, "team", "{spec: {}}", "{spec: {suspension: {reason: a}}}"), ""},
		"FreedByPlatform":        {do(platform, "team", "{spec: {suspension: {reason: a}}}", "{spec: {}}"), ""},
		"PausedByThePlatform":    {do(platform, "team", "{spec: {}}", paused), ""},
		"ReconcilesNow":          {do("user", "team", "{spec: {}}", "{metadata: {annotations: {crossplane.io/reconcile-requested-at: '1'}}, spec: {}}"), ""},
		"ExternalName":           {do("user", "team", "", "{metadata: {annotations: {crossplane.io/external-name: others}}, spec: {}}"), "external-name " + annotation},
		"PollInterval":           {do("user", "team", "", "{metadata: {annotations: {crossplane.io/poll-interval: 1s}}, spec: {}}"), "poll-interval " + annotation},
		"OtherDomains":           {do("user", "team", "", "{metadata: {annotations: {usage.crossplane.io/deletion-attempt-with-policy: a}}, spec: {}}"), annotation},
		"LabelOfOtherDomains":    {do("user", "team", "", "{metadata: {labels: {rbac.crossplane.io/system: a}}, spec: {}}"), "labels of crossplane.io"},
		"NamedByCrossplane":      {do(crossplane, "team", "{spec: {}}", "{metadata: {annotations: {crossplane.io/external-name: a}}, spec: {}}"), ""},
		"OwnAnnotations":         {do("user", "team", "{spec: {}}", "{metadata: {annotations: {example.org/a: b, notcrossplane.io/a: b, argocd.argoproj.io/sync-wave: '1'}}, spec: {}}"), ""},
		"LeavesItsTenant":        {do("user", "team", finalized, "{metadata: {finalizers: [example.org/mine]}, spec: {}}"), finalizer},
		"LeavesItWithoutAny":     {do("user", "team", finalized, "{spec: {}}"), finalizer},
		"OwnFinalizer":           {do("user", "team", finalized, "{metadata: {finalizers: [finalizer.apiextensions.crossplane.io]}, spec: {}}"), ""},
		"FinalizedByCrossplane":  {do(crossplane, "team", finalized, "{spec: {}}"), ""},
		"FinalizedByThePlatform": {do(platform, "team", finalized, "{spec: {}}"), ""},
		"LargeText":              {create("argocd: {values: {a: " + strings.Repeat("a", 250<<10) + "}}"), ""},
		"CommitPauses":           {do(argocd, "customer", "{spec: {}}", paused), "crossplane.io/paused " + annotation},
		"CommitsPaused":          {do(argocd, "customer", "", paused), "crossplane.io/paused " + annotation},
		"CommitSuspends":         {do(argocd, "customer", "{spec: {}}", "{spec: {suspension: {reason: a}}}"), "spec.suspension is the platform's"},
		"CommitEndsSuspension":   {do(argocd, "customer", "{spec: {suspension: {reason: a}}}", "{spec: {}}"), "spec.suspension is the platform's"},
		"CommitReplacesClaim":    {request{by: argocd, operation: admission.Delete, resource: "virtualargocd.io/virtualargocds", namespace: "customer", name: "a", old: "{spec: {suspension: {reason: a}}}"}, "suspended by the platform"},
		"CommitLeavesTenant":     {do(argocd, "customer", finalized, "{spec: {}}"), finalizer},
		"CommitsPlan":            {do(argocd, "customer", "{spec: {suspension: {reason: a}}}", "{spec: {plan: small, suspension: {reason: a}}}"), ""},
		"CommitDeletes":          {request{by: argocd, operation: admission.Delete, resource: "virtualargocd.io/virtualargocds", namespace: "customer", name: "a", old: "{spec: {}}"}, ""},
		"PlatformAmongCustomers": {do(platform, "customer", "{spec: {}}", paused), ""},
		"BoundAmongCustomers":    {do(crossplane, "customer", "{spec: {plan: small}}", bound), ""},
		"PausedInPlatformsOwn":   {do(argocd, "team", "{spec: {}}", paused), ""},
		"LargestText":            {create("argocd: {values: {a: " + strings.Repeat("a", 380<<10) + "}}"), ""},
		"ManyValues":             {values(5000, "{}"), ""},
		"TooLargeText":           {create("argocd: {values: {a: " + strings.Repeat("a", 400<<10) + "}}"), size},
		"TooManyMaps":            {values(200_000, "{}"), size},
		"TooManyLists":           {values(200_000, "[]"), size},
		"TooManyNumbers":         {values(200_000, "0"), size},
		"TooManyTexts":           {values(400_000, "''"), size},
		"TooManyLater":           {do("user", "team", "{spec: {}}", values(200_000, "{}").object), size},
		"TooManyFreely":          {free("argocd: {values: {a: " + strings.Repeat("a", 400<<10) + "}}"), size},
		"LargeBeforeThePolicy":   {do(crossplane, "team", "{spec: {}}", values(200_000, "{}").object), ""},
		"SomeLabels":             {do("user", "team", "", labels(60)), ""},
		"TooManyLabels":          {do("user", "team", "", labels(70)), "at most 64 labels"},
		"WideText":               {create("argocd: {values: {a: " + strings.Repeat(wide, 100_000) + "}}"), size},
		"WideTextOfItsSize":      {create("argocd: {values: {a: " + strings.Repeat(wide, 90_000) + "}}"), ""},
		"EscapedText":            {create("argocd: {values: {a: '" + strings.Repeat("<", 70_000) + "'}}"), size},
		"EscapedControls":        {create(`argocd: {values: {a: "` + strings.Repeat(`\u0001`, 70_000) + `"}}`), size},
		"EscapedKeys":            {create("argocd: {values: {? '" + strings.Repeat("&", 70_000) + "' : a}}"), size},
		"EscapedAsUsual":         {create("argocd: {values: {a: '" + strings.Repeat("a > b && c < d | ", 3_000) + "'}}"), ""},
		"SuspendsTheLargest":     {do(platform, "team", "{spec: {argocd: {values: {a: "+strings.Repeat("a", 393_160)+"}}}}", "{spec: {suspension: {reason: "+strings.Repeat("a", 200)+"}, argocd: {values: {a: "+strings.Repeat("a", 393_160)+"}}}}"), ""},
		"LargestOfAll":           {do("user", "team", "{spec: {}}", "{spec: {argocd: {values: {a: "+strings.Repeat("a", 393_160)+"}}}}"), ""},
		"PlatformsTooLarge":      {do(platform, "team", "", "{spec: {argocd: {values: {a: "+strings.Repeat("a", 420_000)+"}}}}"), size},
		"Annotations":            {annotate("a: " + strings.Repeat("a", 15<<10)), ""},
		"TooLargeAnnotations":    {annotate(many(20, "a%d: "+strings.Repeat("a", 1<<10))), annotations},
		"WideAnnotations":        {annotate("a: " + strings.Repeat(wide, 5<<10)), annotations},
		"EscapedAnnotations":     {annotate("a: '" + strings.Repeat("<", 5<<10) + "'"), annotations},
		"NamesOfAnnotations":     {annotate(many(400, strings.Repeat("a", 60)+"%d: ''")), annotations},
		"LargeFromTheStart":      {do("user", "team", "", "{metadata: {annotations: {a: "+strings.Repeat("a", 20<<10)+"}}, spec: {}}"), annotations},
		"AppliedByKubectl":       {annotate("kubectl.kubernetes.io/last-applied-configuration: " + strings.Repeat("a", 200<<10)), ""},
		"AppliedEscaped":         {annotate("kubectl.kubernetes.io/last-applied-configuration: '" + strings.Repeat("<", 200<<10) + "'"), metadata},
		"ManyManagers":           {do("user", "team", "", "{metadata: {managedFields: ["+many(24, "{manager: m%d, fieldsV1: {? 'f:"+strings.Repeat("a", 25<<10)+"' : {}}}")+"]}, spec: {}}"), metadata},
		"ManyManagersTogether":   {do("user", "team", "", "{metadata: {managedFields: ["+many(18, "{manager: m%d, fieldsV1: {? 'f:"+strings.Repeat("a", 27<<10)+"' : {}}}")+"]}, spec: {}}"), ""},
		"NearlyTooLargeTogether": {do("user", "team", "", "{metadata: {managedFields: ["+many(18, "{manager: m%d, fieldsV1: {? 'f:"+strings.Repeat("a", 27<<10)+"' : {}}}")+"]}, spec: {argocd: {values: {a: "+strings.Repeat("a", 393_160)+"}}}}"), ""},
		"CallsItselfASpare":      {do("user", "team", "", "{metadata: {labels: {virtualargocd.io/spare: 'true'}}, spec: {}}"), "virtualargocd.io/spare is the platform's to set"},
		"CommitsASpare":          {do(argocd, "customer", "", "{metadata: {labels: {virtualargocd.io/spare: 'true'}}, spec: {}}"), "virtualargocd.io/spare is the platform's to set"},
		"SaysWhenItWasClaimed":   {do("user", "team", "", "{metadata: {annotations: {virtualargocd.io/claimed-at: '2026-01-01T00:00:00Z'}}, spec: {}}"), "claimed-at is the platform's to set"},
		"Adopted":                {do(platform, "team", "{spec: {}}", "{metadata: {annotations: {virtualargocd.io/adopting: 'true', virtualargocd.io/leave-tenant: 'true', crossplane.io/paused: 'true'}}, spec: {}}"), ""},
		"LargeOwner":             {do("user", "team", "", "{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: "+strings.Repeat("a", 530<<10)+"}]}, spec: {}}"), metadata},
		"SuspendsTheAnnotated":   {do(platform, "team", "{metadata: {annotations: {a: "+strings.Repeat("a", 16_300)+"}}, spec: {}}", "{metadata: {annotations: {a: "+strings.Repeat("a", 16_300)+", crossplane.io/paused: 'true', example.org/why: "+strings.Repeat("a", 300)+"}}, spec: {}}"), ""},
		"OtherKindsOfItsGroup":   {request{by: "user", resource: "virtualargocd.io/usages", namespace: "team", object: "{spec: {resourceRef: {name: a}}}"}, ""},
	}
}

// TestPlatformsMetadata: of this product's labels and annotations, a claim's author may write none that mean something only where the platform has
// written them, and the platform may write all of them.
func TestPlatformsMetadata(t *testing.T) {
	// Those of other objects.
	known := slices.Concat(given.PlatformsMetadata, given.ClaimsAnnotations, []string{v1alpha1.LabelDefaultPlan})
	for _, key := range constants(t, "../../apis/v1alpha1", "virtualargocd.io/") {
		if !slices.Contains(known, key) {
			t.Errorf("nothing says who may write %s on a claim: add it to PlatformsMetadata, to ClaimsAnnotations or here", key)
		}
	}
	cases := map[string]verdict{}
	for _, group := range []string{"", "m."} {
		for _, where := range []string{"label", "annotation"} {
			for _, key := range known {
				with := "{metadata: {" + where + "s: {" + key + ": 'true'}}, spec: {}}"
				do := func(by, old string) request {
					return request{by: by, resource: group + "virtualargocd.io/virtualargocds", namespace: "team", name: "a", old: old, object: with}
				}
				refused := ""
				if slices.Contains(given.PlatformsMetadata, key) {
					refused = key + " is the platform's to set"
				}
				name := group + where + "/" + key
				cases[name+"/Created"] = verdict{do("user", ""), refused}
				cases[name+"/Later"] = verdict{do("user", "{spec: {}}"), refused}
				cases[name+"/Changed"] = verdict{do("user", strings.Replace(with, "true", "false", 1)), refused}
				cases[name+"/AsItWas"] = verdict{do("user", with), ""}
				cases[name+"/Platform"] = verdict{do(platform, "{spec: {}}"), ""}
				cases[name+"/Crossplane"] = verdict{do("system:serviceaccount:crossplane-system:crossplane", "{spec: {}}"), ""}
			}
		}
	}
	ask(t, cases)
}

// constants are the values of a package's constants that begin with a prefix, and have more.
func constants(t *testing.T, dir, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var out []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if value, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(value, prefix) && len(value) > len(prefix) {
						out = append(out, value)
					}
				}
				return true
			})
		}
	}
	if len(out) == 0 {
		t.Error("there are no constants")
	}
	return out
}
