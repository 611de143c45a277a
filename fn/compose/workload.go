package compose

import (
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// workloadReady is the readiness of an observed workload, in CEL. A provider-kubernetes that doesn't
// watch looks again after half a minute at an Object that isn't ready, and after
// its --poll interval at one that is.
const workloadReady = `has(object.status) && has(object.status.observedGeneration)
 && object.status.observedGeneration >= object.metadata.generation
 && (has(object.status.updatedReplicas) ? object.status.updatedReplicas : 0) >= object.spec.replicas
 && (has(object.status.availableReplicas) ? object.status.availableReplicas : 0) >= object.spec.replicas`

// readiness of an observed workload. One that has no replicas though the values
// don't ask for that was scaled down by hand.
func readiness(w plan.Workload) string {
	if w.Idle {
		return workloadReady
	}
	return workloadReady + "\n && object.spec.replicas > 0"
}

// workload composes an Object that observes one of Argo CD's workloads. It reads
// no Secret, so that none shows up in a status.
func workload(t Tenant, w plan.Workload) (Object, error) {
	return observer(t, "argocd-"+w.Component, t.Names.ProviderConfig, readyBy(readiness(w)), map[string]any{
		"apiVersion": "apps/v1",
		"kind":       w.Kind,
		"metadata":   map[string]any{"name": w.Name, "namespace": plan.ArgoCDNamespace},
	}), nil
}

// Health of an observed workload.
type Health struct {
	// Available: as many current replicas are available as are wanted.
	Available bool
	// Unseen: the provider has not looked yet.
	Unseen bool
	// Message says what is wrong.
	Message string
}

// WorkloadHealth judges an observed workload. An Object that isn't synced has
// old news, and old news isn't the truth.
func WorkloadHealth(t Tenant, w plan.Workload) Health {
	o := t.observed(WorkloadName(w.Component))
	m := o.Get("status", "atProvider", "manifest")
	what := fmt.Sprintf("%s %s", w.Kind, w.Name)
	if synced := o.Condition("Synced"); synced.False() {
		return Health{Message: fmt.Sprintf("%s cannot be observed: %s", what, synced.Message)}
	}
	// The workload may have been another kind before its values changed.
	if !m.Has("metadata") || m.String("kind") != w.Kind {
		return Health{Unseen: true, Message: what + " is not seen yet"}
	}
	want := m.Int(1, "spec", "replicas")
	switch {
	case want == 0 && !w.Idle:
		return Health{Message: what + " is scaled to no replicas"}
	case m.Int(0, "status", "observedGeneration") < m.Int(0, "metadata", "generation"),
		m.Int(0, "status", "updatedReplicas") < want,
		m.Int(0, "status", "availableReplicas") < want:
		// Without the numbers that change: a message that doesn't is one change less.
		return Health{Message: fmt.Sprintf("%s is not fully available, replicas wanted: %d", what, want)}
	}
	return Health{Available: true}
}
