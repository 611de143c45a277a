package install

import (
	"reflect"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
)

// TestFrontRights: as whom provider-kubernetes writes for namespaced VirtualArgoCDs, it writes composite resources of tenants and nothing else,
// and provider-kubernetes itself may act as that account and as no other, without a token that is kept somewhere.
func TestFrontRights(t *testing.T) {
	const account, pools = "virtual-argocd-front", "virtual-argocd-pool"
	roles, bindings := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.Subject{}
	configs, secrets := map[string]string{}, map[string]*unstructured.Unstructured{}
	for _, o := range examples(t, "install/front.yaml") {
		switch o.GetKind() {
		case "ClusterRole", "Role":
			role := &rbacv1.Role{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
				t.Fatal(err)
			}
			roles[o.GetName()] = role.Rules
		case "ClusterRoleBinding", "RoleBinding":
			binding := &rbacv1.RoleBinding{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, binding); err != nil {
				t.Fatal(err)
			}
			bindings[binding.RoleRef.Name] = binding.Subjects
		case "ClusterProviderConfig", "ProviderConfig":
			secret, _, _ := unstructured.NestedString(o.Object, "spec", "credentials", "secretRef", "name")
			configs[o.GetAPIVersion()+"/"+o.GetKind()+"/"+o.GetName()] = secret
		case "Secret":
			secrets[o.GetName()] = o
		}
	}
	subject := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "crossplane-system", Name: name}}
	}
	want := map[string]struct {
		rules []rbacv1.PolicyRule
		to    []rbacv1.Subject
	}{
		"virtual-argocd:front": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"virtualargocd.io"}, Resources: []string{"xvirtualargocds"}, Verbs: []string{"create", "get", "list", "watch", "patch", "delete"}}},
			subject(account),
		},
		"virtual-argocd:act-as-front": {
			[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{account, pools}, Verbs: []string{"impersonate"}}},
			subject("virtual-argocd-provider-kubernetes"),
		},
		"virtual-argocd:pool": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"virtualargocd.io"}, Resources: []string{"xvirtualargocds"}, Verbs: []string{"create", "get", "list", "watch", "patch"}}},
			subject(pools),
		},
	}
	if len(roles) != len(want) || len(bindings) != len(want) {
		t.Errorf("want %d roles and bindings, got %d and %d", len(want), len(roles), len(bindings))
	}
	for name, w := range want {
		if !reflect.DeepEqual(roles[name], w.rules) || !reflect.DeepEqual(bindings[name], w.to) {
			t.Errorf("%s grants %v to %v", name, roles[name], bindings[name])
		}
	}
	// The function and confinement.yaml call them so.
	if want := map[string]string{"kubernetes.m.crossplane.io/v1alpha1/ClusterProviderConfig/" + account: account, "kubernetes.crossplane.io/v1alpha1/ProviderConfig/" + pools: pools}; !reflect.DeepEqual(configs, want) {
		t.Errorf("want ProviderConfigs and their Secrets %v, got %v", want, configs)
	}
	for _, name := range []string{account, pools} {
		text, _, _ := unstructured.NestedString(secrets[name].Object, "stringData", "kubeconfig")
		kubeconfig, err := clientcmd.Load([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		user := kubeconfig.AuthInfos[kubeconfig.Contexts[kubeconfig.CurrentContext].AuthInfo]
		cluster := kubeconfig.Clusters[kubeconfig.Contexts[kubeconfig.CurrentContext].Cluster]
		if user.Impersonate != "system:serviceaccount:crossplane-system:"+name || user.Token != "" || cluster.InsecureSkipTLSVerify {
			t.Errorf("%s: user %v, cluster %v", name, user, cluster)
		}
	}
	// The provider looks for the CA certificate of the cluster where its own token is.
	for _, o := range examples(t, "install/runtime.yaml") {
		if o.GetName() != "virtual-argocd-provider-kubernetes" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "deploymentTemplate", "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
		if !slices.ContainsFunc(env, func(v any) bool {
			return reflect.DeepEqual(v, map[string]any{"name": "SSL_CERT_DIR", "value": "/etc/ssl/certs:/var/run/secrets/kubernetes.io/serviceaccount"})
		}) {
			t.Errorf("provider-kubernetes has no SSL_CERT_DIR: %v", env)
		}
	}
}
