package clusters

import (
	"crypto/x509"
	"encoding/base64"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/few"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// Keys of the Secrets that hold a cluster's credentials.
const (
	serverKey     = "server"
	configKey     = "config"
	nameKey       = "name"
	kubeconfigKey = "kubeconfig"
	tokenKey      = corev1.ServiceAccountTokenKey
	caKey         = corev1.ServiceAccountRootCAKey
	// tokenType is the type of a Secret that Kubernetes fills with a token.
	tokenType = string(corev1.SecretTypeServiceAccountToken)
)

// clusterConfig is Argo CD's configuration of a cluster (3.6, pkg/apis/application/v1alpha1, ClusterConfig). Argo CD leaves out a cluster with
// a field of another type, and ignores other fields.
type clusterConfig struct {
	Username           string          `json:"username,omitempty"`
	Password           string          `json:"password,omitempty"`
	BearerToken        string          `json:"bearerToken,omitempty"`
	TLS                tlsClientConfig `json:"tlsClientConfig"`
	AWSAuthConfig      *awsAuthConfig  `json:"awsAuthConfig,omitempty"`
	ExecProviderConfig *execConfig     `json:"execProviderConfig,omitempty"`
	DisableCompression bool            `json:"disableCompression,omitempty"`
	ProxyURL           string          `json:"proxyUrl,omitempty"`
}

type awsAuthConfig struct {
	ClusterName string `json:"clusterName,omitempty"`
	RoleARN     string `json:"roleARN,omitempty"`
	Profile     string `json:"profile,omitempty"`
}

type execConfig struct {
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	APIVersion  string            `json:"apiVersion,omitempty"`
	InstallHint string            `json:"installHint,omitempty"`

	ProvideClusterInfo bool                  `json:"provideClusterInfo,omitempty"`
	Config             *runtime.RawExtension `json:"config,omitempty"`
}

// sinceProxy is the first version of Argo CD that connects to a cluster by a proxy, and so by a tunnel.
const sinceProxy = "2.14"

// since are the fields of the config with the first version of Argo CD that reads them.
var since = []struct {
	path    []string
	version string
}{
	{[]string{"disableCompression"}, "2.14"},
	{[]string{"proxyUrl"}, sinceProxy},
	{[]string{"execProviderConfig", "provideClusterInfo"}, "3.5"},
	{[]string{"execProviderConfig", "config"}, "3.5"},
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
func readCluster(field string, c v1alpha1.ClusterSpec, s *credentials.Reader) values.Values {
	s.CompareType("clusters")
	kubeconfig := findKubeconfig(s)
	if c.Tunnel != nil && s.Has(serverKey) {
		s.Data = maps.Clone(s.Data)
		s.Data[serverKey] = c.Server
	}
	declarative := s.Has(serverKey) || s.Has(configKey) && kubeconfig != configKey
	token := s.Type == tokenType || s.Has(tokenKey)
	var v values.Values
	switch {
	case token && !declarative && kubeconfig == "":
		v = tokenCluster(c, s)
	case declarative && kubeconfig == "" && !token:
		v = declarativeCluster(s)
	case kubeconfig != "" && !declarative && !token:
		v = kubeconfigCluster(c, s, kubeconfig)
	case declarative || kubeconfig != "":
		s.Fail("it has keys of several forms: write either server and config, or kubeconfig, or token and ca.crt")
	case c.Name == inCluster && isWithoutServer(s.Data):
		data := map[string]string{serverKey: inClusterServer}
		maps.Copy(data, s.Data)
		s.Data = data
		v = declarativeCluster(s)
	default:
		s.Fail("it has none of the forms that are known: write the keys server and config, or kubeconfig, or token and ca.crt")
	}
	setAuthority(field, c, s, v)
	setTunnel(c, s, v)
	if server := values.At[string](v, serverKey); c.Server != "" && strings.TrimRight(server, "/") != strings.TrimRight(c.Server, "/") {
		s.Fail("its API server is another than %s.server, %s: write the same in both, or leave the cluster's field server out", field, c.Server)
	}
	return v
}

// setAuthority sets the certificate authority that the claim has of a cluster.
func setAuthority(field string, c v1alpha1.ClusterSpec, s *credentials.Reader, v values.Values) {
	path := []string{configKey, "tlsClientConfig", "caData"}
	if c.CertificateAuthority == "" || v == nil {
		return
	}
	is, _ := base64.StdEncoding.DecodeString(values.At[string](v, path...))
	switch {
	case len(is) > 0 && strings.TrimSpace(string(is)) != strings.TrimSpace(c.CertificateAuthority):
		s.Fail("its certificate authority is another than %s.certificateAuthority: write the same in both, or leave one of the two out", field)
	case values.At[bool](v, configKey, "tlsClientConfig", "insecure"):
		s.Fail("it says not to verify the certificate, and %s.certificateAuthority is set: leave one of the two out", field)
	default:
		values.Insert(v, base64.StdEncoding.EncodeToString([]byte(c.CertificateAuthority)), path...)
	}
}

// isWithoutServer reports whether a Secret has neither a server nor credentials, which the cluster that Argo CD runs in doesn't need: its
// Secret may have labels alone.
func isWithoutServer(data map[string]string) bool {
	for key := range data {
		if !slices.Contains([]string{nameKey, "project", "namespaces", "clusterResources", "shard"}, key) {
			return false
		}
	}
	return true
}

// findKubeconfig returns the key with the kubeconfig, whatever it is called: the Secrets of Cluster API have it at value, and those of
// vcluster at config. It returns "" for none.
func findKubeconfig(s *credentials.Reader) string {
	if s.Has(kubeconfigKey) {
		return kubeconfigKey
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if v := s.Data[key]; strings.Contains(v, "current-context") && strings.Contains(v, "clusters") && strings.Contains(v, "contexts") {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return ""
	}
	if slices.ContainsFunc(found, func(key string) bool { return s.Data[key] != s.Data[found[0]] }) {
		s.Fail("it has several kubeconfigs, at the keys %s: write the one to use at the key %s", strings.Join(found, ", "), kubeconfigKey)
	}
	return found[0]
}

// declarativeCluster reads Argo CD's own form.
func declarativeCluster(s *credentials.Reader) values.Values {
	const form = "Argo CD's cluster Secret has server and config"
	server, project, shard, name := s.Need(serverKey, form), s.Text("project"), s.Text("shard"), s.Text(nameKey)
	config, all := clusterConfig{}, inClusterConfig()
	raw := []byte(s.Text(configKey))
	if !isInCluster(server) || len(raw) > 0 {
		raw, all = []byte(s.Need(configKey, form)), values.Values{}
	} else {
		raw = []byte("{}")
	}
	if err := text.JSON(raw, &config); err != nil {
		s.Fail("key %s is not the JSON that Argo CD knows, such as {\"bearerToken\": \"...\", \"tlsClientConfig\": {\"caData\": \"...\"}}: %s", configKey, err)
		return nil
	}
	// Fields that aren't checked here reach Argo CD, too; nulls don't, which take
	// values away where Helm merges them.
	_ = text.JSON(raw, &all)
	dropNulls(all)
	for _, name := range unknownFields(all, reflect.TypeFor[clusterConfig](), "") {
		s.Note("field %s of key %s has no effect: it is none of Argo CD's", name, configKey)
	}
	for _, field := range since {
		if _, has := values.Lookup(all, field.path...); has {
			s.NoteSince("field "+strings.Join(field.path, ".")+" of key "+configKey, field.version)
		}
	}
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
	out := values.Values{"server": server, "config": all, "project": project, "shard": shard, "namespaces": listOfNamespaces(namespaces), nameKey: name,
		"labels": labels(s), "annotations": annotations(s.Annotations)}
	if name != "" && !isName(name) {
		s.Fail("key name can't be the name of a cluster: write text of one line, %d characters at most", maxName)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if !slices.ContainsFunc(Keys, func(k credentials.Key) bool { return k.Name == key }) {
			s.Note("key %s has no effect: it is none of Argo CD's", key)
		}
	}
	if config.AWSAuthConfig != nil {
		s.Note("awsAuthConfig takes the identity of Argo CD's pods, and pods of a virtual cluster have none in AWS: write execProviderConfig with the credentials in env, or give Argo CD's pods credentials by spec.argocd.values: %s", pages.CloudAWS)
	}
	noteIdentity(s, config.ExecProviderConfig)
	switch of := s.Text("clusterResources"); of {
	case "true":
		out["clusterResources"] = "true"
	case "", "false":
	default:
		s.Fail("key clusterResources is neither true nor false, and Argo CD takes it for false: write one of them")
	}
	if project != "" && len(validation.IsDNS1123Subdomain(project)) > 0 {
		s.Fail("key project is not the name of a project: write lower case letters, digits, dots and dashes")
	}
	if n, err := strconv.Atoi(shard); (err != nil || n < 0) && shard != "" {
		s.Fail("key shard is not the number of a controller: write one such as 0, or leave it out")
	}
	checkClusterConfig(s, server, config)
	return out
}

// unknownFields returns the paths of fields that a type doesn't have, sorted. Argo CD reads names of fields without regard to case.
func unknownFields(v values.Values, of reflect.Type, below string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		at := strings.TrimPrefix(below+"."+key, ".")
		f, has := of.FieldByNameFunc(func(name string) bool {
			f, _ := of.FieldByName(name)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return strings.EqualFold(tag, key)
		})
		if !has {
			out = append(out, at)
			continue
		}
		is := f.Type
		if is.Kind() == reflect.Pointer {
			is = is.Elem()
		}
		if m, ok := v[key].(values.Values); ok && is.Kind() == reflect.Struct {
			out = append(out, unknownFields(m, is, at)...)
		}
	}
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
	token, ca := s.Need(tokenKey, form), s.Text(caKey)
	if ca == "" && c.CertificateAuthority == "" {
		s.Need(caKey, form+"; or write certificateAuthority into the claim")
	}
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
	if u, err := url.Parse(server); err == nil && isLocal(u.Hostname()) {
		s.Fail("the API server's URL has the address of the machine that it was written on, which Argo CD doesn't run on: write one that Argo CD reaches, such as https://203.0.113.7:6443")
	}
	if strings.ContainsAny(c.BearerToken, " \t\r\n") {
		s.Fail("its token has space in it, which no API server takes: write the token alone, without a line break and without Bearer")
	}
	if c.BearerToken != "" && c.Username+c.Password != "" {
		s.Fail("it has a token, and a user name or password, of which a client takes one: leave the other out")
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
	if !isInCluster(server) && c.BearerToken == "" && c.Username == "" && len(c.TLS.CertData) == 0 && c.AWSAuthConfig == nil && c.ExecProviderConfig == nil {
		s.Fail("it has no credentials: write a token, a client certificate, or a user name and password")
	}
}

// isLocal reports whether a host of a URL is the machine itself.
func isLocal(hostname string) bool {
	address := net.ParseIP(hostname)
	return strings.EqualFold(hostname, "localhost") || address != nil && (address.IsLoopback() || address.IsUnspecified())
}

// isInCluster reports whether it is the server of the cluster that Argo CD runs in, where it uses its own account.
func isInCluster(server string) bool { return strings.TrimRight(server, "/") == inClusterServer }

// Settings of a cluster that are labels and annotations of its Secret. The others of Argo CD are about the Secret itself, where a GitOps tool
// brings it.
const (
	autoLabel     = "argocd.argoproj.io/auto-label-cluster-info"
	skipReconcile = "argocd.argoproj.io/skip-reconcile"
)

// labels are those of a Secret that the cluster has in Argo CD. It says of others that they don't arrive, unless they are about the Secret
// itself: generators may ask for them.
func labels(s *credentials.Reader) values.Values {
	out := without(s.Labels, "app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "virtualargocd.io/", "kubernetes.io/")
	dropped := few.Names{}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if _, has := out[key]; !has && key != credentials.LabelSecretType && !reserved(key, "virtualargocd.io/") {
			dropped.Add(key)
		}
	}
	if dropped.N > 0 {
		s.Note("of its labels, these don't reach Argo CD, where the chart sets such: %s: write others, which generators can ask for", dropped.String())
	}
	return out
}

// annotations are those of a Secret that the cluster has in Argo CD. kubectl keeps the whole Secret in one of its own.
func annotations(of map[string]string) values.Values {
	return without(of, "kubectl.kubernetes.io/", "helm.sh/", "meta.helm.sh/", "argocd.argoproj.io/", "virtualargocd.io/", "kubernetes.io/", "managed-by")
}

// without returns labels or annotations without those that are reserved.
func without(of map[string]string, keys ...string) values.Values {
	out := values.Values{}
	for key, v := range of {
		if !reserved(key, keys...) || key == autoLabel || key == skipReconcile {
			out[key] = v
		}
	}
	return out
}

// kubeconfigCluster reads the current context of the kubeconfig at a key.
func kubeconfigCluster(c v1alpha1.ClusterSpec, s *credentials.Reader, kubeconfigKey string) values.Values {
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
	server := cluster.Server
	if c.Tunnel != nil {
		server = c.Server
	}
	return toArgoCD(s, server, clusterConfig{
		Username: user.Username, Password: user.Password, BearerToken: user.Token,
		ProxyURL: cluster.ProxyURL, DisableCompression: cluster.DisableCompression,
		TLS: tlsClientConfig{
			Insecure: cluster.InsecureSkipTLSVerify, ServerName: cluster.TLSServerName,
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	})
}
