package argocd_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestConnectionsSeen: conditions and states say what Argo CD was seen to connect to, and Ready doesn't depend on it.
func TestConnectionsSeen(t *testing.T) {
	const (
		prod   = "https://203.0.113.7:6443"
		repo   = "https://git.example.org/apps"
		hidden = "secret-password-1"
	)
	cluster, repository, signOn := proxy.ClusterKey(prod), proxy.RepositoryKey(repo), proxy.SignOnKey("", false)
	unseen := []proxy.Connection{{Key: cluster}, {Key: repository}, {Key: signOn}}
	type state struct {
		Status          fnv1.Status
		Reason, Message string
	}
	const (
		yes, no, unknown = fnv1.Status_STATUS_CONDITION_TRUE, fnv1.Status_STATUS_CONDITION_FALSE, fnv1.Status_STATUS_CONDITION_UNKNOWN
		redirect         = "; its redirect URL is "
		asks             = "; it asks for the scope groups: if signing on fails with invalid_scope, add that scope at the provider, or write spec.sso.oidc.scopes without it"
	)
	cases := map[string]struct {
		reason                        string
		seen                          []proxy.Connection
		cluster, repository, signOn   state
		clusterState, repositoryState string
		message                       string
	}{
		"Nothing": {"Nobody has seen anything yet.", unseen,
			state{unknown, "Configured", "Argo CD has the credentials of every cluster, and hasn't been seen to connect yet to prod: it does once an Application uses it"},
			state{unknown, "Configured", "Argo CD has the credentials of every repository, and hasn't been seen to connect yet to apps: it does once an Application uses it; what it reads for ApplicationSets isn't seen"},
			state{unknown, "Configured", "Argo CD is to sign people on with SSO, and hasn't been seen to send somebody there yet" + asks + redirect},
			"Configured", "Configured", "Argo CD is ready"},
		"All": {"All is connected.", nil,
			state{yes, "Available", "Argo CD is connected to every cluster"}, state{yes, "Available", "Argo CD is connected to every repository"}, state{yes, "Available", "Argo CD sends people to SSO, whose discovery document it read when it started or its settings changed; it doesn't look there again" + asks + redirect},
			"Connected", "Connected", "Argo CD is ready"},
		"None": {"All of it fails. What is a secret isn't shown.", []proxy.Connection{{Key: cluster, Message: "dial tcp: connection refused"}, {Key: repository, Message: "authentication required for " + hidden}, {Key: signOn, Message: "failed to query provider"}},
			state{no, "ConnectionFailed", "Cluster prod: dial tcp: connection refused"}, state{no, "ConnectionFailed", "Repository apps: authentication required for [redacted]"},
			state{no, "ConnectionFailed", "Argo CD can't send people to SSO: failed to query provider"},
			"Failed", "Failed", "Argo CD is ready, but these conditions are False: ClustersConnected, RepositoriesConnected, SSOReady"},
	}
	e := crossplanetest.New(t, `{"clusters":[{"name":"prod","secretRef":{"name":"prod"}}],"repositories":[{"name":"apps","url":"`+repo+`","secretRef":{"name":"apps"}}],
		"credentialTemplates":[{"name":"all","url":"https://git.example.org","secretRef":{"name":"apps"}}],"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"argocd","enablePKCEAuthentication":true}}}`, "")
	e.AddSecret("prod", "Opaque", map[string]string{"server": prod, "config": `{"bearerToken":"tok-prod-1"}`})
	e.AddSecret("apps", "Opaque", map[string]string{"username": "u", "password": hidden})
	e.Install()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.Fork(t)
			e.SetConnections(tc.seen...)
			e.Reconcile()
			for typ, want := range map[string]state{v1alpha1.ConditionClustersConnected: tc.cluster, v1alpha1.ConditionRepositoriesConnected: tc.repository, v1alpha1.ConditionSSOReady: tc.signOn} {
				c := e.Condition(typ)
				message, _, cut := strings.Cut(c.GetMessage(), redirect)
				if cut {
					message += redirect
				}
				if diff := cmp.Diff(want, state{c.GetStatus(), c.GetReason(), message}); diff != "" {
					t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, typ, diff)
				}
			}
			clusters, _ := e.StatusList("clusters")[0].(map[string]any)
			repositories := e.StatusList("repositories")
			first, _ := repositories[0].(map[string]any)
			template, _ := repositories[1].(map[string]any)
			if clusters["state"] != tc.clusterState || first["state"] != tc.repositoryState || template["state"] != "Configured" {
				t.Errorf("\n%s\nstates: %v, %v", tc.reason, clusters, repositories)
			}
			if e.Status("phase") != "Ready" || e.Status("message") != tc.message {
				t.Errorf("\n%s\nphase %s, message %q, want %q", tc.reason, e.Status("phase"), e.Status("message"), tc.message)
			}
		})
	}
}

// TestConnectionsNotObserved: what can't be observed now, or was observed of an earlier spec, isn't taken for what is.
func TestConnectionsNotObserved(t *testing.T) {
	e := crossplanetest.New(t, `{"repositories":[{"name":"apps","url":"https://git.example.org/apps"}]}`, "")
	e.Install()
	is := func() string { return e.Condition(v1alpha1.ConditionRepositoriesConnected).GetReason() }
	if is() != v1alpha1.ReasonAvailable {
		t.Fatalf("it isn't connected: %s", is())
	}
	crossplanetest.SetCondition(e.Observed(tenant.Connections), "Synced", "False", "ReconcileError", "observe failed")
	if e.Reconcile(); is() != v1alpha1.ReasonConfigured || e.Status("phase") != "Ready" {
		t.Errorf("not observed: %s, %s", is(), e.Status("phase"))
	}
	crossplanetest.SetCondition(e.Observed(tenant.Connections), "Synced", "True", "ReconcileSuccess", "")
	e.SetSpec(`{"repositories":[{"name":"apps","url":"https://git.example.org/others"}]}`)
	if e.Reconcile(); is() != v1alpha1.ReasonConfigured {
		t.Errorf("another URL: %s", is())
	}
	// Without repositories there is nothing to observe.
	e.SetSpec(`{}`)
	if e.Cycle(2); e.Has(tenant.Connections) {
		t.Error("connections are observed of a tenant without any")
	}
}
