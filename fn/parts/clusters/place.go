package clusters

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// A place is where the cluster of an entry stands in the values of the argo-cd chart. The chart makes a cluster's name of a key, of which
// it also makes the name of a Secret, and writes it without quotes. So a cluster with another name is a Secret of our own.
type place struct{ entry string }

// notText are the names that YAML, as Helm's templates write it, takes for
// something else than text.
var notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// isKey reports whether the chart can have a name as a key.
func isKey(name string) bool {
	return len(validation.IsDNS1035Label(name)) == 0 && !slices.Contains(notText, name)
}

// path of the cluster in the chart's own list.
func (p place) path() []string { return []string{"configs", "clusterCredentials", p.entry} }

// object is the name of the Secret of our own.
func (p place) object() string {
	sum := sha256.Sum256([]byte(p.entry))
	return "argocd-cluster-" + hex.EncodeToString(sum[:8])
}

func (p place) reserve(of part.Candidate, field string) error {
	if !isKey(p.entry) {
		return nil
	}
	return of.ArgoCD.Reserve(values.Input, field+", which has the same name", values.Not(p.path()...))
}

// keepName leaves a cluster the name that it has in Argo CD, if that is the entry's: ApplicationSets make the names of Applications of
// it, and would delete those under the old name.
func (p place) keepName(s *credentials.Sensitive, v values.Values, secret *credentials.Reader) {
	if _, ok := values.Lookup(s.Before, p.path()...); ok && v != nil && v[nameKey] != p.entry {
		v[nameKey] = p.entry
		secret.Note("key name is not used, because Argo CD has this cluster under the name of the entry, %s: to rename it, remove the entry and add it again", p.entry)
	}
}

// add adds the cluster, or what was there before.
func (p place) add(s *credentials.Sensitive, secret *credentials.Reader, v values.Values) tenant.Connection {
	c := tenant.Connection{Name: p.entry}
	_, listed := values.Lookup(s.Before, p.path()...)
	inList := v != nil && v[nameKey] == p.entry && isKey(p.entry) || v == nil && listed
	if inList {
		if v != nil {
			delete(v, nameKey)
		}
		c = s.Add(c, secret.Problem, v, p.path()...)
	} else {
		c = s.AddObject(c, secret.Problem, p.secret(v), p.object())
	}
	if c.State == v1alpha1.StateConfigured {
		c.Message = secret.Notes()
	}
	return c
}

// used returns the server and the name of the cluster in use; "" for none.
func (p place) used(s *credentials.Sensitive) (server, name string) {
	if v := values.At[values.Values](s.Values, p.path()...); v != nil {
		return values.At[string](v, serverKey), p.entry
	}
	for _, o := range s.Objects {
		if o, ok := o.(values.Values); ok && values.At[string](o, "metadata", "name") == p.object() {
			return decoded(o, serverKey), decoded(o, nameKey)
		}
	}
	return "", ""
}

func decoded(o values.Values, key string) string {
	raw, _ := base64.StdEncoding.DecodeString(values.At[string](o, "data", key))
	return string(raw)
}

// secret is the cluster as Argo CD's own Secret. The chart takes what it adds for templates, so nothing in it may look like one.
func (p place) secret(v values.Values) values.Values {
	if v == nil {
		return nil
	}
	data := values.Values{}
	for _, key := range []string{nameKey, serverKey, "namespaces", "clusterResources", "project", "shard"} {
		if text := values.At[string](v, key); text != "" {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	config, err := json.Marshal(v[configKey])
	if err != nil {
		return nil
	}
	data[configKey] = base64.StdEncoding.EncodeToString(config)
	metadata := values.Values{"name": p.object(), "namespace": tenant.ArgoCDNamespace,
		"labels": values.Merge(values.At[values.Values](v, "labels"), values.Values{credentials.LabelSecretType: "cluster", "app.kubernetes.io/part-of": "argocd"})}
	if annotations := values.At[values.Values](v, "annotations"); len(annotations) > 0 {
		escaped := values.Values{}
		for key, at := range annotations {
			text, _ := at.(string)
			escaped[key] = strings.ReplaceAll(text, "{{", "{{`{{`}}")
		}
		metadata["annotations"] = escaped
	}
	return values.Values{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}
}
