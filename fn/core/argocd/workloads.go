package argocd

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// Kinds of workloads.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
)

// component is a row of the workloads the argo-cd chart knows.
type component struct {
	name, kind, suffix string
	// key of the component in the chart's values, with dots between.
	key string
	// runs reports whether the chart installs it; nil for always.
	runs func(v values.Values) bool
	// scales reports whether the chart reads how many replicas it has from key.replicas.
	scales bool
}

// enabled reads the chart's switch of a component, which is on or off by default.
func enabled(byDefault bool, component ...string) func(values.Values) bool {
	return func(v values.Values) bool { return values.Enabled(v, byDefault, append(component, "enabled")...) }
}

var redisHA = enabled(false, "redis-ha")

// components mirror the conditions in the chart's templates (9.3.7 to 10.1.1).
var components = []component{
	{tenant.ComponentServer, deployment, "server", "server", nil, true},
	{"repo-server", deployment, "repo-server", "repoServer", nil, true},
	{"controller", statefulSet, "application-controller", "controller", nil, true},
	{"applicationset", deployment, "applicationset-controller", "applicationSet", nil, true},
	{"notifications", deployment, "notifications-controller", "notifications", enabled(true, "notifications"), false},
	{"commit-server", deployment, "commit-server", "commitServer", enabled(false, "commitServer"), false},
	{"dex", deployment, "dex-server", "dex", enabled(true, "dex"), false},
	{"redis", deployment, "redis", "redis", func(v values.Values) bool { return enabled(true, "redis")(v) && !redisHA(v) }, false},
	{"redis-ha", statefulSet, "redis-ha-server", "redis-ha", redisHA, true},
	{"redis-proxy", deployment, "redis-ha-haproxy", "redis-ha.haproxy", func(v values.Values) bool { return redisHA(v) && enabled(true, "redis-ha", "haproxy")(v) }, true},
}

// ExpectedWorkloads returns those that the values make the chart install.
func ExpectedWorkloads(v values.Values) []tenant.Workload {
	var out []tenant.Workload
	for _, c := range components {
		if c.runs != nil && !c.runs(v) {
			continue
		}
		// The chart makes it a Deployment when clusters are spread over its replicas dynamically.
		if c.name == "controller" && values.Enabled(v, false, "controller", "dynamicClusterDistribution") {
			c.kind = deployment
		}
		replicas, _ := values.Lookup(v, append(strings.Split(c.key, "."), "replicas")...)
		w := tenant.Workload{
			Component: c.name, Kind: c.kind, Name: tenant.HelmArgoCD + "-" + c.suffix, Idle: replicas == float64(0) || replicas == "0",
		}
		if n, ok := replicas.(float64); ok && c.scales && !values.Enabled(v, false, append(strings.Split(c.key, "."), "autoscaling", "enabled")...) {
			w.Replicas = int64(n)
		}
		out = append(out, w)
	}
	return out
}

// TunnelServer is the server of tunnels, which is among the objects that claims add to the chart's.
var TunnelServer = tenant.Workload{Component: "tunnel", Kind: deployment, Name: tunnel.Service}

// workloadsReady is the readiness of the summary of Argo CD's workloads, in CEL. provider-kubernetes polls an Object that isn't ready every
// half a minute, and one that is when the proxy notifies it of a change, or after its --poll interval. A workload that has no replicas though
// the values don't ask for that was scaled down by hand.
func workloadsReady(t tenant.Tenant) string {
	return fmt.Sprintf("object.data[%q] == '' && object.data[%q] == %q", proxy.SummaryUnavailable, proxy.SummaryStopped,
		proxy.Stopped(asked(t, func(w tenant.Workload) bool { return w.Idle })))
}

// ObserveWorkloads composes an Object that observes a summary of Argo CD's workloads, which exists in the proxy alone. It reads no Secret, so
// that none shows up in a status.
func ObserveWorkloads(t tenant.Tenant) (resource.Object, error) {
	return resource.Watched(resource.Observer(t, tenant.Workloads, t.Names.ProviderConfig, resource.ReadyBy(workloadsReady(t)),
		corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: tenant.ArgoCDNamespace, Name: summaryName(t)})), nil
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
	component string
	// what is its kind and name, for messages.
	what string
	// available: as many current replicas are available as are wanted.
	available bool
	// message says what is wrong; "" for nothing.
	message string
	// why one of its pods doesn't run, in the words of the scheduler or the kubelet; ""
	// where they say nothing.
	why string
	// image of the container that has the component's name; "" where there is none.
	image string
	// uid of the workload; "" where there is none.
	uid string
	// lost: somebody has deleted it, or scaled it to no replicas.
	lost bool
	// fewer is how many replicas the values set, where it is to have fewer; 0 otherwise.
	fewer int64
}

// workloadsProblem says why Argo CD's workloads can't be observed; "" where they can.
func workloadsProblem(t tenant.Tenant) string {
	if o := t.Composed(tenant.Workloads); o.Condition("Synced").False() {
		return condition.Problem(o)
	}
	return ""
}

// summary returns the summary of Argo CD's workloads. It reports false where the provider hasn't observed it yet, or can't observe it now.
func summary(t tenant.Tenant) (is tenant.Summary, seen bool) {
	// It may be one of other workloads, from before the values changed.
	if workloadsProblem(t) != "" || t.Observed.Summary.Name != summaryName(t) {
		return tenant.Summary{}, false
	}
	return t.Observed.Summary, true
}

// workloadHealth judges each of Argo CD's workloads. It reports false where the provider hasn't
// observed all of them yet, or can't observe them now.
func workloadHealth(t tenant.Tenant) ([]health, bool) {
	is, seen := summary(t)
	if !seen {
		return nil, false
	}
	out := make([]health, 0, len(t.Workloads))
	for _, w := range t.Workloads {
		i := slices.IndexFunc(is.Workloads, func(is proxy.Workload) bool { return is.Kind == w.Kind && is.Name == w.Name })
		if i < 0 {
			return nil, false
		}
		out = append(out, healthOf(w, is.Workloads[i]))
	}
	return out, true
}

// WorkloadsAvailable reports whether all of them are.
func WorkloadsAvailable(t tenant.Tenant) bool {
	all, seen := workloadHealth(t)
	return seen && !slices.ContainsFunc(all, func(h health) bool { return !h.available })
}

// Unavailable returns a message about a workload that isn't available; "" for one that is.
func Unavailable(w tenant.Workload, is proxy.Workload) string {
	if h := healthOf(w, is); !h.available {
		return h.message
	}
	return ""
}

// Lost reports whether somebody has deleted a workload, or scaled it to no replicas.
func Lost(w tenant.Workload, is proxy.Workload) bool { return healthOf(w, is).lost }

// probeFailed is in what the kubelet says of a container whose probe fails, also where the container is only slow.
const probeFailed = "probe failed"

func healthOf(w tenant.Workload, is proxy.Workload) health {
	h := health{component: w.Component, what: w.Kind + " " + w.Name, uid: is.UID}
	if int64(is.Replicas) < w.Replicas {
		h.fewer = w.Replicas
	}
	switch {
	case is.Missing:
		h.message, h.lost = h.what+" does not exist", true
	case is.Replicas == 0 && !w.Idle:
		h.message, h.lost = h.what+" is scaled to no replicas", true
	case !is.Available:
		// Without how many are available: each change of the status counts as an event for
		// Crossplane's circuit breaker.
		why, slow := is.Why, false
		if strings.Contains(why, probeFailed) {
			if why, slow = condition.Plain(why, "its pod"); slow {
				why += " its probe"
			}
		}
		h.message = fmt.Sprintf("%s is not fully available, replicas wanted: %d", h.what, is.Replicas)
		if why != "" {
			h.message += ": " + why
		}
		if !slow {
			h.why = why
		}
	default:
		h.available, h.image = true, is.Images[w.Component]
		// The replicas from before a change run while the new ones don't start.
		if h.why = is.Why; h.why != "" {
			h.message = h.what + ": " + h.why
		}
	}
	return h
}

// longestVersion is the length of the longest tag that Version returns, in bytes.
const longestVersion = 32

// Version returns a tag of Argo CD's image; "" for one that isn't a short version such as v3.2.6.
func Version(tag string) string {
	if len(tag) > longestVersion || versions.Parse(tag) == nil {
		return ""
	}
	return tag
}

// RunningVersion returns the version of Argo CD that its API server runs: the tag of its
// image. It reports false while the workload isn't available. The virtual API server may
// tell of any image, and the version is a label of metrics: it is "" for a tag that isn't a
// short version such as v3.2.6.
func RunningVersion(t tenant.Tenant) (string, bool) {
	image := server(t).image
	_, tag := host.SplitImage(image)
	return Version(tag), image != ""
}

// server returns the health of Argo CD's API server.
func server(t tenant.Tenant) health {
	all, _ := workloadHealth(t)
	for _, h := range all {
		if h.component == tenant.ComponentServer {
			return h
		}
	}
	return health{}
}
