package main

import (
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

func TestBootstrap(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		want   map[string]any
	}{
		"Smallest": {
			"The whole repository, synced automatically.",
			`{"repoURL":"https://git.example.org/apps"}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
			},
		},
		"Everything": {
			"A folder of a tag.",
			`{"repoURL":"git@git.example.org:apps","path":"customers/acme","targetRevision":"v1","project":"acme","syncPolicy":{"automated":{"prune":false,"enabled":true},"syncOptions":["CreateNamespace=true"]}}`,
			map[string]any{
				"project": "acme", "source": map[string]any{"repoURL": "git@git.example.org:apps", "path": "customers/acme", "targetRevision": "v1"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": false, "selfHeal": true}, "syncOptions": []any{"CreateNamespace=true"}},
			},
		},
		"ByHand": {
			"People sync it.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":{"enabled":false}}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
			},
		},
		"Nulls": {
			"An empty object is as good as none.",
			`{"repoURL":"https://git.example.org/apps","syncPolicy":{"automated":null,"syncOptions":null}}`,
			map[string]any{
				"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/apps", "path": ".", "targetRevision": "HEAD"},
				"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
				"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"bootstrap":`+tc.spec+`}`), "").install()
			o := e.observed(tenant.Bootstrap)
			m := field(o, "spec", "forProvider", "manifest").AsMap()
			if m["kind"] != "Application" || !cmp.Equal(m["metadata"], map[string]any{"name": "bootstrap", "namespace": "argocd"}) {
				t.Errorf("\n%s\nmanifest: %v", tc.reason, m)
			}
			if diff := cmp.Diff(tc.want, m["spec"]); diff != "" {
				t.Errorf("\n%s\nspec of the Application: -want, +got:\n%s", tc.reason, diff)
			}
			policies := field(o, "spec").GetFields()["managementPolicies"].GetListValue().AsSlice()
			if slices.Contains(policies, "Delete") || slices.Contains(policies, "*") || len(policies) == 0 {
				t.Errorf("\n%s\nthe Application lives in the virtual cluster and must not be deleted there: %v", tc.reason, policies)
			}
			if got := field(e.xr(), "status", "bootstrap").AsMap(); !cmp.Equal(got, map[string]any{"health": "Healthy", "sync": "Synced", "revision": "0123abc"}) {
				t.Errorf("\n%s\nstatus.bootstrap: %v", tc.reason, got)
			}
		})
	}
}

// TestBootstrapComesLast: an Application needs Argo CD's own kinds.
func TestBootstrapComesLast(t *testing.T) {
	e := newEngine(t, tenantXR(`{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`), "")
	e.reconcile()
	e.begin()
	for range 3 {
		rsp := e.reconcile()
		if rsp.GetDesired().GetResources()[tenant.Bootstrap] != nil {
			t.Error("the Application is created before Argo CD is there")
		}
		if c := e.condition(v1alpha1.ConditionBootstrapSynced); c.GetReason() != v1alpha1.ReasonWaitingForArgoCD {
			t.Errorf("BootstrapSynced: %v", c)
		}
		e.heal()
	}
	if rsp := e.reconcile(); rsp.GetDesired().GetResources()[tenant.Bootstrap] == nil {
		t.Error("the Application isn't created once Argo CD is there")
	}
}

func TestBootstrapHealth(t *testing.T) {
	const inSync = `"sync":{"status":"Synced"}`
	cases := map[string]struct {
		reason  string
		breakIt func(e *engine)
		want    string
		message string
	}{
		"NotSeen": {
			"Argo CD has not looked yet.",
			func(e *engine) { e.setApplication(`{}`) },
			v1alpha1.ReasonWaitingForArgoCD, "Application bootstrap waits for Argo CD to compare it with Git",
		},
		"OutOfSync": {
			"What is in Git isn't there.",
			func(e *engine) { e.setApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"}}`) },
			v1alpha1.ReasonOutOfSync, "Application bootstrap is not synced (OutOfSync): Argo CD is to do that automatically",
		},
		"RepositoryNotReached": {
			"Argo CD can't read the repository.",
			func(e *engine) {
				e.setApplication(`{"sync":{"status":"Unknown"},"health":{"status":"Healthy"},"conditions":[{"type":"SharedResourceWarning","message":"other"},{"type":"ComparisonError","message":"authentication required"}]}`)
			},
			v1alpha1.ReasonApplicationFailed, "Application bootstrap has failed: authentication required",
		},
		"SyncFailed": {
			"A sync has failed.",
			func(e *engine) {
				e.setApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Missing"},"operationState":{"phase":"Failed","message":"one or more objects failed to apply"}}`)
			},
			v1alpha1.ReasonApplicationFailed, "one or more objects failed to apply",
		},
		"OldFailure": {
			"A failure that is over is no news.",
			func(e *engine) {
				e.setApplication(`{` + inSync + `,"health":{"status":"Healthy"},"operationState":{"phase":"Failed","message":"old"}}`)
			},
			v1alpha1.ReasonAvailable, "",
		},
		"Progressing": {
			"It is on its way.",
			func(e *engine) { e.setApplication(`{` + inSync + `,"health":{"status":"Progressing"}}`) },
			v1alpha1.ReasonProgressing, "",
		},
		"Degraded": {
			"Something in it is broken.",
			func(e *engine) { e.setApplication(`{` + inSync + `,"health":{"status":"Degraded"}}`) },
			v1alpha1.ReasonUnhealthy, "Application bootstrap is synced, and its health is Degraded: Argo CD shows what in it",
		},
		"Suspended": {
			"A CronJob that somebody has suspended is no fault.",
			func(e *engine) { e.setApplication(`{` + inSync + `,"health":{"status":"Suspended"}}`) },
			v1alpha1.ReasonSuspended, "is suspended until somebody resumes it",
		},
		"NotApplied": {
			"The virtual cluster refuses it.",
			func(e *engine) {
				setCondition(e.observed(tenant.Bootstrap), "Synced", "False", "ReconcileError", "no matches for kind Application")
			},
			v1alpha1.ReasonApplicationFailed, "no matches for kind",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`), "").install()
			tc.breakIt(e)
			e.reconcile()
			c := e.condition(v1alpha1.ConditionBootstrapSynced)
			if c.GetReason() != tc.want || !strings.Contains(c.GetMessage(), tc.message) || (c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE) != (tc.want == v1alpha1.ReasonAvailable) {
				t.Errorf("\n%s\nBootstrapSynced: want %s, %q, got %v", tc.reason, tc.want, tc.message, c)
			}
			if e.status("phase") != "Ready" || e.rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
				t.Errorf("\n%s\nthe tenant is %s: %s", tc.reason, e.status("phase"), e.status("message"))
			}
			events := len(e.events)
			if e.reconcile(); len(e.events) != events {
				t.Errorf("\n%s\nthe same news again: %v", tc.reason, e.events[events:])
			}
		})
	}
	// It goes from the composition with its part of the spec, and stays in Argo CD.
	e := newEngine(t, tenantXR(`{"bootstrap":{"repoURL":"https://git.example.org/apps"}}`), "").install()
	e.spec(`{}`)
	if rsp := e.reconcile(); rsp.GetDesired().GetResources()[tenant.Bootstrap] != nil || e.condition(v1alpha1.ConditionBootstrapSynced).GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("the part is gone from the spec: %v", e.condition(v1alpha1.ConditionBootstrapSynced))
	}
}

func TestRefusedBootstrap(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"NoURL":           {`{"path":"a"}`, []string{"spec.bootstrap.repoURL"}},
		"URLOfARegistry":  {`{"repoURL":"oci://a.b/c"}`, []string{"spec.bootstrap.repoURL", "oci://a.b/c", "https://"}},
		"PathAbsolute":    {`{"repoURL":"https://a.b/c","path":"/etc"}`, []string{"spec.bootstrap.path", "/etc"}},
		"PathOutside":     {`{"repoURL":"https://a.b/c","path":"a/../../b"}`, []string{"spec.bootstrap.path", "a/../../b"}},
		"ProjectNotAName": {`{"repoURL":"https://a.b/c","project":"A"}`, []string{"spec.bootstrap.project", `"A"`}},
		"OptionNotOne":    {`{"repoURL":"https://a.b/c","syncPolicy":{"syncOptions":["CreateNamespace"]}}`, []string{"spec.bootstrap.syncPolicy.syncOptions", "CreateNamespace=true"}},
		"PruneNotABool":   {`{"repoURL":"https://a.b/c","syncPolicy":{"automated":{"prune":"yes"}}}`, []string{"spec.bootstrap.syncPolicy.automated.prune", "true or false"}},
		"NotAnObject":     {`"https://a.b/c"`, []string{"spec.bootstrap", "an object"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tenantXR(`{"bootstrap":`+tc.spec+`}`), "", tc.want) })
	}
}
