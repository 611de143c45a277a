package plan

import (
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

// checkInline refuses what a kubeconfig takes from the machine it was written on.
func checkInline(s *secretReader, c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
	for _, f := range []struct {
		there          bool
		field, instead string
	}{
		{u.Exec != nil, "user.exec", "a program can't be run where Argo CD runs: write a token or a client certificate, or use Argo CD's own form with execProviderConfig"},
		{u.AuthProvider != nil, "user.auth-provider", "auth providers are gone from Kubernetes: write a token or a client certificate"},
		{c.CertificateAuthority != "", "cluster.certificate-authority", "files aren't where Argo CD runs: write certificate-authority-data (kubectl config view --flatten does)"},
		{u.ClientCertificate != "", "user.client-certificate", "files aren't where Argo CD runs: write client-certificate-data (kubectl config view --flatten does)"},
		{u.ClientKey != "", "user.client-key", "files aren't where Argo CD runs: write client-key-data (kubectl config view --flatten does)"},
		{u.TokenFile != "", "user.tokenFile", "files aren't where Argo CD runs: write token"},
		{u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0, "user.as", "Argo CD can't impersonate that way: use credentials of the user itself"},
	} {
		if f.there {
			s.fail("key %s: %s is not possible here: %s", kubeconfigKey, f.field, f.instead)
		}
	}
}
