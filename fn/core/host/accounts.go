package host

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// ClusterRoles of examples/install/rbac.yaml. They are bound by RoleBindings in
// tenants' namespaces only.
const (
	roleInstaller    = "virtual-argocd:installer"
	roleControlPlane = "virtual-argocd:control-plane"
	roleIngresses    = "virtual-argocd:control-plane-ingresses"
	roleBudgets      = "virtual-argocd:control-plane-disruption-budgets"
)

// hostAPI is the address of the host's API server for the providers, which run in the
// host cluster.
const hostAPI = "https://kubernetes.default.svc"

// InstallerRows are the rows of the tenant's installer, the account that the
// providers act as in the tenant's namespace: the ServiceAccount, the Secret with
// its credentials, and the RoleBinding. All stay until the namespace is gone. The
// ServiceAccount comes together with the namespace, so that nothing waits for it later.
func InstallerRows() []resource.Row {
	return []resource.Row{
		{Name: tenant.InstallerAccount, Has: resource.Always, Waits: resource.Not(PoliciesInForce), Ready: resource.Exists(tenant.InstallerAccount), Build: installerAccount},
		// Kubernetes makes no token for an account that isn't there.
		{Name: tenant.InstallerCredentials, Has: resource.Always, Waits: credentialsWait, Ready: HasCredentials, Build: installerCredentials},
		binding(tenant.InstallerBinding, resource.Always, "virtual-argocd-installer", roleInstaller, func(t tenant.Tenant) rbacv1.Subject {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.SecretsIn, Name: t.Names.Installer}
		}),
	}
}

func credentialsWait(t tenant.Tenant) bool {
	return !NamespaceReady(t) || !resource.Exists(tenant.InstallerAccount)(t)
}

func installerAccount(t tenant.Tenant) (resource.Object, error) {
	return resource.Object{Typed: &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.Installer, Labels: resource.OfTenant(t), OwnerReferences: untilNamespaceGoes(t)},
		// No pod runs as it.
		AutomountServiceAccountToken: new(bool),
	}}, nil
}

// installerCredentials composes the Secret that Kubernetes writes the account's
// token to, with a kubeconfig of that token once it is there.
func installerCredentials(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.InstallerSecret, corev1.SecretTypeServiceAccountToken)
	s.OwnerReferences = untilNamespaceGoes(t)
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: t.Names.Installer}
	is := t.Composed(tenant.InstallerCredentials)
	token, ca := is.SecretValue(corev1.ServiceAccountTokenKey), is.SecretValue(corev1.ServiceAccountRootCAKey)
	if len(token) == 0 || len(ca) == 0 {
		return resource.Object{Typed: s}, nil
	}
	file, err := json.Marshal(NewKubeconfig(hostAPI, ca, clientcmdapiv1.AuthInfo{Token: string(token)}))
	if err != nil {
		return resource.Object{}, fmt.Errorf("cannot write the kubeconfig of account %s: %w", t.Names.Installer, err)
	}
	s.Data = map[string][]byte{tenant.KubeconfigKey: file}
	return resource.Object{Typed: s}, nil
}

// HasCredentials reports whether the installer's kubeconfig is written.
func HasCredentials(t tenant.Tenant) bool {
	return len(t.Composed(tenant.InstallerCredentials).SecretValue(tenant.KubeconfigKey)) > 0
}

// NewKubeconfig returns a kubeconfig with one cluster and one user.
func NewKubeconfig(server string, ca []byte, user clientcmdapiv1.AuthInfo) clientcmdapiv1.Config {
	const name = "virtual-argocd"
	return clientcmdapiv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters:  []clientcmdapiv1.NamedCluster{{Name: name, Cluster: clientcmdapiv1.Cluster{Server: server, CertificateAuthorityData: ca}}},
		AuthInfos: []clientcmdapiv1.NamedAuthInfo{{Name: name, AuthInfo: user}},
		Contexts:  []clientcmdapiv1.NamedContext{{Name: name, Context: clientcmdapiv1.Context{Cluster: name, AuthInfo: name}}},
	}
}

// ControlPlaneRows are the rows of the RoleBindings that give the virtual cluster's
// control plane its rights in the tenant's namespace.
func ControlPlaneRows() []resource.Row {
	subject := func(t tenant.Tenant) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.Names.Namespace, Name: tenant.ControlPlaneAccount}
	}
	return []resource.Row{
		binding(tenant.ControlPlaneBinding, resource.Always, "virtual-argocd-control-plane", roleControlPlane, subject),
		binding(tenant.IngressesBinding, hadHostname, "virtual-argocd-control-plane-ingresses", roleIngresses, subject),
		binding("control-plane-budgets-binding", func(t tenant.Tenant) bool { return syncsDisruptionBudgets(t.Decision) }, "virtual-argocd-control-plane-disruption-budgets", roleBudgets, subject),
	}
}

// hadHostname reports whether the tenant has a hostname or once had one: vcluster takes away what it has brought to the host.
func hadHostname(t tenant.Tenant) bool {
	return t.Ingress.Hostname != "" || resource.Exists(tenant.IngressesBinding)(t)
}

// binding is the row of a RoleBinding in the tenant's namespace.
func binding(composed string, has func(tenant.Tenant) bool, name, role string, subject func(tenant.Tenant) rbacv1.Subject) resource.Row {
	return resource.Row{
		Name: composed, Has: has, Waits: resource.Not(NamespaceReady), Ready: resource.Exists(composed),
		Build: func(t tenant.Tenant) (resource.Object, error) {
			return resource.Object{Typed: &rbacv1.RoleBinding{
				TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
				ObjectMeta: inNamespace(t, name),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{subject(t)},
			}}, nil
		},
	}
}

// inNamespace returns the metadata of an object in the tenant's namespace. Its owner
// is the Namespace, so that Crossplane's deletion of the tenant doesn't remove it
// before.
func inNamespace(t tenant.Tenant, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.Names.Namespace, Name: name, OwnerReferences: untilNamespaceGoes(t)}
}

// syncsDisruptionBudgets reports whether the platform has the virtual cluster bring
// PodDisruptionBudgets to the host.
func syncsDisruptionBudgets(p *tenant.Decision) bool {
	return values.Enabled(p.VirtualCluster.Values, false, "sync", "toHost", "podDisruptionBudgets", "enabled")
}
