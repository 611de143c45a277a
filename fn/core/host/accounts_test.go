package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestAccount: whoever acts in a tenant's namespace acts as an account of that tenant, which has rights there alone.
func TestAccount(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	meta := func(o *structpb.Struct) string {
		m := crossplanetest.Field(o, "metadata").GetFields()
		return m["namespace"].GetStringValue() + "/" + m["name"].GetStringValue()
	}
	if got := meta(e.Observed(tenant.InstallerAccount)); got != "crossplane-system/vargo-customer1-7rw8j" {
		t.Errorf("the account is %s", got)
	}
	binding := e.Observed(tenant.InstallerBinding)
	subject := binding.GetFields()["subjects"].GetListValue().AsSlice()
	if diff := cmp.Diff([]any{map[string]any{"kind": "ServiceAccount", "namespace": "crossplane-system", "name": "vargo-customer1-7rw8j"}}, subject); diff != "" {
		t.Errorf("bound is: -want, +got:\n%s", diff)
	}
	if ns := crossplanetest.Field(binding, "metadata").GetFields()["namespace"].GetStringValue(); ns != "vargo-customer1-7rw8j" || crossplanetest.Field(binding, "roleRef").GetFields()["name"].GetStringValue() != "virtual-argocd:installer" {
		t.Errorf("the account is bound in namespace %s to %v", ns, crossplanetest.Field(binding, "roleRef"))
	}
	for _, name := range []string{tenant.HostHelmProviderConfig, tenant.HostKubernetesProviderConfig} {
		ref := crossplanetest.Field(e.Observed(name), "spec", "credentials", "secretRef").GetFields()
		if ref["name"].GetStringValue() != "customer1-7rw8j-installer" || ref["namespace"].GetStringValue() != "crossplane-system" || ref["key"].GetStringValue() != "kubeconfig" {
			t.Errorf("%s uses %v", name, ref)
		}
	}
	if name := crossplanetest.Field(e.Observed(tenant.InstallerCredentials), "metadata", "annotations").GetFields()["kubernetes.io/service-account.name"].GetStringValue(); name != "vargo-customer1-7rw8j" {
		t.Errorf("the token is that of %s", name)
	}
	file, err := clientcmd.Load(e.SecretKey(tenant.InstallerCredentials, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if c, u := file.Clusters["virtual-argocd"], file.AuthInfos["virtual-argocd"]; c.Server != "https://kubernetes.default.svc" || u.Token != crossplanetest.Token || len(c.CertificateAuthorityData) == 0 {
		t.Errorf("the host is reached at %s, with %q", c.Server, u.Token)
	}
	for name, want := range map[string]string{tenant.VClusterRelease: "host-vargo-customer1-7rw8j", tenant.Quota: "host-vargo-customer1-7rw8j", tenant.Namespace: "virtual-argocd-host", tenant.ArgoCDRelease: "vargo-customer1-7rw8j"} {
		if got := crossplanetest.Field(e.Observed(name), "spec", "providerConfigRef").GetFields()["name"].GetStringValue(); got != want {
			t.Errorf("%s uses ProviderConfig %s, want %s", name, got, want)
		}
	}
	// A token that is revoked and made anew is used at once.
	e.SetToken("installer-credentials", "another-token-0123456789")
	e.Reconcile()
	if file := string(e.SecretKey("installer-credentials", "kubeconfig")); !strings.Contains(file, "another-token-0123456789") {
		t.Errorf("the new token isn't used: %s", file)
	}
}

// TestNothingIsInstalledBefore: the virtual cluster waits for all that it needs, and for all that bounds the tenant. Once it
// is there it stays, whatever goes.
func TestNothingIsInstalledBefore(t *testing.T) {
	whole := crossplanetest.New(t, `{}`, "")
	whole.Reconcile()
	whole.AwaitVCluster()
	for name := range whole.Request.GetObserved().GetResources() {
		if name == tenant.VClusterRelease {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "")
			e.Reconcile()
			for range 5 {
				e.RunProviders()
				delete(e.Request.GetObserved().GetResources(), name)
				e.Reconcile()
			}
			// The quota isn't there without its ProviderConfig, which this engine doesn't know.
			needs := !slices.Contains([]string{"helm-provider-config", "kubernetes-provider-config", "host-kubernetes-provider-config", tenant.KubeconfigSecret, tenant.AcceptedSecret, tenant.ValuesSecret}, name)
			if _, ok := e.Request.GetObserved().GetResources()[tenant.VClusterRelease]; ok == needs {
				t.Errorf("without %s the virtual cluster waits: %v", name, !ok)
			}
			e = crossplanetest.New(t, `{}`, "").Install()
			delete(e.Request.GetObserved().GetResources(), name)
			e.Reconcile()
			e.Observed(tenant.VClusterRelease)
		})
	}
}

// TestWhatOutlives: the tenant's account and what bounds the tenant go with its namespace, and nothing waits for a Release,
// in which Helm may be waiting for minutes.
func TestWhatOutlives(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	for name, o := range e.Request.GetObserved().GetResources() {
		var want string
		switch {
		case strings.HasPrefix(name, "installer-"), strings.HasPrefix(name, "host-"), strings.HasSuffix(name, "-binding"), slices.Contains([]string{tenant.Limits, tenant.PriorityLevel, tenant.FlowSchema}, name), strings.HasPrefix(name, "network-policy-"):
			want = "uid-of-the-namespace"
		}
		var got string
		if owners := crossplanetest.Field(o.GetResource(), "metadata").GetFields()["ownerReferences"].GetListValue().GetValues(); len(owners) > 0 {
			got = owners[0].GetStructValue().GetFields()["uid"].GetStringValue()
		}
		if got != want {
			t.Errorf("%s goes after %q, want %q", name, got, want)
		}
	}
	// While nobody can look at the namespace, nothing is let go.
	delete(crossplanetest.Field(e.Observed(tenant.Namespace), "status").GetFields(), "atProvider")
	owners := crossplanetest.Field(e.Call().GetDesired().GetResources()[tenant.InstallerCredentials].GetResource(), "metadata").GetFields()["ownerReferences"].GetListValue().GetValues()
	if len(owners) != 1 || owners[0].GetStructValue().GetFields()["uid"].GetStringValue() != "uid-of-the-namespace" {
		t.Errorf("the credentials are owned by %v", owners)
	}
	if policies := crossplanetest.Field(e.Observed(tenant.Quota), "spec").GetFields()["managementPolicies"].GetListValue().AsSlice(); slices.Contains(policies, any("Delete")) || len(policies) == 0 {
		t.Errorf("the quota goes before the pods: %v", policies)
	}
}
