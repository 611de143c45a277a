package plan

import (
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigCluster reads the current context of a kubeconfig.
func kubeconfigCluster(s *secretReader) clusterSecret {
	file, err := clientcmd.Load([]byte(s.need(kubeconfigKey, "write a kubeconfig")))
	if err != nil {
		// The parser's message would show what stands in the file.
		s.fail("key %s is not a kubeconfig: it can't be read as YAML of kind Config; write what kubectl config view --flatten --minify prints", kubeconfigKey)
		return clusterSecret{}
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		s.fail("key %s: current-context names no context of the file: write the one to use", kubeconfigKey)
		return clusterSecret{}
	}
	cluster, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		s.fail("key %s: the current context names a cluster or a user that isn't in the file: write both", kubeconfigKey)
		return clusterSecret{}
	}
	checkInline(s, cluster, user)
	return s.cluster(cluster.Server, clusterConfig{
		Username: user.Username, Password: user.Password, BearerToken: user.Token,
		ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression,
		TLS: tlsClientConfig{
			Insecure: cluster.InsecureSkipTLSVerify, ServerName: cluster.TLSServerName,
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	})
}

// A ClientCertificate opens a cluster.
type ClientCertificate struct {
	// CA of the server's certificate, Certificate of the client and its Key, in PEM.
	CA, Certificate, Key []byte
}

// Bounds of the kubeconfig of a virtual cluster, in bytes. A key of RSA with 4,096 bits
// takes 3.3 KiB; a longer one would take the CPU of all who connect with it.
const (
	maxKubeconfigSize  = 64 << 10
	maxCertificateSize = 16 << 10
	maxKeySize         = 4 << 10
)

// ReadVirtualKubeconfig takes the certificates out of the kubeconfig that a virtual
// cluster has written. Whoever reads it must take it for the tenant's: a kubeconfig
// can name programs to run, files to send, and proxies. One with anything else in it
// than a client certificate is an error that shows nothing of it.
func ReadVirtualKubeconfig(raw []byte) (*ClientCertificate, error) {
	if len(raw) > maxKubeconfigSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(raw), maxKubeconfigSize)
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return nil, errors.New("it can't be read as YAML of kind Config")
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return nil, errors.New("its current-context names no context")
	}
	cluster, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("its current context names a cluster or a user that isn't there")
	}
	for _, f := range append(notInline(cluster, user),
		notHere{cluster.ProxyURL != "", "cluster.proxy-url", ""},
		notHere{cluster.TLSServerName != "", "cluster.tls-server-name", ""},
		notHere{cluster.InsecureSkipTLSVerify, "cluster.insecure-skip-tls-verify", ""},
		notHere{user.Token != "", "user.token", ""},
		notHere{user.Username != "" || user.Password != "", "user.username", ""},
	) {
		if f.there {
			return nil, fmt.Errorf("it has %s, which vcluster doesn't write", f.field)
		}
	}
	c := &ClientCertificate{CA: cluster.CertificateAuthorityData, Certificate: user.ClientCertificateData, Key: user.ClientKeyData}
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
	return c, nil
}

// checkInline refuses what a kubeconfig takes from the machine it was written on.
func checkInline(s *secretReader, c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
	for _, f := range notInline(c, u) {
		if f.there {
			s.fail("key %s: %s is not possible here: %s", kubeconfigKey, f.field, f.instead)
		}
	}
}

// notHere is a field of a kubeconfig that isn't possible, and what to write instead.
type notHere struct {
	there          bool
	field, instead string
}

// notInline are the fields that need something of the machine the kubeconfig was
// written on.
func notInline(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) []notHere {
	return []notHere{
		{u.Exec != nil, "user.exec", "a program can't be run where Argo CD runs: write a token or a client certificate, or use Argo CD's own form with execProviderConfig"},
		{u.AuthProvider != nil, "user.auth-provider", "auth providers are gone from Kubernetes: write a token or a client certificate"},
		{c.CertificateAuthority != "", "cluster.certificate-authority", "files aren't where Argo CD runs: write certificate-authority-data (kubectl config view --flatten does)"},
		{u.ClientCertificate != "", "user.client-certificate", "files aren't where Argo CD runs: write client-certificate-data (kubectl config view --flatten does)"},
		{u.ClientKey != "", "user.client-key", "files aren't where Argo CD runs: write client-key-data (kubectl config view --flatten does)"},
		{u.TokenFile != "", "user.tokenFile", "files aren't where Argo CD runs: write token"},
		{u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0, "user.as", "Argo CD can't impersonate that way: use credentials of the user itself"},
	}
}
