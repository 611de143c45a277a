// Package external makes an API server one that a customer can register with an Argo CD as a cluster: it gives it a
// ServiceAccount with a token, as `argocd cluster add` would, and writes the token down in each form that a claim's
// Secret can have. A second virtual cluster is such an API server, as separate from a tenant as any other.
package external

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	account   = "argocd-manager"
	namespace = "kube-system"
)

// Cluster is an API server with an account for Argo CDs.
type Cluster struct {
	// Server is its URL as pods of any tenant reach it.
	Server string

	cluster *kube.Cluster
	ca      []byte
	// issued numbers the tokens. The last is the one in use.
	issued int
	token  string
}

// Prepare makes the account, with every right, and its first token. The server's certificate has to be for the host
// in server.
func Prepare(ctx context.Context, t testing.TB, c *kube.Cluster, server string) *Cluster {
	t.Helper()
	e := &Cluster{Server: server, cluster: c, ca: c.Config.CAData}
	meta := metav1.ObjectMeta{Name: account, Namespace: namespace}
	_, err := c.Typed.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot create ServiceAccount %s: %v", account, err)
	}
	_, err = c.Typed.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}},
	}, metav1.CreateOptions{})
	if err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatalf("cannot bind ServiceAccount %s to its role: %v", account, err)
	}
	e.Rotate(ctx, t)
	return e
}

// Rotate issues another token, which the forms have from then on. The old one is good until Revoke.
func (e *Cluster) Rotate(ctx context.Context, t testing.TB) {
	t.Helper()
	e.issued++
	secrets := e.cluster.Typed.CoreV1().Secrets(namespace)
	meta := metav1.ObjectMeta{Name: tokenName(e.issued), Namespace: namespace, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}
	_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot ask for a token of ServiceAccount %s: %v", account, err)
	}
	eventually.True(ctx, t, time.Minute, "Kubernetes issues a token", func(ctx context.Context) (bool, string) {
		s, err := secrets.Get(ctx, meta.Name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		e.token = string(s.Data[corev1.ServiceAccountTokenKey])
		return e.token != "", "no token yet"
	})
}

// Revoke makes every token but the last one worthless, and waits until it is.
func (e *Cluster) Revoke(ctx context.Context, t testing.TB) {
	t.Helper()
	secrets := e.cluster.Typed.CoreV1().Secrets(namespace)
	for n := 1; n < e.issued; n++ {
		s, err := secrets.Get(ctx, tokenName(n), metav1.GetOptions{})
		if kerrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			err = secrets.Delete(ctx, s.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatalf("cannot revoke token %s: %v", tokenName(n), err)
		}
		eventually.True(ctx, t, time.Minute, "the revoked token is refused", func(ctx context.Context) (bool, string) {
			err := e.opens(ctx, string(s.Data[corev1.ServiceAccountTokenKey]))
			return kerrors.IsUnauthorized(err), fmt.Sprint(err)
		})
	}
}

// opens tries a token.
func (e *Cluster) opens(ctx context.Context, token string) error {
	config := rest.AnonymousClientConfig(e.cluster.Config)
	config.Dial, config.BearerToken = e.cluster.Config.Dial, token
	c, err := kube.New(config)
	if err != nil {
		return err
	}
	_, err = c.Typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

func tokenName(n int) string { return fmt.Sprintf("%s-token-%d", account, n) }

// Token in use: what must be in no object but Secrets.
func (e *Cluster) Token() string { return e.token }

// Kubeconfig is the form of a Secret with the key kubeconfig.
func (e *Cluster) Kubeconfig() (map[string]string, error) {
	k := api.NewConfig()
	k.Clusters["external"] = &api.Cluster{Server: e.Server, CertificateAuthorityData: e.ca}
	k.AuthInfos[account] = &api.AuthInfo{Token: e.token}
	k.Contexts["external"] = &api.Context{Cluster: "external", AuthInfo: account}
	k.CurrentContext = "external"
	data, err := clientcmd.Write(*k)
	return map[string]string{"kubeconfig": string(data)}, err
}

// Declarative is the form of Argo CD's own cluster Secrets.
func (e *Cluster) Declarative() (map[string]string, error) {
	config, err := json.Marshal(map[string]any{
		"bearerToken":     e.token,
		"tlsClientConfig": map[string]any{"caData": base64.StdEncoding.EncodeToString(e.ca)},
	})
	return map[string]string{"name": "external", "server": e.Server, "config": string(config)}, err
}

// ServiceAccountToken is the form of a ServiceAccount's token Secret, which needs the URL beside it. It has to be kept
// in a Secret of type Opaque: in one of the token's own type, Kubernetes would write the authority of the cluster that
// keeps it, and delete it where no such ServiceAccount is.
func (e *Cluster) ServiceAccountToken() map[string]string {
	return map[string]string{corev1.ServiceAccountTokenKey: e.token, corev1.ServiceAccountRootCAKey: strings.TrimSpace(string(e.ca)) + "\n"}
}

// URL of a virtual cluster's API server that pods of every tenant understand: the address of the Service that its
// kubeconfig names.
func URL(ctx context.Context, t testing.TB, host, virtual *kube.Cluster) string {
	t.Helper()
	u, err := url.Parse(virtual.Config.Host)
	if err != nil {
		t.Fatalf("cannot parse the API server's URL: %v", err)
	}
	labels := strings.Split(u.Hostname(), ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return virtual.Config.Host
	}
	service, err := host.Typed.CoreV1().Services(labels[1]).Get(ctx, labels[0], metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the API server's Service: %v", err)
	}
	return "https://" + net.JoinHostPort(service.Spec.ClusterIP, cmp.Or(u.Port(), "443"))
}
