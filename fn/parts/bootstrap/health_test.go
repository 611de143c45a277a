package bootstrap_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestBootstrapHealth(t *testing.T) {
	const inSync = `"sync":{"status":"Synced"}`
	cases := map[string]struct {
		reason  string
		breakIt func(e *crossplanetest.Engine)
		want    string
		message string
	}{
		"NotSeen": {
			"Argo CD has not looked yet.",
			func(e *crossplanetest.Engine) { e.SetApplication(`{}`) },
			v1alpha1.ReasonWaitingForArgoCD, "Application bootstrap waits for Argo CD to compare it with Git",
		},
		"OutOfSync": {
			"What is in Git isn't there.",
			func(e *crossplanetest.Engine) {
				e.SetApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"}}`)
			},
			v1alpha1.ReasonOutOfSync, "Application bootstrap is not synced (OutOfSync): Argo CD is to do that automatically",
		},
		"RepositoryNotReached": {
			"Argo CD can't read the repository.",
			func(e *crossplanetest.Engine) {
				e.SetApplication(`{"sync":{"status":"Unknown"},"health":{"status":"Healthy"},"conditions":[{"type":"SharedResourceWarning","message":"other"},{"type":"ComparisonError","message":"authentication required"}]}`)
			},
			v1alpha1.ReasonApplicationFailed, "Application bootstrap has failed: authentication required",
		},
		"SyncFailed": {
			"A sync has failed.",
			func(e *crossplanetest.Engine) {
				e.SetApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Missing"},"operationState":{"phase":"Failed","message":"one or more objects failed to apply"}}`)
			},
			v1alpha1.ReasonApplicationFailed, "one or more objects failed to apply",
		},
		"OldFailure": {
			"A failure that is over is no news.",
			func(e *crossplanetest.Engine) {
				e.SetApplication(`{` + inSync + `,"health":{"status":"Healthy"},"operationState":{"phase":"Failed","message":"old"}}`)
			},
			v1alpha1.ReasonAvailable, "",
		},
		"Progressing": {
			"It is on its way.",
			func(e *crossplanetest.Engine) { e.SetApplication(`{` + inSync + `,"health":{"status":"Progressing"}}`) },
			v1alpha1.ReasonProgressing, "",
		},
		"Degraded": {
			"Something in it is broken.",
			func(e *crossplanetest.Engine) { e.SetApplication(`{` + inSync + `,"health":{"status":"Degraded"}}`) },
			v1alpha1.ReasonUnhealthy, "Application bootstrap is synced, and its health is Degraded: Argo CD shows what in it",
		},
		"Suspended": {
			"A CronJob that somebody has suspended is no fault.",
			func(e *crossplanetest.Engine) { e.SetApplication(`{` + inSync + `,"health":{"status":"Suspended"}}`) },
			v1alpha1.ReasonSuspended, "is suspended until somebody resumes it",
		},
		"NotApplied": {
			"The virtual cluster refuses it.",
			func(e *crossplanetest.Engine) {
				crossplanetest.SetCondition(e.Observed(tenant.Bootstrap), "Synced", "False", "ReconcileError", "no matches for kind Application")
			},
			v1alpha1.ReasonApplicationFailed, "no matches for kind",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`, "").Install()
			tc.breakIt(e)
			e.Reconcile()
			c := e.Condition(v1alpha1.ConditionBootstrapSynced)
			if c.GetReason() != tc.want || !strings.Contains(c.GetMessage(), tc.message) || (c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE) != (tc.want == v1alpha1.ReasonAvailable) {
				t.Errorf("\n%s\nBootstrapSynced: want %s, %q, got %v", tc.reason, tc.want, tc.message, c)
			}
			if e.Status("phase") != "Ready" || e.Response.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
				t.Errorf("\n%s\nthe tenant is %s: %s", tc.reason, e.Status("phase"), e.Status("message"))
			}
			events := len(e.Events)
			if e.Reconcile(); len(e.Events) != events {
				t.Errorf("\n%s\nthe same news again: %v", tc.reason, e.Events[events:])
			}
		})
	}
	// It goes from the composition with its part of the spec, and stays in Argo CD.
	e := crossplanetest.New(t, `{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`, "").Install()
	e.SetSpec(`{}`)
	if rsp := e.Reconcile(); rsp.GetDesired().GetResources()[tenant.Bootstrap] != nil || e.Condition(v1alpha1.ConditionBootstrapSynced).GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("the part is gone from the spec: %v", e.Condition(v1alpha1.ConditionBootstrapSynced))
	}
}

// TestSyncOptions: Argo CD ignores an option that it doesn't know letter by letter.
func TestSyncOptions(t *testing.T) {
	option := func(o string) string {
		return `{"bootstrap":{"repoURL":"https://a.b/c","syncPolicy":{"syncOptions":["` + o + `"]}}}`
	}
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Yes":        {Spec: option("CreateNamespace=yes"), Want: []string{`"CreateNamespace=yes" is none of Argo CD's: write CreateNamespace=true or CreateNamespace=false`}},
		"Tru":        {Spec: option("ServerSideApply=tru"), Want: []string{"did you mean ServerSideApply=true?"}},
		"Number":     {Spec: option("Replace=1"), Want: []string{"write Replace=true or Replace=false"}},
		"No":         {Spec: option("Validate=no"), Want: []string{`"Validate=no" is none of Argo CD's`}},
		"Maybe":      {Spec: option("Prune=maybe"), Want: []string{"write Prune=true or Prune=false or Prune=confirm"}},
		"Confirm":    {Spec: option("Prune=confirm"), Want: nil},
		"Delete":     {Spec: option("Delete=confirm"), Want: nil},
		"NotConfirm": {Spec: option("Replace=confirm"), Want: []string{"write Replace=true or Replace=false"}},
		"Foregrund":  {Spec: option("PrunePropagationPolicy=foregrund"), Want: []string{"did you mean PrunePropagationPolicy=foreground?"}},
		"Foreground": {Spec: option("PrunePropagationPolicy=foreground"), Want: nil},
		"Orphan":     {Spec: option("PrunePropagationPolicy=Orphan"), Want: []string{"did you mean PrunePropagationPolicy=orphan?"}},
		"TrueOfMore": {Spec: option("PrunePropagationPolicy=true"), Want: []string{"write PrunePropagationPolicy=foreground or PrunePropagationPolicy=background or PrunePropagationPolicy=orphan"}},
		"Off":        {Spec: option("ServerSideApply=false"), Want: nil},
		"Validate":   {Spec: option("Validate=false"), Want: nil},
		"Documented": {Spec: option("DisableClientSideApplyMigration=true"), Want: []string{"write ClientSideApplyMigration=false"}},
		"NewOption":  {Spec: option("SomethingElse=soon"), Want: nil},
		"Plural":     {Spec: option("CreateNamespaces=true"), Want: []string{`spec.bootstrap.syncPolicy.syncOptions: "CreateNamespaces=true" is none of Argo CD's: did you mean CreateNamespace=true?`}},
		"Case":       {Spec: option("createNamespace=true"), Want: []string{"did you mean CreateNamespace=true?"}},
		"CaseOfOn":   {Spec: option("ServerSideApply=True"), Want: []string{"did you mean ServerSideApply=true?"}},
		"Spaces":     {Spec: option("PruneLast = true"), Want: []string{"did you mean PruneLast=true?"}},
		"Misspelt":   {Spec: option("RespectIgnoreDiferences=true"), Want: []string{"did you mean RespectIgnoreDifferences=true?"}},
		"Right":      {Spec: option("PrunePropagationPolicy=foreground"), Want: nil},
		"Prune":      {Spec: option("Prune=confirm"), Want: nil},
		"New":        {Spec: option("SomethingElse=true"), Want: nil},
		"URLsToken":  {Spec: `{"bootstrap":{"sources":[{"repoURL":"https://glpat-secret1@gitlab.com/a/b","path":"."}]}}`, Want: []string{"spec.bootstrap.sources[0].repoURL: there is a token in the URL"}},
	})
	crossplanetest.CheckStaysAccepted(t, option("createNamespace=true"), option("createnamespace=true"))
}
