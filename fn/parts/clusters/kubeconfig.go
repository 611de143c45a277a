package clusters

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
)

// kubeconfigCluster reads the current context of a kubeconfig.
func kubeconfigCluster(s *credentials.Reader) clusterSecret {
	file, err := clientcmd.Load([]byte(s.Need(kubeconfigKey, "write a kubeconfig")))
	if err != nil {
		// The parser's message would show what stands in the file.
		s.Fail("key %s is not a kubeconfig: it can't be read as YAML of kind Config; write what kubectl config view --flatten --minify prints", kubeconfigKey)
		return clusterSecret{}
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		s.Fail("key %s: current-context names no context of the file: write the one to use", kubeconfigKey)
		return clusterSecret{}
	}
	cluster, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		s.Fail("key %s: the current context names a cluster or a user that isn't in the file: write both", kubeconfigKey)
		return clusterSecret{}
	}
	checkInline(s, cluster, user)
	return toClusterSecret(s, cluster.Server, clusterConfig{
		Username: user.Username, Password: user.Password, BearerToken: user.Token,
		ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression,
		TLS: tlsClientConfig{
			Insecure: cluster.InsecureSkipTLSVerify, ServerName: cluster.TLSServerName,
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	})
}

// checkInline refuses what a kubeconfig takes from the machine it was written on.
func checkInline(s *credentials.Reader, c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
	for _, f := range credentials.NotInline(c, u) {
		if f.There {
			s.Fail("key %s: %s is not possible here: %s", kubeconfigKey, f.Field, f.Instead)
		}
	}
}
