// Package clusters is the part of a claim with the clusters that its Argo CD deploys to.
package clusters

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// Part is spec.clusters.
var Part = part.Part{
	Field: "spec.clusters", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionClustersConnected,
	Has:       func(t tenant.Tenant) bool { return len(t.Clusters) > 0 },
	Observe: func(t tenant.Tenant, is condition.Of) condition.Condition {
		return argocd.Connected(t, is, t.Clusters, "cluster")
	},
	Report: func(t tenant.Tenant, s *v1alpha1.Status) {
		for _, c := range argocd.Seen(t, t.Clusters) {
			s.Clusters = append(s.Clusters, v1alpha1.ClusterStatus{Name: c.Name, State: c.State, Agent: c.AgentStatus, Message: c.Message})
		}
	},
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, c := range s.Clusters {
		if c = tunnelled(c); c.SecretRef != nil {
			names = append(names, c.SecretRef.Name)
		}
	}
	return names
}

// Argo CD's names of the cluster that it runs in.
const (
	inCluster       = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)

// resolve registers the clusters of the spec.
func resolve(of part.Candidate) error {
	taken := taken{servers: map[string]string{}, names: map[string]string{}}
	seen := map[string]bool{}
	found := []error{setTunnels(of)}
	for i, c := range of.Spec.Clusters {
		field := fmt.Sprintf("spec.clusters[%d]", i)
		p, err := place{c.Name}, checkCluster(field, c)
		if seen[c.Name] {
			err = mistakes.Join(err, fmt.Errorf("%s.name: %q is the name of another cluster, too: write another name", field, c.Name))
		}
		err = mistakes.Join(err, p.reserve(of, field))
		if seen[c.Name] = true; err != nil {
			found = append(found, err)
			continue
		}
		c = tunnelled(c)
		secret := &credentials.Reader{}
		if c.SecretRef != nil {
			secret = credentials.Read(of.Given, c.SecretRef.Name)
		}
		value := clusterValue(field, c, secret)
		noteProgram(of, secret, values.At[string](value, "config", "execProviderConfig", "command"))
		p.keepName(of.Sensitive, value, secret)
		taken.check(value, secret)
		if r := of.Spec.RestoreFrom; r != nil && !r.Activate && c.SecretRef != nil {
			secret.Wait(v1alpha1.StateInactive, "Argo CD gets its credentials once spec.restoreFrom.activate is true")
		}
		connection := p.add(of.Sensitive, secret, value)
		server, name := p.used(of.Sensitive)
		if server != "" {
			connection.Key = proxy.ClusterKey(server)
		}
		if agent := tenant.TunnelAgentName(c.Name); c.Tunnel != nil {
			connection.Agent, connection.Manifest = proxy.AgentKey(agent), tenant.TunnelKey(agent)
		}
		taken.add(server, name, c.Name)
		of.Decision.Clusters = append(of.Decision.Clusters, connection)
	}
	return mistakes.Join(found...)
}

// taken are the servers and names that clusters have in Argo CD, which tells clusters apart by them, with the names of the entries.
type taken struct{ servers, names map[string]string }

func (t taken) check(v values.Values, s *credentials.Reader) {
	server := values.At[string](v, "server")
	if other, ok := t.servers[strings.TrimRight(server, "/")]; ok && s.Problem == nil {
		s.Fail("its API server %s is that of cluster %s, too, and Argo CD tells clusters apart by it: leave one of the two out", server, other)
	}
	if other, ok := t.names[values.At[string](v, nameKey)]; ok && s.Problem == nil {
		s.Fail("key name is the name that cluster %s has in Argo CD, too: write another, or leave the key out", other)
	}
}

func (t taken) add(server, name, entry string) {
	if server != "" {
		t.servers[strings.TrimRight(server, "/")], t.names[name] = entry, entry
	}
}

// checkCluster checks a cluster's fields as the schema does, and for what Kubernetes would
// refuse later.
func checkCluster(field string, c v1alpha1.ClusterSpec) error {
	var found []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			found = append(found, fmt.Errorf("%s."+format, append([]any{field}, args...)...))
		}
	}
	refuse(!isName(c.Name), "name: %q can't be the name of a cluster: write text of one line without space around it, %d characters at most, such as production", c.Name, maxName)
	switch {
	case c.SecretRef != nil:
		found = append(found, credentials.CheckSecretRef(field, *c.SecretRef))
	case c.Tunnel != nil:
		refuse(len(validation.IsDNS1123Subdomain(c.Name)) > 0, "secretRef.name: is missing, and no Secret can have the name of the cluster: write the name of a Secret in the namespace of the claim")
	default:
		refuse(c.Server != inClusterServer && (c.Server != "" || c.Name != inCluster), "secretRef.name: is missing: write the name of a Secret in the namespace of the claim; only the virtual cluster itself, whose server is %s, needs none", inClusterServer)
	}
	if c.Tunnel != nil {
		refuse(c.Name == inCluster, "tunnel: %s is the virtual cluster itself, which Argo CD reaches without: leave it out", inCluster)
		refuse(c.Server != "", "server: has no effect with a tunnel, by which Argo CD reaches the API server: leave it out")
		refuse(len(c.Tunnel.RotateKey) > maxRotateKey, "tunnel.rotateKey: has more than %d characters: write a short text, such as a date", maxRotateKey)
	}
	found = append(found, credentials.CheckProject(field, c.Project))
	for _, namespace := range c.Namespaces {
		refuse(len(validation.IsDNS1123Label(namespace)) > 0, "namespaces: %q is not a namespace: write a DNS label", namespace)
	}
	refuse(c.Server != "" && !credentials.APIServerURL.MatchString(c.Server), "server: %q is not the URL of an API server: write one such as https://203.0.113.7:6443", c.Server)
	if c.CertificateAuthority != "" {
		_, err := credentials.CheckCertificates(field+".certificateAuthority", c.CertificateAuthority)
		found = append(found, err)
		refuse(c.SecretRef == nil && c.Tunnel == nil, "certificateAuthority: has no effect without secretRef, for the virtual cluster itself: leave it out")
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		refuse(reserved(key, "app.kubernetes.io/", "helm.sh/") || key == credentials.LabelSecretType, "labels: %q is the chart's to set: leave it out", key)
		refuse(len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(string(c.Labels[key]))) > 0, "labels: %q: %q is not a label: write letters, digits, dots, dashes and underscores, 63 at most", key, c.Labels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		refuse(reserved(key, "helm.sh/", "meta.helm.sh/"), "annotations: %q is Helm's to set: leave it out", key)
		refuse(len(validation.IsQualifiedName(strings.ToLower(key))) > 0, "annotations: %q is not the key of an annotation: write one such as example.org/team", key)
	}
	return mistakes.Join(found...)
}

// maxName bounds the name of a cluster, in characters.
const maxName = 253

// isName reports whether Argo CD can show and compare a name.
func isName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// reserved reports whether a key is one of those, or below one that ends with a slash.
func reserved(key string, keys ...string) bool {
	return slices.ContainsFunc(keys, func(of string) bool { return key == of || strings.HasSuffix(of, "/") && strings.HasPrefix(key, of) })
}

// clusterValue is an entry of the argo-cd chart's configs.clusterCredentials, read from the cluster's Secret, with the name that the
// cluster has in Argo CD.
func clusterValue(field string, c v1alpha1.ClusterSpec, s *credentials.Reader) values.Values {
	v := values.Values{"server": inClusterServer, "config": inClusterConfig()}
	if c.SecretRef != nil {
		v = readCluster(field, c, s)
	}
	server := values.At[string](v, "server")
	if c.Name == inCluster && !isInCluster(server) {
		s.Fail("%s is Argo CD's name of the virtual cluster itself, and this is another: write another name in %s.name", inCluster, field)
	}
	if values.At[string](v, nameKey) == inCluster && !isInCluster(server) {
		s.Fail("key name is %s, Argo CD's name of the virtual cluster itself, and this is another: write another name, or leave the key out", inCluster)
	}
	if s.Problem != nil {
		return nil
	}
	if c.Project != "" {
		v["project"] = c.Project
	}
	if len(c.Namespaces) > 0 {
		v["namespaces"] = listOfNamespaces(c.Namespaces)
	}
	if values.At[string](v, "namespaces") == "" {
		delete(v, "clusterResources")
	}
	for _, m := range []struct {
		key string
		of  values.Values
	}{{"labels", texts(c.Labels)}, {"annotations", texts(c.Annotations)}} {
		if all := values.Merge(values.At[values.Values](v, m.key), m.of); len(all) > 0 {
			v[m.key] = all
		} else {
			delete(v, m.key)
		}
	}
	maps.DeleteFunc(v, func(_ string, at any) bool { return at == "" })
	if v[nameKey] == nil {
		v[nameKey] = c.Name
	}
	return v
}

// inClusterConfig is what Argo CD needs for the cluster that it runs in: it uses its own account there.
func inClusterConfig() values.Values {
	return values.Values{"tlsClientConfig": values.Values{"insecure": false}}
}

// listOfNamespaces is how Argo CD keeps them; "" for none. The chart writes the list without
// quotes, so that a single namespace such as 2024 would become a number: it is
// named twice then, which is the same to Argo CD.
func listOfNamespaces(namespaces []string) string {
	if len(namespaces) == 1 && (namespaces[0][0] <= '9' || slices.Contains(notText, namespaces[0])) {
		namespaces = slices.Repeat(namespaces, 2)
	}
	return strings.Join(namespaces, ",")
}

func texts[V ~string](m map[string]V) values.Values {
	out := make(values.Values, len(m))
	for key, v := range m {
		out[key] = string(v)
	}
	return out
}
