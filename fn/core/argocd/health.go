package argocd

import (
	"fmt"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

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
