package function

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// secretKey is what stands at a key of a composed Secret.
func (e *engine) secretKey(name, key string) []byte {
	e.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(field(e.observed(name), "data").GetFields()[key].GetStringValue())
	if err != nil {
		e.t.Fatal(err)
	}
	return raw
}

// TestAccount: whoever acts in a tenant's namespace acts as an account of that tenant, which has rights there alone.
func TestAccount(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	meta := func(o *structpb.Struct) string {
		m := field(o, "metadata").GetFields()
		return m["namespace"].GetStringValue() + "/" + m["name"].GetStringValue()
	}
	if got := meta(e.observed(tenant.InstallerAccount)); got != "crossplane-system/vargo-customer1-7rw8j" {
		t.Errorf("the account is %s", got)
	}
	binding := e.observed(tenant.InstallerBinding)
	subject := binding.GetFields()["subjects"].GetListValue().AsSlice()
	if diff := cmp.Diff([]any{map[string]any{"kind": "ServiceAccount", "namespace": "crossplane-system", "name": "vargo-customer1-7rw8j"}}, subject); diff != "" {
		t.Errorf("bound is: -want, +got:\n%s", diff)
	}
	if ns := field(binding, "metadata").GetFields()["namespace"].GetStringValue(); ns != "vargo-customer1-7rw8j" || field(binding, "roleRef").GetFields()["name"].GetStringValue() != "virtual-argocd:installer" {
		t.Errorf("the account is bound in namespace %s to %v", ns, field(binding, "roleRef"))
	}
	for _, name := range []string{tenant.HostHelmProviderConfig, tenant.HostKubernetesProviderConfig} {
		ref := field(e.observed(name), "spec", "credentials", "secretRef").GetFields()
		if ref["name"].GetStringValue() != "customer1-7rw8j-installer" || ref["namespace"].GetStringValue() != "crossplane-system" || ref["key"].GetStringValue() != "kubeconfig" {
			t.Errorf("%s uses %v", name, ref)
		}
	}
	if name := field(e.observed(tenant.InstallerCredentials), "metadata", "annotations").GetFields()["kubernetes.io/service-account.name"].GetStringValue(); name != "vargo-customer1-7rw8j" {
		t.Errorf("the token is that of %s", name)
	}
	file, err := clientcmd.Load(e.secretKey(tenant.InstallerCredentials, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if c, u := file.Clusters["virtual-argocd"], file.AuthInfos["virtual-argocd"]; c.Server != "https://kubernetes.default.svc" || u.Token != testToken || len(c.CertificateAuthorityData) == 0 {
		t.Errorf("the host is reached at %s, with %q", c.Server, u.Token)
	}
	for name, want := range map[string]string{tenant.VClusterRelease: "host-vargo-customer1-7rw8j", tenant.Quota: "host-vargo-customer1-7rw8j", tenant.Namespace: "virtual-argocd-host", tenant.ArgoCDRelease: "vargo-customer1-7rw8j"} {
		if got := field(e.observed(name), "spec", "providerConfigRef").GetFields()["name"].GetStringValue(); got != want {
			t.Errorf("%s uses ProviderConfig %s, want %s", name, got, want)
		}
	}
	// A token that is revoked and made anew is used at once.
	e.setToken("installer-credentials", "another-token-0123456789")
	e.reconcile()
	if file := string(e.secretKey("installer-credentials", "kubeconfig")); !strings.Contains(file, "another-token-0123456789") {
		t.Errorf("the new token isn't used: %s", file)
	}
}

// TestNothingIsInstalledBefore: the virtual cluster waits for all that it needs, and for all that bounds the tenant. Once it
// is there it stays, whatever goes.
func TestNothingIsInstalledBefore(t *testing.T) {
	whole := newEngine(t, tenantXR(`{}`), "")
	whole.reconcile()
	whole.begin()
	for name := range whole.req.GetObserved().GetResources() {
		if name == tenant.VClusterRelease {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			e.reconcile()
			for range 5 {
				e.heal()
				delete(e.req.GetObserved().GetResources(), name)
				e.reconcile()
			}
			// The quota isn't there without its ProviderConfig, which this engine doesn't know.
			needs := !slices.Contains([]string{"helm-provider-config", "kubernetes-provider-config", "host-kubernetes-provider-config", tenant.KubeconfigSecret, tenant.AcceptedSecret, tenant.ValuesSecret}, name)
			if _, ok := e.req.GetObserved().GetResources()[tenant.VClusterRelease]; ok == needs {
				t.Errorf("without %s the virtual cluster waits: %v", name, !ok)
			}
			e = newEngine(t, tenantXR(`{}`), "").install()
			delete(e.req.GetObserved().GetResources(), name)
			e.reconcile()
			e.observed(tenant.VClusterRelease)
		})
	}
}

// TestWhatOutlives: the tenant's account and what bounds the tenant go with its namespace, and nothing waits for a Release,
// in which Helm may be waiting for minutes.
func TestWhatOutlives(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	for name, o := range e.req.GetObserved().GetResources() {
		var want string
		switch {
		case strings.HasPrefix(name, "installer-"), strings.HasPrefix(name, "host-"), strings.HasSuffix(name, "-binding"), slices.Contains([]string{tenant.Limits, tenant.PriorityLevel, tenant.FlowSchema}, name), strings.HasPrefix(name, "network-policy-"):
			want = "uid-of-the-namespace"
		}
		var got string
		if owners := field(o.GetResource(), "metadata").GetFields()["ownerReferences"].GetListValue().GetValues(); len(owners) > 0 {
			got = owners[0].GetStructValue().GetFields()["uid"].GetStringValue()
		}
		if got != want {
			t.Errorf("%s goes after %q, want %q", name, got, want)
		}
	}
	// While nobody can look at the namespace, nothing is let go.
	delete(field(e.observed(tenant.Namespace), "status").GetFields(), "atProvider")
	owners := field(e.call().GetDesired().GetResources()[tenant.InstallerCredentials].GetResource(), "metadata").GetFields()["ownerReferences"].GetListValue().GetValues()
	if len(owners) != 1 || owners[0].GetStructValue().GetFields()["uid"].GetStringValue() != "uid-of-the-namespace" {
		t.Errorf("the credentials are owned by %v", owners)
	}
	if policies := field(e.observed(tenant.Quota), "spec").GetFields()["managementPolicies"].GetListValue().AsSlice(); slices.Contains(policies, any("Delete")) || len(policies) == 0 {
		t.Errorf("the quota goes before the pods: %v", policies)
	}
}

// TestHostileKubeconfig: what comes from the tenant's namespace steers no provider.
func TestHostileKubeconfig(t *testing.T) {
	hostile := virtualKubeconfig(func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.Server, u.TokenFile = "http://203.0.113.7", "/var/run/secrets/kubernetes.io/serviceaccount/token"
	})
	e := newEngine(t, tenantXR(`{}`), "")
	e.reconcile()
	e.begin()
	e.heal()
	publish := func(kubeconfig string) {
		e.publish(kubeconfig)
		e.reconcile()
		e.reconcile()
	}
	publish(hostile)
	if len(e.kubeconfig()) > 0 {
		t.Error("a kubeconfig was made of it")
	}
	if _, ok := e.req.GetObserved().GetResources()[tenant.ArgoCDRelease]; ok {
		t.Error("something is installed by it")
	}
	is := e.condition(v1alpha1.ConditionVirtualClusterReady)
	if is.GetReason() != v1alpha1.ReasonKubeconfigInvalid || !strings.Contains(is.GetMessage(), "it has user.tokenFile, which vcluster doesn't write") {
		t.Errorf("the claim should say so: %v", is)
	}
	// One that moves the server is used, without it.
	publish(virtualKubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://203.0.113.7" }))
	const server = "https://vcluster.vargo-customer1-7rw8j.svc:443"
	good := e.kubeconfig()
	file, err := clientcmd.Load(good)
	if err != nil || len(file.Clusters) != 1 || file.Clusters["virtual-argocd"].Server != server {
		t.Fatalf("want the tenant's own server: %s, %v", good, err)
	}
	if got := e.rsp.GetDesired().GetComposite().GetConnectionDetails()["kubeconfig"]; string(got) != string(good) {
		t.Errorf("the claim has another one: %s", got)
	}
	// And what was good stays.
	e.install()
	publish(hostile)
	if string(e.kubeconfig()) != string(good) {
		t.Errorf("the providers use %s", e.kubeconfig())
	}
	if is := e.condition(v1alpha1.ConditionVirtualClusterReady); e.status("phase") != "Degraded" || is.GetReason() != v1alpha1.ReasonKubeconfigInvalid {
		t.Errorf("want Degraded, got %s: %v", e.status("phase"), is)
	}
	for _, name := range []string{"helm-provider-config", "kubernetes-provider-config"} {
		ref := field(e.observed(name), "spec", "credentials", "secretRef").GetFields()
		if ref["name"].GetStringValue() != "customer1-7rw8j-kubeconfig" {
			t.Errorf("%s names %v", name, ref)
		}
	}
}
