//go:build e2e

package e2e

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/render/golden"
)

// hostSettings are what users give the Argo CD on the host.
const hostSettings = "../../examples/gitops/argocd/argocd-cm.yaml"

const pausedBy = "crossplane.io/paused"

// tenantAt is a tenant at a stage of the golden files, so that what is asked here is what the function says: as a claim,
// or as the composite resource that it is there.
func tenantAt(t *testing.T, stage, kind string) *unstructured.Unstructured {
	t.Helper()
	o := objectAt(t, stage, "X"+claim.GVK.Kind)
	o.SetKind(kind)
	return o
}

// objectAt is the composite resource in a folder of golden files, which is of that kind.
func objectAt(t *testing.T, stage, kind string) *unstructured.Unstructured {
	t.Helper()
	objects, err := golden.Read(filepath.Join("..", "render", "testdata", "golden", filepath.FromSlash(stage)))
	if err != nil {
		t.Fatal(err)
	}
	o := objects[0]
	if o.GetKind() != kind {
		t.Fatalf("the composite resource of %s is of kind %s", stage, o.GetKind())
	}
	o.SetGeneration(1)
	return o
}

// set gives a field its value.
func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// say sets a condition.
func say(t *testing.T, o *unstructured.Unstructured, kind, status, reason, message string) {
	t.Helper()
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	all := []any{map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": int64(1)}}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] != kind {
			all = append(all, c)
		}
	}
	set(t, o, all, "status", "conditions")
}

// since sets the time of a condition.
func since(t *testing.T, o *unstructured.Unstructured, kind string, at time.Time) {
	t.Helper()
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			c["lastTransitionTime"] = at.UTC().Format(time.RFC3339)
		}
	}
	set(t, o, conditions, "status", "conditions")
}

// showsOnTheHost holds a claim, as it is at that moment, against what the Argo CD on the host shows of it.
func showsOnTheHost(ctx context.Context, t *testing.T, s *claim.State, status string, words ...string) {
	t.Helper()
	got, message := argocd.NewSettings(t, hostSettings).Health(ctx, t, s.Object)
	if got != status {
		t.Errorf("the Argo CD on the host shows %s: %s; want %s of %s", got, message, status, s)
	}
	for _, word := range words {
		if !strings.Contains(message, word) {
			t.Errorf("the Argo CD on the host shows %s: %s; want a message with %q", got, message, word)
		}
	}
}

// TestHealthOnTheHost asks Argo CD's own engine what it makes of a tenant, with the settings that users copy.
func TestHealthOnTheHost(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	const unusable = `spec.argocd.chartVersion: "9.x" is not a version: write an exact version, such as 1.2.3, not a range`
	cases := map[string]struct {
		reason, stage string
		change        func(o *unstructured.Unstructured)
		status        string
		message       []string
	}{
		"Fresh": {
			"Crossplane has not looked yet.", "smallest/5-ready",
			func(o *unstructured.Unstructured) { delete(o.Object, "status") },
			"Progressing", []string{"Waiting for Crossplane"},
		},
		"NothingThere":  {"Nothing is there yet.", "smallest/1-nothing-observed", nil, "Progressing", []string{"Waiting for namespace"}},
		"VirtualNext":   {"The virtual cluster comes.", "smallest/2-namespace-created", nil, "Progressing", []string{"Installing chart vcluster"}},
		"ArgoCDNext":    {"Argo CD comes.", "smallest/3-vcluster-up", nil, "Progressing", []string{"Installing chart argo-cd"}},
		"WorkloadsNext": {"Argo CD starts.", "smallest/4-argocd-installed", nil, "Progressing", []string{"Argo CD's workloads"}},
		"Ready":         {"All is well.", "smallest/5-ready", nil, "Healthy", []string{"Argo CD is ready"}},
		"Degraded":      {"A workload of Argo CD has failed.", "smallest/6-degraded", nil, "Degraded", []string{"Deployment argocd-server is not fully available"}},
		"PartsBroken": {
			"Argo CD runs, and two of its parts wait for somebody.", "everything/5-ready", nil,
			"Degraded", []string{"Cluster staging: Secret staging-missing in namespace team-a does not exist: create it; Credential template registry: Secret registry in namespace team-a: key pasword is unknown"},
		},
		"MovedWithPartsBroken": {
			"It is back on another host: others wait for its place.", "everything/5-ready",
			func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{"virtualargocd.io/moving": "true"})
				say(t, o, v1alpha1.ConditionRestored, "True", v1alpha1.ReasonAvailable, "is restored")
			},
			"Healthy", []string{"Argo CD is ready", "Cluster staging: Secret staging-missing"},
		},
		"MovedAndNotBack": {
			"It has no backup.", "everything/5-ready",
			func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{"virtualargocd.io/moving": "true"})
				say(t, o, v1alpha1.ConditionRestored, "False", v1alpha1.ReasonRestoreFailed, "has no backup")
			},
			"Degraded", []string{"has no backup"},
		},
		"PartsBrokenFromTheStart": {
			"Somebody has to create a Secret, whether or not Argo CD runs by then.", "everything/1-nothing-observed", nil,
			"Degraded", []string{"create it"},
		},
		"Unusable": {
			"A claim that can't be used leaves what runs as it was.", "smallest/5-ready",
			func(o *unstructured.Unstructured) {
				say(t, o, claim.SpecAccepted, "False", v1alpha1.ReasonInvalidSpec, unusable)
			},
			"Degraded", []string{unusable},
		},
		"NotApplied": {
			"Crossplane can't do what it should.", "smallest/5-ready",
			func(o *unstructured.Unstructured) {
				say(t, o, claim.Synced, "False", "ReconcileError", "cannot apply composite resource")
			},
			"Degraded", []string{"cannot apply composite resource"},
		},
		"NoFunction": {
			"Nobody has said anything of it but Crossplane.", "smallest/5-ready",
			func(o *unstructured.Unstructured) {
				set(t, o, map[string]any{}, "status")
				say(t, o, claim.Synced, "True", "ReconcileSuccess", "")
				say(t, o, claim.Ready, "False", "Waiting", "Claim is waiting for composite resource to become Ready")
			},
			"Progressing", []string{"Claim is waiting"},
		},
		"Paused": {
			"Somebody has paused it, broken as it is.", "everything/5-ready",
			func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{pausedBy: "true"})
				say(t, o, claim.Synced, "False", "ReconcilePaused", "paused")
			},
			"Suspended", []string{pausedBy},
		},
		"PausedNoMore": {
			"The annotation says so.", "smallest/5-ready",
			func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{pausedBy: "false"}) },
			"Healthy", []string{"Argo CD is ready"},
		},
		"ChangeIsRolledOut": {
			"Until a change is rolled out the tenant isn't ready, and nobody has to do anything.", "smallest/6-degraded",
			func(o *unstructured.Unstructured) {
				say(t, o, claim.ArgoCDReady, "False", v1alpha1.ReasonInstalling, "Rolling out a change of chart argo-cd 10.1.1")
				set(t, o, string(v1alpha1.PhaseUpdating), "status", "phase")
			},
			"Progressing", []string{"Rolling out a change"},
		},
		"LostNamespace": {
			"What was there and is gone is not waited for as if it came by itself.", "smallest/6-degraded",
			func(o *unstructured.Unstructured) {
				say(t, o, claim.ArgoCDReady, "True", v1alpha1.ReasonAvailable, "")
				say(t, o, claim.VirtualClusterReady, "False", v1alpha1.ReasonWaitingForNamespace, "Waiting for the namespace")
				set(t, o, "Waiting for the namespace", "status", "message")
			},
			"Degraded", []string{"Waiting for the namespace"},
		},
		"ChangeNotSeen": {
			"What is said is about the claim as it was before the last sync.", "smallest/5-ready",
			func(o *unstructured.Unstructured) {
				say(t, o, claim.Synced, "True", "ReconcileSuccess", "")
				o.SetGeneration(2)
			},
			"Progressing", []string{"Waiting for Crossplane"},
		},
		"SyncedByPeople": {
			"An Application that is left to people to sync holds nothing up.", "smallest/5-ready",
			func(o *unstructured.Unstructured) {
				set(t, o, false, "spec", "bootstrap", "syncPolicy", "automated", "enabled")
				say(t, o, claim.BootstrapSynced, "False", v1alpha1.ReasonOutOfSync, "Application bootstrap is not synced")
				set(t, o, "Argo CD is ready, but these conditions are False: BootstrapSynced", "status", "message")
			},
			"Healthy", []string{"these conditions are False: BootstrapSynced"},
		},
		"BeingDeleted": {
			"Argo CD has an answer of its own.", "everything/5-ready",
			func(o *unstructured.Unstructured) { set(t, o, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp") },
			"Progressing", []string{"Pending deletion"},
		},
	}
	for name, tc := range cases {
		for _, kind := range []string{claim.GVK.Kind, "X" + claim.GVK.Kind} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				o := tenantAt(t, tc.stage, kind)
				if tc.change != nil {
					tc.change(o)
				}
				status, message := settings.Health(t.Context(), t, o)
				if status != tc.status {
					t.Errorf("\n%s\nwant %s, got %s: %s", tc.reason, tc.status, status, message)
				}
				for _, want := range tc.message {
					if strings.Count(message, want) != 1 {
						t.Errorf("\n%s\nwant a message that says once %q, got %q", tc.reason, want, message)
					}
				}
			})
		}
	}
}

// TestHealthOfEachReason asks about each reason that the function can give: a new one has to be decided upon.
func TestHealthOfEachReason(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	const healthy, suspended, progressing, degraded = "Healthy", "Suspended", "Progressing", "Degraded"
	cases := map[string]struct{ condition, status, want string }{
		v1alpha1.ReasonAvailable:                {claim.ArgoCDReady, "True", healthy},
		v1alpha1.ReasonInstalling:               {claim.ArgoCDReady, "False", progressing},
		v1alpha1.ReasonPoliciesMissing:          {claim.VirtualClusterReady, "False", degraded},
		v1alpha1.ReasonResolverMissing:          {claim.VirtualClusterReady, "False", degraded},
		v1alpha1.ReasonKubeconfigInvalid:        {claim.VirtualClusterReady, "False", degraded},
		v1alpha1.ReasonInstallFailed:            {claim.VirtualClusterReady, "False", degraded},
		v1alpha1.ReasonPodsCannotStart:          {claim.ArgoCDReady, "False", degraded},
		v1alpha1.ReasonWaitingForNamespace:      {claim.VirtualClusterReady, "False", progressing},
		v1alpha1.ReasonWaitingForVirtualCluster: {claim.ArgoCDReady, "False", progressing},
		v1alpha1.ReasonWaitingForWorkloads:      {claim.ArgoCDReady, "False", progressing},
		v1alpha1.ReasonWaitingForPassword:       {claim.ArgoCDReady, "False", progressing},
		v1alpha1.ReasonWorkloadsUnavailable:     {claim.ArgoCDReady, "False", degraded},
		v1alpha1.ReasonDrifted:                  {claim.ArgoCDReady, "False", degraded},
		v1alpha1.ReasonRepairGaveUp:             {claim.ArgoCDReady, "False", degraded},
		v1alpha1.ReasonWaitingForArgoCD:         {claim.SSOReady, "False", progressing},
		v1alpha1.ReasonSecretMissing:            {claim.ClustersConnected, "False", degraded},
		v1alpha1.ReasonSecretInvalid:            {claim.RepositoriesConnected, "False", degraded},
		v1alpha1.ReasonConnectionFailed:         {claim.SSOReady, "False", degraded},
		v1alpha1.ReasonWaitingForAgent:          {claim.ClustersConnected, "False", degraded},
		v1alpha1.ReasonAgentLost:                {claim.ClustersConnected, "False", degraded},
		v1alpha1.ReasonConfigured:               {claim.ClustersConnected, "Unknown", healthy},
		v1alpha1.ReasonNoBackup:                 {v1alpha1.ConditionBackedUp, "False", degraded},
		v1alpha1.ReasonScheduled:                {v1alpha1.ConditionBackedUp, "Unknown", healthy},
		v1alpha1.ReasonRestoring:                {v1alpha1.ConditionRestored, "False", progressing},
		v1alpha1.ReasonRemoving:                 {v1alpha1.ConditionComponentsReady, "False", progressing},
		v1alpha1.ReasonRestoreFailed:            {v1alpha1.ConditionRestored, "False", degraded},
		v1alpha1.ReasonInactive:                 {v1alpha1.ConditionRestored, "False", suspended},
		v1alpha1.ReasonHibernated:               {claim.ArgoCDReady, "False", suspended},
		v1alpha1.ReasonPasswordNotRotated:       {claim.AccountsReady, "False", degraded},
		v1alpha1.ReasonApplicationFailed:        {claim.BootstrapSynced, "False", degraded},
		v1alpha1.ReasonOutOfSync:                {claim.BootstrapSynced, "False", progressing},
		v1alpha1.ReasonProgressing:              {claim.BootstrapSynced, "False", progressing},
		v1alpha1.ReasonSuspended:                {claim.BootstrapSynced, "False", healthy},
		v1alpha1.ReasonUnhealthy:                {claim.BootstrapSynced, "False", degraded},
		v1alpha1.ReasonHostTaken:                {v1alpha1.ConditionIngressReady, "False", degraded},
		v1alpha1.ReasonTooManyHosts:             {v1alpha1.ConditionIngressReady, "False", degraded},
		v1alpha1.ReasonCertificateInvalid:       {v1alpha1.ConditionIngressReady, "False", degraded},
		v1alpha1.ReasonIngressRefused:           {v1alpha1.ConditionIngressReady, "False", degraded},
		v1alpha1.ReasonRouteRefused:             {v1alpha1.ConditionIngressReady, "False", degraded},
		v1alpha1.ReasonWaitingForHost:           {v1alpha1.ConditionIngressReady, "False", progressing},
		v1alpha1.ReasonWaitingForAddress:        {v1alpha1.ConditionIngressReady, "False", progressing},
		v1alpha1.ReasonNotInSpec:                {claim.ClustersConnected, "True", healthy},
		v1alpha1.ReasonAccepted:                 {claim.SpecAccepted, "True", healthy},
		v1alpha1.ReasonUnusedValues:             {claim.SpecAccepted, "True", healthy},
		v1alpha1.ReasonInvalidSpec:              {claim.SpecAccepted, "False", degraded},
		v1alpha1.ReasonInvalidPlan:              {claim.SpecAccepted, "False", degraded},
		v1alpha1.ReasonInvalidChannel:           {claim.SpecAccepted, "False", degraded},
		v1alpha1.ReasonInvalidInput:             {claim.SpecAccepted, "False", degraded},
		v1alpha1.ReasonUpgradeFailed:            {claim.SpecAccepted, "False", degraded},
		v1alpha1.ReasonClaimExists:              {v1alpha1.ConditionTenantBound, "False", healthy},
		v1alpha1.ReasonSeveralTenants:           {v1alpha1.ConditionTenantBound, "False", degraded},
		v1alpha1.ReasonNameTaken:                {v1alpha1.ConditionTenantBound, "False", degraded},
		v1alpha1.ReasonTenantLeft:               {v1alpha1.ConditionTenantBound, "False", healthy},
		v1alpha1.ReasonTenantGoes:               {v1alpha1.ConditionTenantBound, "False", progressing},
		v1alpha1.ReasonWaitingForTenant:         {v1alpha1.ConditionTenantBound, "False", progressing},
		v1alpha1.ReasonTakingSpare:              {v1alpha1.ConditionTenantBound, "False", progressing},
		v1alpha1.ReasonNotWritten:               {v1alpha1.ConditionTenantBound, "False", degraded},
		v1alpha1.ReasonFieldsRemain:             {v1alpha1.ConditionTenantBound, "False", degraded},
		v1alpha1.ReasonSecretTaken:              {v1alpha1.ConditionTenantBound, "False", degraded},
		// Of a pool.
		v1alpha1.ReasonFilling: {v1alpha1.ConditionPoolFull, "False", healthy},
	}
	known := map[string]bool{}
	for _, reason := range reasons(t) {
		known[reason] = true
		tc, ok := cases[reason]
		if !ok {
			t.Errorf("reason %s isn't decided upon: add it here and to %s", reason, hostSettings)
			continue
		}
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			const what = "what there is to say"
			o := tenantAt(t, "smallest/5-ready", claim.GVK.Kind)
			say(t, o, tc.condition, tc.status, reason, what)
			// Argo CD syncs: what people sync waits for them.
			set(t, o, map[string]any{"prune": true, "selfHeal": true}, "status", "bootstrap", "automated")
			if core := tc.condition == claim.ArgoCDReady || tc.condition == claim.VirtualClusterReady; core && tc.status == "False" {
				phase := v1alpha1.PhaseProvisioning
				if reason == v1alpha1.ReasonHibernated {
					phase = v1alpha1.PhaseHibernated
					set(t, o, what, "status", "message")
				}
				set(t, o, string(phase), "status", "phase")
				say(t, o, claim.Ready, "False", "Waiting", "")
			}
			status, message := settings.Health(t.Context(), t, o)
			if status != tc.want || tc.want != healthy && message != what {
				t.Errorf("want %s with the condition's message, got %s: %s", tc.want, status, message)
			}
		})
	}
	for reason := range cases {
		if !known[reason] {
			t.Errorf("there is no reason %s", reason)
		}
	}
}

// reasons are the values of the API's constants for reasons.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../apis/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, value)
		return true
	})
	return out
}

// TestHealthOfChannels asks about a channel in each of its states, as the function writes it.
func TestHealthOfChannels(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	const all = "all 1 tenants have revision 1"
	cases := map[string]struct {
		reason  string
		change  func(o *unstructured.Unstructured)
		status  string
		message string
	}{
		"Complete": {"Every tenant has the offer.", nil, "Healthy", all},
		"Fresh": {"Crossplane has not looked yet.", func(o *unstructured.Unstructured) { delete(o.Object, "status") },
			"Progressing", "Waiting for Crossplane"},
		"NoFunction": {"Nobody has said anything of it but Crossplane.", func(o *unstructured.Unstructured) {
			set(t, o, map[string]any{}, "status")
			say(t, o, claim.Synced, "True", "ReconcileSuccess", "")
		}, "Progressing", "Waiting for Crossplane"},
		"ChangeNotSeen": {"What is said is about the offer before the last sync.", func(o *unstructured.Unstructured) {
			say(t, o, claim.Synced, "True", "ReconcileSuccess", "")
			o.SetGeneration(2)
		}, "Progressing", "Waiting for Crossplane"},
		"RollingOut": {"Tenants change.", func(o *unstructured.Unstructured) {
			say(t, o, v1alpha1.ConditionComplete, "False", v1alpha1.ReasonIncomplete, "1 of 9 tenants have revision 1")
			say(t, o, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonUpdatingTenants, "step 1 of 4, 1 percent: updating or admitted: acme/shop")
		}, "Progressing", "acme/shop"},
		"Waits": {"Tenants wait for their maintenance windows.", func(o *unstructured.Unstructured) {
			say(t, o, v1alpha1.ConditionComplete, "False", v1alpha1.ReasonIncomplete, "8 of 9 tenants have revision 1")
			say(t, o, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonWaitingForTenants, "wait for their maintenance windows: acme/shop")
		}, "Progressing", "wait for their maintenance windows: acme/shop"},
		"Paused": {"The platform has paused it.", func(o *unstructured.Unstructured) {
			set(t, o, true, "spec", "paused")
			say(t, o, v1alpha1.ConditionComplete, "False", v1alpha1.ReasonIncomplete, "1 of 9 tenants have revision 1")
			say(t, o, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonPaused, "paused: set spec.paused to false to go on")
		}, "Suspended", "set spec.paused to false"},
		"PausedByAnnotation": {"Somebody keeps Crossplane from it.", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{pausedBy: "true"})
		}, "Suspended", pausedBy},
		"Halted": {"Too many are broken, also where it is paused.", func(o *unstructured.Unstructured) {
			set(t, o, true, "spec", "paused")
			say(t, o, v1alpha1.ConditionHalted, "True", v1alpha1.ReasonTenantsFailed, "acme/shop (Degraded) broke: edit spec.offer")
			say(t, o, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonHalted, "halted since")
		}, "Degraded", "acme/shop (Degraded) broke"},
		"Unusable": {"It has a mistake, and tenants keep what they have.", func(o *unstructured.Unstructured) {
			say(t, o, claim.SpecAccepted, "False", v1alpha1.ReasonInvalidSpec, "spec.offer.argocd.version: there is no such field")
		}, "Degraded", "there is no such field"},
		"NotApplied": {"Crossplane can't do what it should.", func(o *unstructured.Unstructured) {
			say(t, o, claim.Synced, "False", "ReconcileError", "received message larger than max")
		}, "Degraded", "larger than max"},
		"NoTenants": {"It waits for tenants, which may never come.", func(o *unstructured.Unstructured) {
			say(t, o, v1alpha1.ConditionComplete, "False", v1alpha1.ReasonIncomplete, "0 of 0 tenants have revision 1")
			say(t, o, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonNoTenants, "the channel has no tenants any more")
		}, "Suspended", "no tenants any more"},
		"LastStep": {"As many have the offer as the platform wants.", func(o *unstructured.Unstructured) {
			say(t, o, v1alpha1.ConditionComplete, "False", v1alpha1.ReasonLastStep, "5 of 9 tenants have revision 1")
			say(t, o, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonLastStep, "this is the last step: add a step of 100 percent to spec.rollout.steps to go on")
		}, "Healthy", "this is the last step"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := objectAt(t, "channel/3-one-tenant", v1alpha1.ChannelKind)
			if tc.change != nil {
				tc.change(o)
			}
			status, message := settings.Health(t.Context(), t, o)
			if status != tc.status || strings.Count(message, tc.message) != 1 {
				t.Errorf("\n%s\nwant %s with %q, got %s: %s", tc.reason, tc.status, tc.message, status, message)
			}
		})
	}
}

// TestHealthOfApplications asks the Argo CD on the host, and that of a customer whose settings are in the claim, about an
// Application that another one brings.
func TestHealthOfApplications(t *testing.T) {
	globex, err := claim.FromFile("../../examples/gitops/customers/globex/virtual-argocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cm, _, err := unstructured.NestedMap(globex.Object().Object, "spec", "argocd", "values", "configs", "cm")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "argocd-cm.yaml")
	content := marshal(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm"}, "data": cm,
	}})
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for where, file := range map[string]string{"the host": hostSettings, "globex": file} {
		settings := argocd.NewSettings(t, file)
		for want, status := range map[string]map[string]any{
			"Progressing": nil,
			"Degraded":    {"health": map[string]any{"status": "Degraded", "message": "Deployment web has failed"}},
			"Healthy":     {"health": map[string]any{"status": "Healthy"}},
		} {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "shop"}}}
			if status != nil {
				set(t, o, status, "status")
			}
			if got, message := settings.Health(t.Context(), t, o); got != want || want == "Degraded" && message != "Deployment web has failed" {
				t.Errorf("on %s: want %s, got %s: %s", where, want, got, message)
			}
		}
	}
}

// TestHealthOfChangedApplications asks about an Application whose version has been changed: what it says of the version before counts for nothing, since
// sync waves wait for it.
func TestHealthOfChangedApplications(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	source := func(version string) map[string]any {
		return map[string]any{"repoURL": "https://git.example.org/platform.git", "path": "packages", "targetRevision": version}
	}
	at := func(cell string) map[string]any {
		return map[string]any{"name": cell, "namespace": "crossplane-system"}
	}
	compared := func(version, status string) map[string]any {
		return map[string]any{"status": status, "comparedTo": map[string]any{"source": source(version), "destination": at("cell-1")}}
	}
	elsewhere := compared("v2", "Synced")
	elsewhere["comparedTo"].(map[string]any)["destination"] = at("cell-2") //nolint:forcetypeassert // It was made above.
	operation := func(version, phase string) map[string]any {
		return map[string]any{"phase": phase, "message": "what it did", "syncResult": map[string]any{"source": source(version), "revision": "c0ffee"}}
	}
	cases := map[string]struct {
		reason          string
		sync, operation map[string]any
		want, message   string
	}{
		"New":           {"Nobody has looked at it.", nil, nil, "Progressing", "compare it"},
		"NotCompared":   {"Argo CD hasn't looked since the change.", compared("v1", "Synced"), operation("v1", "Succeeded"), "Progressing", "compare it"},
		"Elsewhere":     {"It is to be in another cluster now.", elsewhere, operation("v2", "Succeeded"), "Progressing", "compare it"},
		"NotSynced":     {"The last sync was of the version before.", compared("v2", "OutOfSync"), operation("v1", "Succeeded"), "Progressing", "isn't synced"},
		"IsSynced":      {"Hooks come after everything is synced.", compared("v2", "Synced"), operation("v2", "Running"), "Progressing", "what it did"},
		"Failed":        {"A hook has failed: what is there may be healthy.", compared("v2", "Synced"), operation("v2", "Failed"), "Degraded", "what it did"},
		"FailedBefore":  {"The version before failed, and this one is to be synced.", compared("v2", "OutOfSync"), operation("v1", "Failed"), "Progressing", "isn't synced"},
		"Done":          {"This version is what runs.", compared("v2", "Synced"), operation("v2", "Succeeded"), "Healthy", ""},
		"NothingToDo":   {"Both versions have the same manifests.", compared("v2", "Synced"), operation("v1", "Succeeded"), "Healthy", ""},
		"LeftSomething": {"What this version no longer has isn't pruned.", compared("v2", "OutOfSync"), operation("v2", "Succeeded"), "Healthy", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "packages"},
				"spec": map[string]any{"source": source("v2"), "destination": at("cell-1")}, "status": map[string]any{"health": map[string]any{"status": "Healthy"}},
			}}
			for field, value := range map[string]map[string]any{"sync": tc.sync, "operationState": tc.operation} {
				if value != nil {
					set(t, o, value, "status", field)
				}
			}
			if got, message := settings.Health(t.Context(), t, o); got != tc.want || !strings.Contains(message, tc.message) {
				t.Errorf("\n%s\nwant %s with %q, got %s: %s", tc.reason, tc.want, tc.message, got, message)
			}
		})
	}
}

// TestActionsOnTheHost asks for the actions that Argo CD offers, and does them.
func TestActionsOnTheHost(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	const requested = "crossplane.io/reconcile-requested-at"
	mine := map[string]string{"example.org/mine": "stays"}
	paused := map[string]string{"example.org/mine": "stays", pausedBy: "true"}
	cases := map[string]struct {
		reason string
		before map[string]string
		offers []string
		act    string
		after  map[string]string
	}{
		"Pause":              {"A claim in Git seldom has annotations.", nil, []string{"pause", "reconcile"}, "pause", map[string]string{pausedBy: "true"}},
		"PauseBesideOthers":  {"What others have annotated stays.", mine, []string{"pause", "reconcile"}, "pause", paused},
		"Resume":             {"What is paused can be resumed, and nothing else.", paused, []string{"resume"}, "resume", mine},
		"ResumeWithNoOthers": {"Nothing is left then.", map[string]string{pausedBy: "true"}, []string{"resume"}, "resume", nil},
		"Reconcile":          {"The time makes each request another.", mine, []string{"pause", "reconcile"}, "reconcile", map[string]string{"example.org/mine": "stays", requested: ""}},
	}
	for name, tc := range cases {
		for _, kind := range []string{claim.GVK.Kind, "X" + claim.GVK.Kind} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				o := tenantAt(t, "everything/5-ready", kind)
				o.SetAnnotations(tc.before)
				if diff := cmp.Diff(tc.offers, settings.Actions(t.Context(), t, o)); diff != "" {
					t.Errorf("\n%s\nactions: -want, +got:\n%s", tc.reason, diff)
				}
				got := settings.Act(t.Context(), t, o, tc.act)
				annotations := got.GetAnnotations()
				if at, ok := annotations[requested]; ok {
					if when, err := time.Parse(time.RFC3339, at); err != nil || time.Since(when).Abs() > time.Minute {
						t.Errorf("a request of now is of %q: %v", at, err)
					}
					annotations[requested] = ""
				}
				if len(annotations) == 0 {
					annotations = nil
				}
				if diff := cmp.Diff(tc.after, annotations); diff != "" {
					t.Errorf("\n%s\nannotations: -want, +got:\n%s", tc.reason, diff)
				}
				for _, one := range []*unstructured.Unstructured{o, got} {
					unstructured.RemoveNestedField(one.Object, "metadata", "annotations")
				}
				if diff := cmp.Diff(marshal(t, o), marshal(t, got)); diff != "" {
					t.Errorf("%s changes more than an annotation: -before, +after:\n%s", tc.act, diff)
				}
			})
		}
	}
}

func marshal(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	data, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHealthOfPackages asks about what must be there before claims are.
func TestHealthOfPackages(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	cases := map[string]struct {
		reason     string
		conditions map[string]string
		status     string
		message    string
	}{
		"Fresh":        {"Crossplane has not looked yet.", nil, "Progressing", "Waiting for the package"},
		"Installed":    {"It is there, and doesn't run yet.", map[string]string{"Installed": "True"}, "Progressing", "Waiting for the package"},
		"Healthy":      {"It is there and runs.", map[string]string{"Installed": "True", "Healthy": "True"}, "Healthy", ""},
		"NotInstalled": {"It can't be had.", map[string]string{"Installed": "False"}, "Degraded", "Installed is False"},
		"Unhealthy":    {"It has failed.", map[string]string{"Installed": "True", "Healthy": "False"}, "Degraded", "Healthy is False"},
		"NotYet":       {"It is being installed.", map[string]string{"Installed": "False now"}, "Progressing", "Installed is False"},
		"NotYetRuns":   {"It is being upgraded.", map[string]string{"Installed": "True", "Healthy": "False now"}, "Progressing", "Healthy is False"},
		"OfARevision":  {"Revisions have a condition of another name.", map[string]string{"RevisionHealthy": "False"}, "Degraded", "RevisionHealthy is False"},
	}
	for name, tc := range cases {
		kinds := []string{"Configuration"}
		if name == "NotInstalled" {
			kinds = append(kinds, "Function", "Provider", "ConfigurationRevision", "FunctionRevision", "ProviderRevision")
		}
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				o := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "pkg.crossplane.io/v1", "kind": kind, "metadata": map[string]any{"name": "virtual-argocd"},
					"spec": map[string]any{"package": "xpkg.crossplane.io/virtual-argocd/virtual-argocd:v0.3.0"},
				}}
				for condition, value := range tc.conditions {
					value, now, _ := strings.Cut(value, " ")
					say(t, o, condition, value, "Because", condition+" is "+value)
					if now != "" {
						since(t, o, condition, time.Now())
					} else {
						since(t, o, condition, time.Now().Add(-6*time.Minute))
					}
				}
				status, message := settings.Health(t.Context(), t, o)
				if status != tc.status || !strings.Contains(message, tc.message) {
					t.Errorf("\n%s\nwant %s: %q, got %s: %q", tc.reason, tc.status, tc.message, status, message)
				}
			})
		}
	}
}

// TestHealthOfUpgradedPackages asks about a package whose version has been changed a moment ago: its conditions are about the one before.
func TestHealthOfUpgradedPackages(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	const source = "xpkg.crossplane.io/virtual-argocd/virtual-argocd:"
	for installed, want := range map[string]string{"v0.3.0": "Progressing", "v0.4.0": "Healthy"} {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": map[string]any{"name": "virtual-argocd"},
			"spec": map[string]any{"package": source + "v0.4.0"}, "status": map[string]any{"currentIdentifier": source + installed},
		}}
		for _, condition := range []string{"Installed", "Healthy"} {
			say(t, o, condition, "True", "Because", "")
			since(t, o, condition, time.Now().Add(-time.Hour))
		}
		if got, message := settings.Health(t.Context(), t, o); got != want || want == "Progressing" && !strings.Contains(message, source+"v0.4.0") {
			t.Errorf("installed is %s: want %s, got %s: %s", installed, want, got, message)
		}
	}
}

// TestHealthOfPlans asks Argo CD's own engine what it makes of a plan.
func TestHealthOfPlans(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	for status, want := range map[string]string{"": "Progressing", "True": "Healthy", "False": "Degraded"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.PlanKind, "metadata": map[string]any{"name": "small"}}}
		if status != "" {
			say(t, o, v1alpha1.ConditionSpecAccepted, status, "Any", "spec.quota: why")
		}
		if got, message := settings.Health(t.Context(), t, o); got != want || status != "" && message != "spec.quota: why" {
			t.Errorf("SpecAccepted %q: want %s, got %s: %s", status, want, got, message)
		}
	}
}

// TestHealthOfPools asks Argo CD's own engine what it makes of a pool.
func TestHealthOfPools(t *testing.T) {
	settings := argocd.NewSettings(t, hostSettings)
	for name, tc := range map[string]struct{ accepted, full, reason, want string }{
		"New":         {"", "", "", "Progressing"},
		"Filling":     {"True", "False", v1alpha1.ReasonFilling, "Healthy"},
		"Full":        {"True", "True", v1alpha1.ReasonAvailable, "Healthy"},
		"Refused":     {"False", "False", v1alpha1.ReasonFilling, "Degraded"},
		"NotWritten":  {"True", "False", v1alpha1.ReasonNotWritten, "Degraded"},
		"Unprotected": {"True", "False", v1alpha1.ReasonPoliciesMissing, "Degraded"},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.PoolKind, "metadata": map[string]any{"name": "small"}}}
		if tc.accepted != "" {
			say(t, o, v1alpha1.ConditionSpecAccepted, tc.accepted, "Any", "why")
			say(t, o, v1alpha1.ConditionPoolFull, tc.full, tc.reason, "why")
		}
		if got, message := settings.Health(t.Context(), t, o); got != tc.want || tc.accepted != "" && message != "why" {
			t.Errorf("%s: want %s, got %s: %s", name, tc.want, got, message)
		}
	}
}
