package plan

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Keys of the Secrets that hold a cluster's credentials.
const (
	serverKey     = "server"
	configKey     = "config"
	kubeconfigKey = "kubeconfig"
	tokenKey      = "token"
	caKey         = "ca.crt"

	// tokenType is the type of a Secret that Kubernetes fills with a token.
	tokenType = "kubernetes.io/service-account-token"
)

// clusterSecret is what a Secret tells of a cluster.
type clusterSecret struct {
	server string
	// config is the JSON that Argo CD keeps of the credentials.
	config           values.Values
	namespaces       []string
	clusterResources bool
	project          string
	shard            string
}

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

// readCluster reads the Secret in whichever form it has.
func readCluster(c v1alpha1.ClusterSpec, s *secretReader) clusterSecret {
	declarative, kubeconfig := s.has(serverKey) || s.has(configKey), s.has(kubeconfigKey)
	token := s.Type == tokenType || s.has(tokenKey)
	switch {
	case token && !declarative && !kubeconfig:
		return tokenCluster(c, s)
	case c.Server != "" && (declarative || kubeconfig):
		s.fail("it has the API server's URL in it: leave the cluster's field server out, which is for the token of a ServiceAccount")
	case declarative && !kubeconfig && !token:
		return declarativeCluster(s)
	case kubeconfig && !declarative && !token:
		return kubeconfigCluster(s)
	case declarative || kubeconfig:
		s.fail("it has keys of several forms: write either server and config, or kubeconfig, or token and ca.crt")
	default:
		s.fail("it has none of the forms that are known: write the keys server and config, or kubeconfig, or token and ca.crt")
	}
	return clusterSecret{}
}

// declarativeCluster reads Argo CD's own form.
func declarativeCluster(s *secretReader) clusterSecret {
	const form = "Argo CD's cluster Secret has server and config"
	out := clusterSecret{server: s.need(serverKey, form), project: s.text("project"), shard: s.text("shard")}
	raw := []byte(s.need(configKey, form))
	config := clusterConfig{}
	if err := json.Unmarshal(raw, &config); err != nil {
		s.fail("key %s is not the JSON that Argo CD knows, such as {\"bearerToken\": \"...\", \"tlsClientConfig\": {\"caData\": \"...\"}}: %s", configKey, kindOf(err))
		return out
	}
	// Fields that aren't checked here reach Argo CD, too; nulls don't, which take
	// values away where Helm merges them.
	_ = json.Unmarshal(raw, &out.config)
	dropNulls(out.config)
	for _, namespace := range strings.Split(s.text("namespaces"), ",") {
		if namespace = strings.TrimSpace(namespace); namespace == "" {
			continue
		}
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			s.fail("key namespaces is not a list of namespaces: write them with commas between")
		}
		out.namespaces = append(out.namespaces, namespace)
	}
	out.clusterResources = s.text("clusterResources") == "true"
	if out.project != "" && len(validation.IsDNS1123Subdomain(out.project)) > 0 {
		s.fail("key project is not the name of a project: write lower case letters, digits, dots and dashes")
	}
	if _, err := strconv.Atoi(out.shard); err != nil && out.shard != "" {
		s.fail("key shard is not a number: write one such as 0, or leave it out")
	}
	checkClusterConfig(s, out.server, config)
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

// kindOf says what kind of mistake there is in JSON, and nothing that stands in it.
func kindOf(err error) string {
	if t, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // The decoder wraps nothing.
		return "field " + t.Field + " has the wrong type"
	}
	if _, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // As above.
		return "it is no JSON object"
	}
	return "caData, certData and keyData are base64"
}

// tokenCluster reads the token of a ServiceAccount.
func tokenCluster(c v1alpha1.ClusterSpec, s *secretReader) clusterSecret {
	const form = "the Secret of a ServiceAccount's token has token and ca.crt, which Kubernetes fills in when its type is " + tokenType + " and it names the ServiceAccount in an annotation"
	token, ca := s.need(tokenKey, form), s.need(caKey, form)
	if c.Server == "" {
		s.fail("a token doesn't know its API server: write its URL in the cluster's field server")
	}
	if strings.ContainsAny(token, " \t\r\n") {
		s.fail("key %s is not a token: it has spaces in it, write it without", tokenKey)
	}
	return s.cluster(c.Server, clusterConfig{BearerToken: token, TLS: tlsClientConfig{CAData: []byte(ca)}})
}

// cluster makes Argo CD's form of what was read from another.
func (s *secretReader) cluster(server string, config clusterConfig) clusterSecret {
	checkClusterConfig(s, server, config)
	out := clusterSecret{server: server}
	raw, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(raw, &out.config)
	}
	if err != nil {
		s.fail("its credentials can't be written as JSON: write them in UTF-8")
	}
	return out
}

// checkClusterConfig finds what no client could use.
func checkClusterConfig(s *secretReader, server string, c clusterConfig) {
	if !apiServerURL.MatchString(server) {
		s.fail("the API server's URL is not usable: write one such as https://203.0.113.7:6443")
	}
	if c.TLS.Insecure && len(c.TLS.CAData) > 0 {
		s.fail("it has a certificate authority and says not to verify it: leave one of the two out")
	}
	if len(c.TLS.CAData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.TLS.CAData) {
		s.fail("its certificate authority is not a PEM certificate: write one that begins with -----BEGIN CERTIFICATE-----")
	}
	switch cert, key := len(c.TLS.CertData) > 0, len(c.TLS.KeyData) > 0; {
	case cert != key:
		s.fail("it has a client certificate without its key, or a key without its certificate: write both")
	case cert:
		checkPair(s, c.TLS.CertData, c.TLS.KeyData)
	}
	if u, err := url.Parse(c.ProxyURL); err != nil || c.ProxyURL != "" && (u.Scheme == "" || u.Host == "") {
		s.fail("its proxy URL is not usable: write one such as http://proxy.example.org:3128")
	}
	if c.BearerToken == "" && c.Username == "" && len(c.TLS.CertData) == 0 && c.AWSAuthConfig == nil && c.ExecProviderConfig == nil {
		s.fail("it has no credentials: write a token, a client certificate, or a user name and password")
	}
}

// checkPair checks that a certificate and a key belong together.
func checkPair(s *secretReader, cert, key []byte) {
	if len(key) > maxPrivateKey {
		s.fail("its key has %d bytes: write one of at most %d", len(key), maxPrivateKey)
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		s.fail("its certificate and key don't belong together, or aren't PEM: write both as they were issued")
	}
}
