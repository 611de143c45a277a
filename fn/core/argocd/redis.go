package argocd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// redisSecret is the Secret with the password of Argo CD's redis, which the chart's pods
// read at key auth.
const redisSecret = "argocd-redis"

// extraObjects is the list of the argo-cd chart that adds objects to it.
const extraObjects = "extraObjects"

// SetRedis gives redis its password. The argo-cd chart has a Job make one, a hook that
// takes some seconds of each installation and upgrade, and for which Helm waits even
// where it waits for nothing else. Values that see to the password themselves stay as
// they are.
func SetRedis(p *tenant.Decision, r tenant.Given) {
	is := p.ArgoCD.Values
	objects, isList := is[extraObjects].([]any)
	if _, set := is[extraObjects]; set && !isList || setsRedisPassword(is, objects) {
		return
	}
	password := redisPassword(r)
	if password == "" {
		return
	}
	p.ArgoCD.Values = values.Merge(is, values.Values{"redisSecretInit": values.Values{"enabled": false}})
	// Helm takes a list from one place alone.
	delete(p.ArgoCD.Values, extraObjects)
	p.Sensitive = values.Merge(p.Sensitive, values.Values{extraObjects: append(slices.Clone(objects), values.Values{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   values.Values{"name": redisSecret, "namespace": tenant.ArgoCDNamespace},
		"stringData": values.Values{"auth": password},
	})})
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

// redisPassword returns the password in use, and for a new tenant one that follows from
// the token of its account on the host, which nobody can guess: the function has no
// other source of what nobody knows, and answers the same request the same.
// It returns "" while there is neither.
func redisPassword(r tenant.Given) string {
	for _, o := range values.At[[]any](r.Before(), extraObjects) {
		if o, ok := o.(values.Values); ok && isRedisSecret(o) {
			if password, _ := values.Lookup(o, "stringData", "auth"); password != nil && password != "" {
				return fmt.Sprint(password)
			}
		}
	}
	if len(r.Token) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, r.Token)
	mac.Write([]byte(redisSecret))
	return hex.EncodeToString(mac.Sum(nil))
}

// WithRedisHA completes the values of an Argo CD whose redis has high availability. Pods
// of redis-ha are to come and go sooner. Each waits for the one before it, when they come
// and when they are replaced, and all of them have to be done before Helm gives up. By the
// chart's values it takes one more than a minute to be ready. To go it takes the whole
// grace period, a minute: one of its containers doesn't listen. They are taken for dead
// after no less than by the chart's values.
func WithRedisHA(v values.Values) values.Values {
	if !redisHA(v) {
		return v
	}
	probe := func(delay, failures, successes float64) values.Values {
		return values.Values{"initialDelaySeconds": delay, "periodSeconds": 3., "failureThreshold": failures, "successThreshold": successes}
	}
	defaults := values.Values{"redis-ha": values.Values{
		"redis":    values.Values{"startupProbe": probe(3, 34, 1), "readinessProbe": probe(1, 25, 1), "terminationGracePeriodSeconds": 20.},
		"sentinel": values.Values{"startupProbe": probe(3, 12, 1), "readinessProbe": probe(1, 25, 3)},
	}}
	at := []string{"redis-ha", "haproxy", "deploymentStrategy"}
	if _, set := values.Lookup(v, at...); !set {
		// On three nodes there is no place for a fourth proxy beside the three that are
		// replaced, each on a node of its own: by Kubernetes' default no proxy would go
		// before it is there.
		values.Insert(defaults, values.Values{"type": "RollingUpdate", "rollingUpdate": values.Values{"maxSurge": 0., "maxUnavailable": 1.}}, at...)
	}
	return values.Merge(defaults, v)
}
