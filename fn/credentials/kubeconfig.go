package credentials

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// Bounds of the kubeconfig of a virtual cluster, in bytes. A key of RSA with 4,096 bits
// takes 3.3 KiB; a longer one would take the CPU of all who connect with it.
const (
	maxKubeconfigSize  = 64 << 10
	maxCertificateSize = 16 << 10
	maxKeySize         = 4 << 10
)

// ReadVirtualKubeconfig takes the certificates out of the kubeconfig that a virtual cluster has
// written. The tenant may have forged it, and a kubeconfig can name programs to run, files to
// send, and proxies. So anything else than a client certificate is an error, which shows nothing
// of the kubeconfig.
func ReadVirtualKubeconfig(raw []byte) (*tenant.ClientCertificate, error) {
	if len(raw) > maxKubeconfigSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(raw), maxKubeconfigSize)
	}
	file, err := text.Kubeconfig(raw)
	if err != nil {
		return nil, err
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return nil, errors.New("its current-context names no context")
	}
	cluster, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("its current context names a cluster or a user that isn't there")
	}
	for _, f := range append(NotInline(cluster, user),
		NotHere{cluster.ProxyURL != "", "cluster.proxy-url", ""},
		NotHere{cluster.TLSServerName != "", "cluster.tls-server-name", ""},
		NotHere{cluster.InsecureSkipTLSVerify, "cluster.insecure-skip-tls-verify", ""},
		NotHere{user.Token != "", "user.token", ""},
		NotHere{user.Username != "" || user.Password != "", "user.username", ""},
	) {
		if f.There {
			return nil, fmt.Errorf("it has %s, which vcluster doesn't write", f.Field)
		}
	}
	c := &tenant.ClientCertificate{CA: cluster.CertificateAuthorityData, Certificate: user.ClientCertificateData, Key: user.ClientKeyData}
	for _, part := range []struct {
		field, kind string
		data        []byte
		most        int
	}{
		{"cluster.certificate-authority-data", "CERTIFICATE", c.CA, maxCertificateSize},
		{"user.client-certificate-data", "CERTIFICATE", c.Certificate, maxCertificateSize},
		{"user.client-key-data", "PRIVATE KEY", c.Key, maxKeySize},
	} {
		if block, _ := pem.Decode(part.data); block == nil || !strings.HasSuffix(block.Type, part.kind) {
			return nil, fmt.Errorf("its %s is no %s in PEM", part.field, strings.ToLower(part.kind))
		}
		if len(part.data) > part.most {
			return nil, fmt.Errorf("its %s has %d bytes, more than %d", part.field, len(part.data), part.most)
		}
	}
	c.Expires = expires(c.CA, c.Certificate)
	return c, nil
}

// expires returns when the first certificate in some PEM files expires; the zero time if none
// can be read.
func expires(files ...[]byte) time.Time {
	var first time.Time
	for _, file := range files {
		for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
			c, err := x509.ParseCertificate(block.Bytes)
			if err == nil && (first.IsZero() || c.NotAfter.Before(first)) {
				first = c.NotAfter
			}
		}
	}
	return first
}

// NotHere is a field of a kubeconfig that isn't possible, and what to write instead.
type NotHere struct {
	There          bool
	Field, Instead string
}

// NotInline are the fields that need something of the machine the kubeconfig was
// written on.
func NotInline(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) []NotHere {
	return []NotHere{
		{u.Exec != nil, "user.exec", "a program can't be run where Argo CD runs: write a token or a client certificate, or use Argo CD's own form with execProviderConfig"},
		{u.AuthProvider != nil, "user.auth-provider", "auth providers are gone from Kubernetes: write a token or a client certificate"},
		{c.CertificateAuthority != "", "cluster.certificate-authority", "files aren't where Argo CD runs: write certificate-authority-data (kubectl config view --flatten does)"},
		{u.ClientCertificate != "", "user.client-certificate", "files aren't where Argo CD runs: write client-certificate-data (kubectl config view --flatten does)"},
		{u.ClientKey != "", "user.client-key", "files aren't where Argo CD runs: write client-key-data (kubectl config view --flatten does)"},
		{u.TokenFile != "", "user.tokenFile", "files aren't where Argo CD runs: write token"},
		{u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups)+len(u.ImpersonateUserExtra) > 0, "user.as", "Argo CD can't impersonate that way: use credentials of the user itself"},
	}
}
