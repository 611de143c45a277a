package compose

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapiv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
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

// installerRows are the rows of the tenant's installer, the account that the
// providers act as in the tenant's namespace: the ServiceAccount, the Secret with
// its credentials, and the RoleBinding. All stay until the namespace is gone. The
// ServiceAccount comes together with the namespace, so that nothing waits for it later.
func installerRows() []row {
	return []row{
		{name: InstallerAccount, wanted: always, waits: not(hostProtected), ready: exists(InstallerAccount), build: installerAccount},
		// Kubernetes makes no token for an account that isn't there.
		{name: InstallerCredentials, wanted: always, waits: credentialsWait, ready: hasCredentials, build: installerCredentials},
		binding(InstallerBinding, always, "virtual-argocd-installer", roleInstaller, func(t Tenant) rbacv1.Subject {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.SecretsIn, Name: t.Names.Installer}
		}),
	}
}

func credentialsWait(t Tenant) bool { return !namespaceReady(t) || !exists(InstallerAccount)(t) }

func installerAccount(t Tenant) (Object, error) {
	return Object{Typed: &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.Installer, Labels: ofTenant(t), OwnerReferences: untilNamespaceGoes(t)},
		// No pod runs as it.
		AutomountServiceAccountToken: new(bool),
	}}, nil
}

// installerCredentials composes the Secret that Kubernetes writes the account's
// token to, with a kubeconfig of that token once it is there.
func installerCredentials(t Tenant) (Object, error) {
	s := secret(t, t.Names.InstallerSecret, corev1.SecretTypeServiceAccountToken)
	s.OwnerReferences = untilNamespaceGoes(t)
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: t.Names.Installer}
	is := t.observed(InstallerCredentials)
	token, ca := is.SecretValue(corev1.ServiceAccountTokenKey), is.SecretValue(corev1.ServiceAccountRootCAKey)
	if len(token) == 0 || len(ca) == 0 {
		return Object{Typed: s}, nil
	}
	file, err := json.Marshal(kubeconfig(hostAPI, ca, clientcmdapiv1.AuthInfo{Token: string(token)}))
	if err != nil {
		return Object{}, fmt.Errorf("cannot write the kubeconfig of account %s: %w", t.Names.Installer, err)
	}
	s.Data = map[string][]byte{KubeconfigKey: file}
	return Object{Typed: s}, nil
}

// hasCredentials reports whether the installer's kubeconfig is written.
func hasCredentials(t Tenant) bool {
	return len(t.observed(InstallerCredentials).SecretValue(KubeconfigKey)) > 0
}

// kubeconfig returns a kubeconfig with one cluster and one user.
func kubeconfig(server string, ca []byte, user clientcmdapiv1.AuthInfo) clientcmdapiv1.Config {
	const name = "virtual-argocd"
	return clientcmdapiv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters:  []clientcmdapiv1.NamedCluster{{Name: name, Cluster: clientcmdapiv1.Cluster{Server: server, CertificateAuthorityData: ca}}},
		AuthInfos: []clientcmdapiv1.NamedAuthInfo{{Name: name, AuthInfo: user}},
		Contexts:  []clientcmdapiv1.NamedContext{{Name: name, Context: clientcmdapiv1.Context{Cluster: name, AuthInfo: name}}},
	}
}

// controlPlaneRows are the rows of the RoleBindings that give the virtual cluster's
// control plane its rights in the tenant's namespace.
func controlPlaneRows() []row {
	subject := func(t Tenant) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: t.Names.Namespace, Name: plan.ControlPlaneAccount}
	}
	return []row{
		binding(ControlPlaneBinding, always, "virtual-argocd-control-plane", roleControlPlane, subject),
		binding(decode.IngressesBinding, func(t Tenant) bool { return t.Ingress.Synced }, "virtual-argocd-control-plane-ingresses", roleIngresses, subject),
		binding("control-plane-budgets-binding", func(t Tenant) bool { return t.SyncsDisruptionBudgets() }, "virtual-argocd-control-plane-disruption-budgets", roleBudgets, subject),
	}
}

// binding is the row of a RoleBinding in the tenant's namespace.
func binding(composed string, wanted func(Tenant) bool, name, role string, subject func(Tenant) rbacv1.Subject) row {
	return row{
		name: composed, wanted: wanted, waits: not(namespaceReady), ready: exists(composed),
		build: func(t Tenant) (Object, error) {
			return Object{Typed: &rbacv1.RoleBinding{
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
func inNamespace(t Tenant, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.Names.Namespace, Name: name, OwnerReferences: untilNamespaceGoes(t)}
}

// secret returns a Secret of the tenant's beside the others of the platform, without
// data.
func secret(t Tenant, name string, typ corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: name, Labels: ofTenant(t)},
		Type:       typ,
	}
}

func ofTenant(t Tenant) map[string]string { return map[string]string{LabelTenant: t.Names.Tenant} }
