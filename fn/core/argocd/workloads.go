package argocd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
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

// workloadsReady is the readiness of the summary of Argo CD's workloads, in CEL.
// provider-kubernetes looks again after half a minute at an Object that isn't ready, and
// after its --poll interval at one that is. A workload that has no replicas though the
// values don't ask for that was scaled down by hand.
func workloadsReady(t tenant.Tenant) string {
	return fmt.Sprintf("object.data[%q] == '' && object.data[%q] == %q", proxy.SummaryUnavailable, proxy.SummaryStopped,
		proxy.Stopped(asked(t, func(w tenant.Workload) bool { return w.Idle })))
}

// ObserveWorkloads composes an Object that observes a summary of Argo CD's workloads, which the
// proxy makes. It reads no Secret, so that none shows up in a status.
func ObserveWorkloads(t tenant.Tenant) (resource.Object, error) {
	return resource.Observer(t, tenant.Workloads, t.Names.ProviderConfig, resource.ReadyBy(workloadsReady(t)), map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": summaryName(t), "namespace": tenant.ArgoCDNamespace},
	}), nil
}

func summaryName(t tenant.Tenant) string {
	return proxy.SummaryName(asked(t, func(tenant.Workload) bool { return true }))
}

// asked returns those of Argo CD's workloads that the proxy is asked for.
func asked(t tenant.Tenant, which func(tenant.Workload) bool) []proxy.Workload {
	var out []proxy.Workload
	for _, w := range t.Workloads {
		if which(w) {
			out = append(out, proxy.Workload{Kind: w.Kind, Name: w.Name})
		}
	}
	return out
}

// health of one of Argo CD's workloads.
type health struct {
	// Component is the workload's short name.
	component string
	// Available: as many current replicas are available as are wanted.
	available bool
	// Message says what is wrong.
	message string
	// Why one of its pods doesn't run, in the words of the scheduler or the kubelet; ""
	// where they say nothing.
	why string
	// Image of the container that has the component's name; "" where there is none.
	image string
}

// workloadsProblem says why Argo CD's workloads can't be observed; "" where they can.
func workloadsProblem(t tenant.Tenant) string {
	synced := t.Composed(tenant.Workloads).Condition("Synced")
	switch {
	case !synced.False():
		return ""
	case synced.Message == "":
		return synced.Reason
	}
	return synced.Message
}

// workloadHealth judges each of Argo CD's workloads. It reports false where the provider
// has not looked at all of them yet, or can't: old news isn't the truth.
func workloadHealth(t tenant.Tenant) ([]health, bool) {
	m := t.Composed(tenant.Workloads).Get("status", "atProvider", "manifest")
	var data map[string]string
	// The summary may be one of other workloads, from before the values changed.
	if workloadsProblem(t) != "" || m.String("metadata", "name") != summaryName(t) || m.Get("data").Into(&data) != nil {
		return nil, false
	}
	summary, err := proxy.ReadSummary(data)
	if err != nil {
		return nil, false
	}
	out := make([]health, 0, len(t.Workloads))
	for _, w := range t.Workloads {
		i := slices.IndexFunc(summary, func(is proxy.Workload) bool { return is.Kind == w.Kind && is.Name == w.Name })
		if i < 0 {
			return nil, false
		}
		out = append(out, healthOf(w, summary[i]))
	}
	return out, true
}

// WorkloadsAvailable reports whether all of them are.
func WorkloadsAvailable(t tenant.Tenant) bool {
	all, seen := workloadHealth(t)
	return seen && !slices.ContainsFunc(all, func(h health) bool { return !h.available })
}

func healthOf(w tenant.Workload, is proxy.Workload) health {
	what := fmt.Sprintf("%s %s", w.Kind, w.Name)
	h := health{component: w.Component}
	switch {
	case is.Missing:
		h.message = what + " does not exist"
	case is.Replicas == 0 && !w.Idle:
		h.message = what + " is scaled to no replicas"
	case !is.Available:
		// Without the numbers that change: a message that doesn't is one change less.
		h.message, h.why = fmt.Sprintf("%s is not fully available, replicas wanted: %d", what, is.Replicas), is.Why
		if is.Why != "" {
			h.message += ": " + is.Why
		}
	default:
		h.available, h.image = true, is.Images[w.Component]
	}
	return h
}

// RunningVersion is the version of Argo CD that its API server runs: the tag of
// its image, once the workload is available. An image named by digest alone has
// none to tell.
func RunningVersion(t tenant.Tenant) string {
	all, _ := workloadHealth(t)
	for _, h := range all {
		// The chart names the container as the component, not as the workload.
		if h.component == tenant.ComponentServer {
			return tag(h.image)
		}
	}
	return ""
}

func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	// A colon before the last slash belongs to the registry's port.
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
