package argocd

import (
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// redisSecret is the Secret with the password of Argo CD's redis, which the chart's pods
// read at key auth.
const redisSecret = "argocd-redis"

// SetObjects adds objects from Secrets to those of the argo-cd chart, and the password of redis. Otherwise the chart makes one in a
// hook, for which Helm always waits: some seconds of each installation and upgrade. Values that set the password themselves stay as
// they are.
func SetObjects(d *tenant.Decision, g tenant.Given, objects []any) {
	is := d.ArgoCD.Values
	own, ok := listOf(is[credentials.ExtraObjects])
	if !ok {
		return
	}
	password := ""
	if !setsRedisPassword(is, own) {
		password = redisPassword(g)
	}
	if password != "" {
		is = values.Merge(is, values.Values{"redisSecretInit": values.Values{"enabled": false}})
		objects = append(slices.Clone(objects), values.Values{
			"apiVersion": "v1", "kind": "Secret",
			"metadata":   values.Values{"name": redisSecret, "namespace": tenant.ArgoCDNamespace},
			"stringData": values.Values{"auth": password},
		})
	}
	if len(objects) == 0 {
		return
	}
	// Helm doesn't merge lists, and values of the Release win over those of a Secret.
	d.ArgoCD.Values = values.Merge(is)
	delete(d.ArgoCD.Values, credentials.ExtraObjects)
	d.Sensitive = values.Merge(d.Sensitive, values.Values{credentials.ExtraObjects: slices.Concat(own, objects)})
}

// listOf returns what the chart makes objects of: the items of a list, or the values of a map.
func listOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case []any:
		return v, true
	case values.Values:
		var out []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, v[key])
		}
		return out, true
	}
	return nil, false
}

// setsRedisPassword reports whether values bring the password of redis, or a redis of
// their own.
func setsRedisPassword(v values.Values, objects []any) bool {
	if _, set := values.Lookup(v, "redisSecretInit", "enabled"); set {
		return true
	}
	if host, _ := values.Lookup(v, "externalRedis", "host"); host != nil && host != "" {
		return true
	}
	return slices.ContainsFunc(objects, func(o any) bool {
		switch o := o.(type) {
		case string:
			return strings.Contains(o, redisSecret)
		case values.Values:
			return isRedisSecret(o)
		}
		return false
	})
}

func isRedisSecret(o values.Values) bool {
	return o["kind"] == "Secret" && values.At[string](o, "metadata", "name") == redisSecret
}

// redisPassword returns the password in use. That of a new tenant is derived from the token of
// its account on the host, which nobody can guess, so that the same request has the same answer.
// It returns "" while there is neither.
func redisPassword(g tenant.Given) string {
	for _, o := range values.At[[]any](g.Before, credentials.ExtraObjects) {
		if o, ok := o.(values.Values); ok && isRedisSecret(o) {
			if password, _ := values.Lookup(o, "stringData", "auth"); password != nil && password != "" {
				return fmt.Sprint(password)
			}
		}
	}
	if len(g.Token) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, g.Token)
	mac.Write([]byte(redisSecret))
	return hex.EncodeToString(mac.Sum(nil))
}

//go:embed ha.yaml
var haYAML string

var haDefaults = resource.FromYAML[values.Values](haYAML)

// eitherOr are the paths of values that take one form of several: the fields of two strategies, or of two handlers, don't go together.
var eitherOr = [][]string{
	{"server", "lifecycle", "preStop"}, {"repoServer", "lifecycle", "preStop"}, {"redis-ha", "haproxy", "lifecycle", "preStop"}, {"redis-ha", "haproxy", "deploymentStrategy"},
}

// several reports whether a workload has more than one replica.
func several(v values.Values, workload string) bool {
	return values.At[float64](v, workload, "replicas") > 1 || values.Enabled(v, false, workload, "autoscaling", "enabled")
}

// SeveralServers reports whether Argo CD has more than one API server.
func SeveralServers(v values.Values) bool { return several(v, "server") }

// WithHA completes the values of an Argo CD of which something is there several times, so that what is replaced isn't missed.
func WithHA(v values.Values) values.Values {
	defaults := values.Merge(haDefaults)
	for key, on := range map[string]bool{"redis-ha": redisHA(v), "server": several(v, "server"), "repoServer": several(v, "repoServer")} {
		if !on {
			delete(defaults, key)
		}
	}
	for _, path := range eitherOr {
		if _, set := values.Lookup(v, path...); set {
			unstructured.RemoveNestedField(defaults, path...)
		}
	}
	return values.Merge(defaults, v)
}
