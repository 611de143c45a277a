// Package clusters is the part of a claim with the clusters that its Argo CD deploys to.
package clusters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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
		for _, c := range t.Clusters {
			s.Clusters = append(s.Clusters, v1alpha1.ClusterStatus{Name: c.Name, State: c.State, Message: c.Message})
		}
	},
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, c := range s.Clusters {
		names = append(names, c.SecretRef.Name)
	}
	return names
}

// notText are the names that YAML, as Helm's templates write it, takes for
// something else than text.
var notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// inCluster is Argo CD's name of the cluster that it runs in.
const inCluster = "in-cluster"

// resolve registers the clusters of the spec.
func resolve(of part.Candidate) error {
	servers, seen := map[string]string{}, map[string]bool{}
	for i, c := range of.Spec.Clusters {
		field := fmt.Sprintf("spec.clusters[%d]", i)
		if err := checkCluster(field, c); err != nil {
			return err
		}
		if seen[c.Name] {
			return fmt.Errorf("%s.name: %q is the name of another cluster, too: write another name", field, c.Name)
		}
		seen[c.Name] = true
		path := []string{"configs", "clusterCredentials", c.Name}
		if err := of.ArgoCD.Reserve(values.Input, field+", which has the same name", values.Not(path...)); err != nil {
			return err
		}
		secret := credentials.Read(of.Given, c.SecretRef.Name)
		value := clusterValue(c, secret)
		server := values.At[string](value, "server")
		if other, ok := servers[strings.TrimRight(server, "/")]; ok && secret.Problem == nil {
			secret.Fail("its API server %s is that of cluster %s, too, and Argo CD tells clusters apart by it: leave one of the two out", server, other)
		}
		connection := of.Sensitive.Add(tenant.Connection{Name: c.Name}, secret.Problem, value, path...)
		if used, ok := values.Lookup(of.Sensitive.Values, append(path, "server")...); ok {
			servers[strings.TrimRight(fmt.Sprint(used), "/")] = c.Name
		}
		of.Decision.Clusters = append(of.Decision.Clusters, connection)
	}
	return nil
}

// checkCluster checks a cluster's fields as the schema does, and for what Kubernetes would
// refuse later.
func checkCluster(field string, c v1alpha1.ClusterSpec) error {
	if len(validation.IsDNS1035Label(c.Name)) > 0 || c.Name == inCluster || slices.Contains(notText, c.Name) {
		return fmt.Errorf("%s.name: %q can't be the name of a cluster: write a DNS label that begins with a letter, such as production; not %s, and none of %s", field, c.Name, inCluster, strings.Join(notText, ", "))
	}
	if err := cmp.Or(credentials.CheckSecretRef(field, c.SecretRef), credentials.CheckProject(field, c.Project)); err != nil {
		return err
	}
	for _, namespace := range c.Namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("%s.namespaces: %q is not a namespace: write a DNS label", field, namespace)
		}
	}
	if c.Server != "" && !credentials.APIServerURL.MatchString(c.Server) {
		return fmt.Errorf("%s.server: %q is not the URL of an API server: write one such as https://203.0.113.7:6443", field, c.Server)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		if reserved(key, "app.kubernetes.io/", "helm.sh/") || key == "argocd.argoproj.io/secret-type" {
			return fmt.Errorf("%s.labels: %q is the chart's to set: leave it out", field, key)
		}
		if len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(string(c.Labels[key]))) > 0 {
			return fmt.Errorf("%s.labels: %q: %q is not a label: write letters, digits, dots, dashes and underscores, 63 at most", field, key, c.Labels[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		if reserved(key, "helm.sh/", "meta.helm.sh/") {
			return fmt.Errorf("%s.annotations: %q is Helm's to set: leave it out", field, key)
		}
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return fmt.Errorf("%s.annotations: %q is not the key of an annotation: write one such as example.org/team", field, key)
		}
	}
	return nil
}

func reserved(key string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// clusterValue is an entry of the argo-cd chart's configs.clusterCredentials,
// read from the cluster's Secret.
func clusterValue(c v1alpha1.ClusterSpec, s *credentials.Reader) values.Values {
	v := readCluster(c, s)
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
	if len(c.Labels) > 0 {
		v["labels"] = texts(c.Labels)
	}
	if len(c.Annotations) > 0 {
		v["annotations"] = texts(c.Annotations)
	}
	maps.DeleteFunc(v, func(_ string, at any) bool { return at == "" })
	return v
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
