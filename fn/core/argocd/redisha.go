package argocd

import "github.com/virtual-argocd/virtual-argocd/fn/values"

// WithRedisHA completes the values of an Argo CD whose redis has high availability.
func WithRedisHA(v values.Values) values.Values {
	if !redisHA(v) {
		return v
	}
	defaults := redisHADefaults()
	at := []string{"redis-ha", "haproxy", "deploymentStrategy"}
	if _, set := values.Lookup(v, at...); !set {
		// On three nodes there is no place for a fourth proxy beside the three that are
		// replaced, each on a node of its own: by Kubernetes' default no proxy would go
		// before it is there.
		values.Insert(defaults, values.Values{"type": "RollingUpdate", "rollingUpdate": values.Values{"maxSurge": 0., "maxUnavailable": 1.}}, at...)
	}
	return values.Merge(defaults, v)
}

// redisHADefaults have the pods of redis-ha come and go sooner. Each waits for the one
// before it, when they come and when they are replaced, and all of them have to be
// done before Helm gives up. By the chart's values it takes one more than a minute to
// be ready. To go it takes the whole grace period, a minute: one of its containers
// doesn't listen. They are taken for dead after no less than by the chart's values.
func redisHADefaults() values.Values {
	probe := func(delay, failures, successes float64) values.Values {
		return values.Values{"initialDelaySeconds": delay, "periodSeconds": 3., "failureThreshold": failures, "successThreshold": successes}
	}
	return values.Values{"redis-ha": values.Values{
		"redis":    values.Values{"startupProbe": probe(3, 34, 1), "readinessProbe": probe(1, 25, 1), "terminationGracePeriodSeconds": 20.},
		"sentinel": values.Values{"startupProbe": probe(3, 12, 1), "readinessProbe": probe(1, 25, 3)},
	}}
}
