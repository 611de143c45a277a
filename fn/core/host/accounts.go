package host

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// hostAPI is the address of the host's API server for the providers, which run in the
// host cluster.
const hostAPI = "https://kubernetes.default.svc"

// AccountRows are the rows of the tenant's accounts on the host. The installer is the account
// that the providers act as in the tenant's namespace: a ServiceAccount, the Secret with its
// credentials, and a RoleBinding. The other RoleBindings give the virtual cluster's control
// plane its rights. All stay until the namespace is gone. The ServiceAccount is created
// together with the namespace, so that nothing waits for it later.
func AccountRows(t tenant.Tenant) []resource.Row {
	account := t.Composed(tenant.InstallerAccount).Exists()
	installer := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.SecretsIn, Name: t.Names.Installer}
	controlPlane := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.Names.Namespace, Name: tenant.ControlPlaneAccount}
	// vcluster deletes Ingresses that it has created on the host, also after the tenant has lost its hostname, or has an HTTPRoute instead.
	ingresses := t.Ingress.Hostname != "" && t.Ingress.HasIngress() || t.Composed(tenant.IngressesBinding).Exists()
	// The platform may have the virtual cluster create PodDisruptionBudgets on the host.
	budgets := values.Enabled(t.VirtualCluster.Values, false, "sync", "toHost", "podDisruptionBudgets", "enabled")
	return []resource.Row{
		{Name: tenant.InstallerAccount, Has: true, Waits: t.HostProblem != "", Ready: account, Build: installerAccount},
		// Kubernetes makes no token for an account that doesn't exist.
		{Name: tenant.InstallerCredentials, Has: true, Waits: !NamespaceReady(t) || !account,
			Ready: HasCredentials(t), Build: installerCredentials},
		Binding(t, tenant.InstallerBinding, "installer", installer, true),
		Binding(t, tenant.ControlPlaneBinding, "control-plane", controlPlane, true),
		Binding(t, tenant.IngressesBinding, "control-plane-ingresses", controlPlane, ingresses),
		Binding(t, "control-plane-budgets-binding", "control-plane-disruption-budgets", controlPlane, budgets),
	}
}

// Binding is the row of a RoleBinding in the tenant's namespace, to a ClusterRole of
// examples/install/rbac.yaml.
func Binding(t tenant.Tenant, composed, role string, subject rbacv1.Subject, has bool) resource.Row {
	return resource.Row{
		Name: composed, Has: has, Waits: !NamespaceReady(t), Ready: t.Composed(composed).Exists(),
		Build: func(t tenant.Tenant) (resource.Object, error) {
			return resource.Object{Typed: &rbacv1.RoleBinding{
				TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
				ObjectMeta: inNamespace(t, "virtual-argocd-"+role),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "virtual-argocd:" + role},
				Subjects:   []rbacv1.Subject{subject},
			}}, nil
		},
	}
}

func installerAccount(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.Installer, Labels: resource.OfTenant(t), OwnerReferences: UntilNamespaceGoes(t)},
		// No pod runs as it.
		AutomountServiceAccountToken: new(bool),
	}}, nil
}

// installerCredentials composes the Secret that Kubernetes writes the account's
// token to, with a kubeconfig of that token once it is there.
func installerCredentials(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.InstallerSecret, corev1.SecretTypeServiceAccountToken)
	s.OwnerReferences = UntilNamespaceGoes(t)
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: t.Names.Installer}
	is := t.Composed(tenant.InstallerCredentials)
	token, ca := is.SecretValue(corev1.ServiceAccountTokenKey), is.SecretValue(corev1.ServiceAccountRootCAKey)
	if len(token) == 0 || len(ca) == 0 {
		return resource.Object{Typed: s}, nil
	}
	file, err := NewKubeconfig(hostAPI, ca, clientcmdapiv1.AuthInfo{Token: string(token)})
	s.Data = map[string][]byte{tenant.KubeconfigKey: file}
	return resource.Object{Typed: s}, err
}

// HasCredentials reports whether the installer's kubeconfig is written.
func HasCredentials(t tenant.Tenant) bool {
	return len(t.Composed(tenant.InstallerCredentials).SecretValue(tenant.KubeconfigKey)) > 0
}

// NewKubeconfig returns a kubeconfig with one cluster and one user, as JSON.
func NewKubeconfig(server string, ca []byte, user clientcmdapiv1.AuthInfo) ([]byte, error) {
	const name = "virtual-argocd"
	return json.Marshal(clientcmdapiv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters:  []clientcmdapiv1.NamedCluster{{Name: name, Cluster: clientcmdapiv1.Cluster{Server: server, CertificateAuthorityData: ca}}},
		AuthInfos: []clientcmdapiv1.NamedAuthInfo{{Name: name, AuthInfo: user}},
		Contexts:  []clientcmdapiv1.NamedContext{{Name: name, Context: clientcmdapiv1.Context{Cluster: name, AuthInfo: name}}},
	})
}

// ProviderConfig composes the ProviderConfig of that type for the host, with the
// installer's kubeconfig. It is needed until the namespace is gone.
func ProviderConfig(typ metav1.TypeMeta) func(tenant.Tenant) (resource.Object, error) {
	return func(t tenant.Tenant) (resource.Object, error) {
		c := resource.NewProviderConfig(t, typ, t.Names.HostProviderConfig, t.Names.InstallerSecret, tenant.KubeconfigKey)
		c.OwnerReferences = UntilNamespaceGoes(t)
		return resource.Object{Typed: c}, nil
	}
}

// inNamespace returns the metadata of an object in the tenant's namespace. Its owner
// is the Namespace, so that Crossplane's deletion of the tenant doesn't remove it
// before.
func inNamespace(t tenant.Tenant, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.Names.Namespace, Name: name, OwnerReferences: UntilNamespaceGoes(t)}
}
