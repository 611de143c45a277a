package compose

import (
	"fmt"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// workloadsReady is the readiness of the summary of Argo CD's workloads, in CEL.
// provider-kubernetes looks again after half a minute at an Object that isn't ready, and
// after its --poll interval at one that is. A workload that has no replicas though the
// values don't ask for that was scaled down by hand.
func workloadsReady(t Tenant) string {
	return fmt.Sprintf("object.data[%q] == '' && object.data[%q] == %q", proxy.SummaryUnavailable, proxy.SummaryStopped,
		proxy.Stopped(asked(t, func(w plan.Workload) bool { return w.Idle })))
}

// workloads composes an Object that observes a summary of Argo CD's workloads, which the
// proxy makes. It reads no Secret, so that none shows up in a status.
func workloads(t Tenant) (Object, error) {
	return observer(t, Workloads, t.Names.ProviderConfig, readyBy(workloadsReady(t)), map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": summaryName(t), "namespace": plan.ArgoCDNamespace},
	}), nil
}

func summaryName(t Tenant) string {
	return proxy.SummaryName(asked(t, func(plan.Workload) bool { return true }))
}

// asked returns those of Argo CD's workloads that the proxy is asked for.
func asked(t Tenant, which func(plan.Workload) bool) []proxy.Workload {
	var out []proxy.Workload
	for _, w := range t.Workloads {
		if which(w) {
			out = append(out, proxy.Workload{Kind: w.Kind, Name: w.Name})
		}
	}
	return out
}

// Health of one of Argo CD's workloads.
type Health struct {
	// Component is the workload's short name.
	Component string
	// Available: as many current replicas are available as are wanted.
	Available bool
	// Message says what is wrong.
	Message string
	// Why one of its pods doesn't run, in the words of the scheduler or the kubelet; ""
	// where they say nothing.
	Why string
	// Image of the container that has the component's name; "" where there is none.
	Image string
}

// WorkloadsProblem says why Argo CD's workloads can't be observed; "" where they can.
func WorkloadsProblem(t Tenant) string {
	synced := t.observed(Workloads).Condition("Synced")
	switch {
	case !synced.False():
		return ""
	case synced.Message == "":
		return synced.Reason
	}
	return synced.Message
}

// WorkloadHealth judges each of Argo CD's workloads. It reports false where the provider
// has not looked at all of them yet, or can't: old news isn't the truth.
func WorkloadHealth(t Tenant) ([]Health, bool) {
	m := t.observed(Workloads).Get("status", "atProvider", "manifest")
	var data map[string]string
	// The summary may be one of other workloads, from before the values changed.
	if WorkloadsProblem(t) != "" || m.String("metadata", "name") != summaryName(t) || m.Get("data").Into(&data) != nil {
		return nil, false
	}
	summary, err := proxy.ReadSummary(data)
	if err != nil {
		return nil, false
	}
	out := make([]Health, 0, len(t.Workloads))
	for _, w := range t.Workloads {
		i := slices.IndexFunc(summary, func(is proxy.Workload) bool { return is.Kind == w.Kind && is.Name == w.Name })
		if i < 0 {
			return nil, false
		}
		out = append(out, healthOf(w, summary[i]))
	}
	return out, true
}

// workloadsAvailable reports whether all of them are.
func workloadsAvailable(t Tenant) bool {
	all, seen := WorkloadHealth(t)
	return seen && !slices.ContainsFunc(all, func(h Health) bool { return !h.Available })
}

func healthOf(w plan.Workload, is proxy.Workload) Health {
	what := fmt.Sprintf("%s %s", w.Kind, w.Name)
	h := Health{Component: w.Component}
	switch {
	case is.Missing:
		h.Message = what + " does not exist"
	case is.Replicas == 0 && !w.Idle:
		h.Message = what + " is scaled to no replicas"
	case !is.Available:
		// Without the numbers that change: a message that doesn't is one change less.
		h.Message, h.Why = fmt.Sprintf("%s is not fully available, replicas wanted: %d", what, is.Replicas), is.Why
		if is.Why != "" {
			h.Message += ": " + is.Why
		}
	default:
		h.Available, h.Image = true, is.Images[w.Component]
	}
	return h
}
