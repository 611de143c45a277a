package argocd

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Kinds of workloads.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
)

// component is a row of the workloads the argo-cd chart knows.
type component struct {
	name   string
	kind   func(v values.Values) string
	suffix string
	runs   func(v values.Values) bool
	// key of the component in the chart's values, with dots between.
	key string
}

func (c component) path(keys ...string) []string { return append(strings.Split(c.key, "."), keys...) }

func always(values.Values) bool { return true }

func is(kind string) func(values.Values) string { return func(values.Values) string { return kind } }

// on reads the chart's switch, which is on or off by default.
func on(byDefault bool, path ...string) func(values.Values) bool {
	return func(v values.Values) bool { return values.Enabled(v, byDefault, path...) }
}

func redisHA(v values.Values) bool { return values.Enabled(v, false, "redis-ha", "enabled") }

// components mirror the conditions in the chart's templates (9.3.7 to 10.1.1).
var components = []component{
	{name: tenant.ComponentServer, kind: is(deployment), suffix: "server", runs: always, key: "server"},
	{name: "repo-server", kind: is(deployment), suffix: "repo-server", runs: always, key: "repoServer"},
	{name: "controller", kind: controllerKind, suffix: "application-controller", runs: always, key: "controller"},
	{name: "applicationset", kind: is(deployment), suffix: "applicationset-controller", runs: always, key: "applicationSet"},
	{name: "notifications", kind: is(deployment), suffix: "notifications-controller", runs: on(true, "notifications", "enabled"), key: "notifications"},
	{name: "commit-server", kind: is(deployment), suffix: "commit-server", runs: on(false, "commitServer", "enabled"), key: "commitServer"},
	{name: "dex", kind: is(deployment), suffix: "dex-server", runs: on(true, "dex", "enabled"), key: "dex"},
	{name: "redis", kind: is(deployment), suffix: "redis", runs: func(v values.Values) bool { return values.Enabled(v, true, "redis", "enabled") && !redisHA(v) }, key: "redis"},
	{name: "redis-ha", kind: is(statefulSet), suffix: "redis-ha-server", runs: redisHA, key: "redis-ha"},
	{name: "redis-proxy", kind: is(deployment), suffix: "redis-ha-haproxy", runs: func(v values.Values) bool {
		return redisHA(v) && values.Enabled(v, true, "redis-ha", "haproxy", "enabled")
	}, key: "redis-ha.haproxy"},
}

// controllerKind: the chart makes the application controller a Deployment when
// clusters are spread over its replicas dynamically.
func controllerKind(v values.Values) string {
	if values.Enabled(v, false, "controller", "dynamicClusterDistribution") {
		return deployment
	}
	return statefulSet
}

// ExpectedWorkloads returns those that the values make the chart install.
func ExpectedWorkloads(v values.Values) []tenant.Workload {
	out := make([]tenant.Workload, 0, len(components))
	for _, c := range components {
		if c.runs(v) {
			out = append(out, tenant.Workload{Component: c.name, Kind: c.kind(v), Name: tenant.HelmArgoCD + "-" + c.suffix, Idle: c.idle(v)})
		}
	}
	return out
}

// idle reports whether the values ask for no replicas: without, a workload that has
// none was scaled down by hand.
func (c component) idle(v values.Values) bool {
	replicas, set := values.Lookup(v, c.path("replicas")...)
	return set && (replicas == float64(0) || replicas == "0")
}
