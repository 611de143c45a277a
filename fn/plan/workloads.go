package plan

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// A Workload of Argo CD in the virtual cluster.
type Workload struct {
	// Component is the workload's short name, unique in a tenant.
	Component string
	// Kind is Deployment or StatefulSet.
	Kind string
	// Name of the workload in ArgoCDNamespace.
	Name string
	// Idle: the values ask for no replicas of it.
	Idle bool
}

// Kinds of workloads.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
)

// ComponentServer is Argo CD's API server: its image tells the version that runs.
const ComponentServer = "server"

// component is a row of the workloads the argo-cd chart knows.
type component struct {
	name   string
	kind   func(v values.Values) string
	suffix string
	wanted func(v values.Values) bool
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
	{name: ComponentServer, kind: is(Deployment), suffix: "server", wanted: always, key: "server"},
	{name: "repo-server", kind: is(Deployment), suffix: "repo-server", wanted: always, key: "repoServer"},
	{name: "controller", kind: controllerKind, suffix: "application-controller", wanted: always, key: "controller"},
	{name: "applicationset", kind: is(Deployment), suffix: "applicationset-controller", wanted: always, key: "applicationSet"},
	{name: "notifications", kind: is(Deployment), suffix: "notifications-controller", wanted: on(true, "notifications", "enabled"), key: "notifications"},
	{name: "commit-server", kind: is(Deployment), suffix: "commit-server", wanted: on(false, "commitServer", "enabled"), key: "commitServer"},
	{name: "dex", kind: is(Deployment), suffix: "dex-server", wanted: on(true, "dex", "enabled"), key: "dex"},
	{name: "redis", kind: is(Deployment), suffix: "redis", wanted: func(v values.Values) bool { return values.Enabled(v, true, "redis", "enabled") && !redisHA(v) }, key: "redis"},
	{name: "redis-ha", kind: is(StatefulSet), suffix: "redis-ha-server", wanted: redisHA, key: "redis-ha"},
	{name: "redis-proxy", kind: is(Deployment), suffix: "redis-ha-haproxy", wanted: func(v values.Values) bool {
		return redisHA(v) && values.Enabled(v, true, "redis-ha", "haproxy", "enabled")
	}, key: "redis-ha.haproxy"},
}

// controllerKind: the chart makes the application controller a Deployment when
// clusters are spread over its replicas dynamically.
func controllerKind(v values.Values) string {
	if values.Enabled(v, false, "controller", "dynamicClusterDistribution") {
		return Deployment
	}
	return StatefulSet
}

// workloads are those that the values make the chart install.
func workloads(v values.Values) []Workload {
	out := make([]Workload, 0, len(components))
	for _, c := range components {
		if c.wanted(v) {
			out = append(out, Workload{Component: c.name, Kind: c.kind(v), Name: ArgoCDRelease + "-" + c.suffix, Idle: c.idle(v)})
		}
	}
	return out
}

// idle tells whether the values ask for no replicas: without, a workload that has
// none was scaled down by hand.
func (c component) idle(v values.Values) bool {
	replicas, set := values.Lookup(v, c.path("replicas")...)
	return set && (replicas == float64(0) || replicas == "0")
}
