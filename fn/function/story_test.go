package function_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestStory follows a tenant that has every part through its events: one for each
// transition of each part, but for waiting for another, and none while nothing
// changes.
func TestStory(t *testing.T) {
	const spec = `{"clusters":[{"name":"prod","secretRef":{"name":"prod"}}],"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"git"}}],` +
		`"bootstrap":{"repoURL":"https://git.example.org/apps"},"ingress":{"host":"argocd.example.org","className":"nginx"},"sso":{"oidc":{` + crossplanetest.OIDCSpec + `}}}`
	cert, key := crossplanetest.KeyPair()
	e := crossplanetest.New(t, spec, "")

	steps := []struct {
		reason string
		change func()
		want   []string
	}{
		{"A claim whose Secrets are still to be made.", func() {}, []string{
			"Normal WaitingForNamespace: Waiting for namespace vargo-customer1-7rw8j on the host, with its account and its bounds",
			"Warning SecretMissing: Cluster prod: Secret prod in namespace team-a does not exist: create it",
			"Warning SecretMissing: Repository apps: Secret git in namespace team-a does not exist: create it",
			"Warning SecretMissing: Client secret: Secret oidc in namespace team-a does not exist: create it",
		}},
		{"The namespace is there, with accounts and bounds.", e.AwaitVCluster, []string{"Normal Installing: Installing chart vcluster 0.36.1 with Kubernetes v1.36.0"}},
		{"The virtual cluster is there, and its kubeconfig written anew.", func() { e.RunProviders(); e.Reconcile() }, []string{
			"Normal Available: The virtual cluster runs",
			"Normal Installing: Installing chart argo-cd 10.1.1",
		}},
		{"The chart is installed.", e.RunProviders, []string{
			"Normal WaitingForWorkloads: Waiting to see Argo CD's workloads",
		}},
		{"Argo CD's API server runs, and has made a password.", e.RunProviders, []string{
			"Normal WaitingForPassword: Waiting for the initial password of user admin",
			"Normal Available: Application bootstrap is synced and healthy",
		}},
		{"Argo CD and what is in it are seen.", e.RunProviders, []string{
			"Normal Available: Every workload of Argo CD is available",
			"Normal Available: https://argocd.example.org is served at 192.0.2.1",
		}},
		{"A Secret is made, with a mistake in it.", func() { e.AddSecret("prod", "Opaque", map[string]string{"kubeconfig": "{"}) }, []string{
			"Warning SecretInvalid: Cluster prod: Secret prod in namespace team-a: key kubeconfig is not a kubeconfig: it can't be read as YAML; write what kubectl config view --flatten --minify prints",
		}},
		{"All Secrets are as they should be.", func() {
			e.AddSecret("prod", "Opaque", map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"client-certificate-data": crossplanetest.Base64(cert), "client-key-data": crossplanetest.Base64(key)}, map[string]any{"server": "https://203.0.113.7:6443"})})
			e.AddSecret("git", "kubernetes.io/basic-auth", map[string]string{"username": "argocd", "password": "not-a-password"})
			e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
		}, nil},
		{"Argo CD is seen to connect.", e.RunProviders, []string{
			"Normal Available: Argo CD is connected to every cluster",
			"Normal Available: Argo CD is connected to every repository",
			"Normal Available: Argo CD sends people to SSO, whose discovery document it read when it started or its settings changed; it doesn't look there again; it asks for the scope groups: if signing on fails with invalid_scope, add that scope at the provider, or write spec.sso.oidc.scopes without it; its redirect URL is https://argocd.example.org/auth/callback",
		}},
		{"A workload breaks.", func() { e.SetReplicas("argocd-server", 0) }, []string{
			"Warning WorkloadsUnavailable: Deployment argocd-server is not fully available, replicas wanted: 1",
		}},
		{"It recovers, and a sync fails.", func() {
			e.RunProviders()
			e.SetApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"},"operationState":{"phase":"Failed","message":"no such folder"}}`)
		}, []string{
			"Normal Available: Every workload of Argo CD is available",
			"Warning ApplicationFailed: Application bootstrap has failed: no such folder",
		}},
		{"It fails in another way: no other transition.", func() {
			e.SetApplication(`{"sync":{"status":"OutOfSync"},"health":{"status":"Healthy"},"operationState":{"phase":"Failed","message":"no such branch"}}`)
		}, nil},
		{"The Application is synced, and something in it breaks.", func() {
			e.SetApplication(`{"sync":{"status":"Synced"},"health":{"status":"Degraded"}}`)
		}, []string{
			"Warning Unhealthy: Application bootstrap is synced, and its health is Degraded: Argo CD shows what in it",
		}},
		{"The ingress controller takes its address away.", func() { e.SetIngress(`{"loadBalancer":{}}`) }, []string{
			"Normal WaitingForAddress: No ingress controller has given the Ingress for hostname argocd.example.org an address: one must serve class nginx, and publish where. If the host refuses the Ingress, its events in the virtual cluster say so",
		}},
		{"A Secret is deleted.", func() { delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/git") }, []string{
			"Warning SecretMissing: Repository apps: Secret git in namespace team-a does not exist: create it; what it gave before stays in use",
		}},
		{"The claim can't be used.", func() { e.SetSpec(`{"kubernetes":{"version":"v1.34.0"}}`) }, []string{
			"Warning InvalidSpec: spec.kubernetes.version: plan standard doesn't allow v1.34.0: write v1.36.0 (the platform's) or leave it out; the platform can list more in the plan, in versions.kubernetes",
		}},
		{"The parts are taken out of the claim.", func() { e.SetSpec(`{}`) }, []string{
			"Normal Accepted: The claim, its plan and the platform's input are in use",
			"Normal NotInSpec: The claim has no spec.clusters any more",
			"Normal NotInSpec: The claim has no spec.repositories or spec.credentialTemplates any more",
			"Normal NotInSpec: The claim has no spec.bootstrap any more",
			"Normal NotInSpec: The claim has no spec.ingress any more",
			"Normal NotInSpec: The claim has no spec.sso any more",
		}},
	}
	for _, s := range steps {
		s.change()
		e.Reconcile()
		if diff := cmp.Diff(s.want, crossplanetest.ClaimEvents(e.Response)); diff != "" {
			t.Errorf("\n%s\nevents: -want, +got:\n%s", s.reason, diff)
		}
		if e.Reconcile(); len(crossplanetest.ClaimEvents(e.Response)) > 0 {
			t.Errorf("\n%s\nnothing has changed since, and there are events: %v", s.reason, crossplanetest.ClaimEvents(e.Response))
		}
	}
	var order []string
	for _, c := range e.Response.GetConditions() {
		order = append(order, c.GetType())
	}
	// The claim never had these.
	never := []string{v1alpha1.ConditionSecretKeysReady, v1alpha1.ConditionAccountsReady, v1alpha1.ConditionNotificationsReady, v1alpha1.ConditionWebhooksReady,
		v1alpha1.ConditionImagePullSecretsReady, v1alpha1.ConditionBackedUp, v1alpha1.ConditionRestored, v1alpha1.ConditionComponentsReady}
	parts := slices.DeleteFunc(v1alpha1.OptionalConditions(), func(typ string) bool { return slices.Contains(never, typ) })
	if diff := cmp.Diff(slices.Concat([]string{v1alpha1.ConditionVirtualClusterReady, v1alpha1.ConditionArgoCDReady, v1alpha1.ConditionSpecAccepted, v1alpha1.ConditionHostProtected}, parts), order); diff != "" {
		t.Errorf("order of the conditions: -want, +got:\n%s", diff)
	}
	if parts := slices.Collect(maps.Keys(e.Response.GetDesired().GetResources())); slices.Contains(parts, tenant.Bootstrap) {
		t.Errorf("the parts are gone from the claim, and still composed: %v", parts)
	}
}
