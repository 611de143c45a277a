package clusters

import (
	"crypto/x509"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Keys of the Secrets that hold a cluster's credentials.
const (
	serverKey     = "server"
	configKey     = "config"
	kubeconfigKey = "kubeconfig"
	tokenKey      = corev1.ServiceAccountTokenKey
	caKey         = corev1.ServiceAccountRootCAKey
	// tokenType is the type of a Secret that Kubernetes fills with a token.
	tokenType = string(corev1.SecretTypeServiceAccountToken)
)

// clusterConfig are the fields of Argo CD's configuration of a cluster that are
// checked here.
type clusterConfig struct {
	Username           string          `json:"username,omitempty"`
	Password           string          `json:"password,omitempty"`
	BearerToken        string          `json:"bearerToken,omitempty"`
	TLS                tlsClientConfig `json:"tlsClientConfig"`
	AWSAuthConfig      map[string]any  `json:"awsAuthConfig,omitempty"`
	ExecProviderConfig map[string]any  `json:"execProviderConfig,omitempty"`
	DisableCompression bool            `json:"disableCompression,omitempty"`
	ProxyURL           string          `json:"proxyUrl,omitempty"`
}

type tlsClientConfig struct {
	Insecure   bool   `json:"insecure"`
	ServerName string `json:"serverName,omitempty"`
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
}

// readCluster returns what a Secret tells of a cluster, in whichever form: the server, the
// config that Argo CD keeps of the credentials, and what else the entry of the chart may have.
func readCluster(c v1alpha1.ClusterSpec, s *credentials.Reader) values.Values {
	declarative, kubeconfig := s.Has(serverKey) || s.Has(configKey), s.Has(kubeconfigKey)
	token := s.Type == tokenType || s.Has(tokenKey)
	switch {
	case token && !declarative && !kubeconfig:
		return tokenCluster(c, s)
	case c.Server != "" && (declarative || kubeconfig):
		s.Fail("it has the API server's URL in it: leave the cluster's field server out, which is for the token of a ServiceAccount")
	case declarative && !kubeconfig && !token:
		return declarativeCluster(s)
	case kubeconfig && !declarative && !token:
		return kubeconfigCluster(s)
	case declarative || kubeconfig:
		s.Fail("it has keys of several forms: write either server and config, or kubeconfig, or token and ca.crt")
	default:
		s.Fail("it has none of the forms that are known: write the keys server and config, or kubeconfig, or token and ca.crt")
	}
	return nil
}

// declarativeCluster reads Argo CD's own form.
func declarativeCluster(s *credentials.Reader) values.Values {
	const form = "Argo CD's cluster Secret has server and config"
	server, project, shard := s.Need(serverKey, form), s.Text("project"), s.Text("shard")
	raw := []byte(s.Need(configKey, form))
	config, all := clusterConfig{}, values.Values{}
	if err := text.JSON(raw, &config); err != nil {
		s.Fail("key %s is not the JSON that Argo CD knows, such as {\"bearerToken\": \"...\", \"tlsClientConfig\": {\"caData\": \"...\"}}: %s", configKey, err)
		return nil
	}
	// Fields that aren't checked here reach Argo CD, too; nulls don't, which take
	// values away where Helm merges them.
	_ = text.JSON(raw, &all)
	dropNulls(all)
	var namespaces []string
	for _, namespace := range strings.Split(s.Text("namespaces"), ",") {
		if namespace = strings.TrimSpace(namespace); namespace == "" {
			continue
		}
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			s.Fail("key namespaces is not a list of namespaces: write them with commas between")
		}
		namespaces = append(namespaces, namespace)
	}
	out := values.Values{"server": server, "config": all, "project": project, "shard": shard, "namespaces": listOfNamespaces(namespaces)}
	if s.Text("clusterResources") == "true" {
		out["clusterResources"] = "true"
	}
	if project != "" && len(validation.IsDNS1123Subdomain(project)) > 0 {
		s.Fail("key project is not the name of a project: write lower case letters, digits, dots and dashes")
	}
	if _, err := strconv.Atoi(shard); err != nil && shard != "" {
		s.Fail("key shard is not a number: write one such as 0, or leave it out")
	}
	checkClusterConfig(s, server, config)
	return out
}

func dropNulls(v values.Values) {
	for key, at := range v {
		if m, ok := at.(values.Values); ok {
			dropNulls(m)
		} else if at == nil {
			delete(v, key)
		}
	}
}

// tokenCluster reads the token of a ServiceAccount.
func tokenCluster(c v1alpha1.ClusterSpec, s *credentials.Reader) values.Values {
	const form = "the Secret of a ServiceAccount's token has token and ca.crt, which Kubernetes fills in when its type is " + tokenType + " and it names the ServiceAccount in an annotation"
	token, ca := s.Need(tokenKey, form), s.Need(caKey, form)
	if c.Server == "" {
		s.Fail("a token doesn't know its API server: write its URL in the cluster's field server")
	}
	if strings.ContainsAny(token, " \t\r\n") {
		s.Fail("key %s is not a token: it has spaces in it, write it without", tokenKey)
	}
	return toArgoCD(s, c.Server, clusterConfig{BearerToken: token, TLS: tlsClientConfig{CAData: []byte(ca)}})
}

// toArgoCD makes Argo CD's form of what was read from another.
func toArgoCD(s *credentials.Reader, server string, config clusterConfig) values.Values {
	checkClusterConfig(s, server, config)
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&config)
	if err != nil {
		s.Fail("its credentials can't be written as JSON: write them in UTF-8")
	}
	return values.Values{"server": server, "config": out}
}

// checkClusterConfig finds what no client could use.
func checkClusterConfig(s *credentials.Reader, server string, c clusterConfig) {
	if !credentials.APIServerURL.MatchString(server) {
		s.Fail("the API server's URL is not usable: write one such as https://203.0.113.7:6443")
	}
	if c.TLS.Insecure && len(c.TLS.CAData) > 0 {
		s.Fail("it has a certificate authority and says not to verify it: leave one of the two out")
	}
	if len(c.TLS.CAData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.TLS.CAData) {
		s.Fail("its certificate authority is not a PEM certificate: write one that begins with -----BEGIN CERTIFICATE-----")
	}
	switch cert, key := len(c.TLS.CertData) > 0, len(c.TLS.KeyData) > 0; {
	case cert != key:
		s.Fail("it has a client certificate without its key, or a key without its certificate: write both")
	case cert:
		credentials.CheckPair(s, c.TLS.CertData, c.TLS.KeyData)
	}
	if u, err := url.Parse(c.ProxyURL); err != nil || c.ProxyURL != "" && (u.Scheme == "" || u.Host == "") {
		s.Fail("its proxy URL is not usable: write one such as http://proxy.example.org:3128")
	}
	if c.BearerToken == "" && c.Username == "" && len(c.TLS.CertData) == 0 && c.AWSAuthConfig == nil && c.ExecProviderConfig == nil {
		s.Fail("it has no credentials: write a token, a client certificate, or a user name and password")
	}
}

// kubeconfigCluster reads the current context of a kubeconfig.
func kubeconfigCluster(s *credentials.Reader) values.Values {
	file, err := text.Kubeconfig([]byte(s.Need(kubeconfigKey, "write a kubeconfig")))
	if err != nil {
		s.Fail("key %s is not a kubeconfig: %s; write what kubectl config view --flatten --minify prints", kubeconfigKey, err)
		return nil
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		s.Fail("key %s: current-context names no context of the file: write the one to use", kubeconfigKey)
		return nil
	}
	cluster, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		s.Fail("key %s: the current context names a cluster or a user that isn't in the file: write both", kubeconfigKey)
		return nil
	}
	// What a kubeconfig takes from the machine it was written on.
	for _, f := range credentials.NotInline(cluster, user) {
		if f.There {
			s.Fail("key %s: %s is not possible here: %s", kubeconfigKey, f.Field, f.Instead)
		}
	}
	return toArgoCD(s, cluster.Server, clusterConfig{
		Username: user.Username, Password: user.Password, BearerToken: user.Token,
		ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression,
		TLS: tlsClientConfig{
			Insecure: cluster.InsecureSkipTLSVerify, ServerName: cluster.TLSServerName,
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	})
}
