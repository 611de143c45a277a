// Package tenant has the types for what is given of a tenant, what was accepted and what is
// decided, and the names of its objects.
package tenant

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// Tenant is what resources are composed from.
type Tenant struct {
	*Decision
	Observed Observed
	// Accepted is what the decision was made from, as JSON, and Ask is the claim's spec in it.
	Accepted []byte
	Ask      Ask
	// Standing is the state of the tenant in its channel.
	Standing Standing
	// Refused is the mistake in the claim, the plan or the input that keeps them from being
	// accepted; nil for none.
	Refused error
	// Phase of the tenant, and Why is the reason for it; "" if that is unknown.
	Phase v1alpha1.Phase
	Why   string
	// Record is what its channel is to know of it.
	Record rollout.Record
}

// Composed returns the observed composed resource of that name.
func (t Tenant) Composed(name string) wire.Composed { return t.Observed.Composed[name] }

// InstalledBefore reports whether a Release was installed once: the status has its version.
func (t Tenant) InstalledBefore(release string) bool {
	if component, ok := strings.CutPrefix(release, ComponentPrefix); ok {
		return WasComponent(t.Observed, component).Version != ""
	}
	if release == ArgoCDRelease {
		return t.Observed.XR.String("status", "argocd", "chartVersion") != ""
	}
	return t.Observed.XR.String("status", "vcluster", "version") != ""
}

// WasComponent returns the status of a component after the last call; an empty one for none.
func WasComponent(o Observed, name string) v1alpha1.ComponentStatus {
	for _, c := range o.XR.List("status", "components") {
		if c.String("name") == name {
			return v1alpha1.ComponentStatus{Name: name, Version: c.String("version"), State: v1alpha1.ComponentState(c.String("state")), Message: c.String("message")}
		}
	}
	return v1alpha1.ComponentStatus{Name: name}
}

// Observed is what exists.
type Observed struct {
	// Now is the time of the call. The caller sets it.
	Now time.Time
	// XR is the composite resource.
	XR wire.Struct
	// XRConnection are the connection details that it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]wire.Composed
	Running  Running
	// Published is from the kubeconfig that the virtual cluster has written; nil for none that
	// can be used, and then PublishedProblem is the reason. The tenant may be able to change
	// it, so only the certificates and the key are read.
	Published        *ClientCertificate
	PublishedProblem error
	// Summary is what was observed of Argo CD's workloads, and ComponentWorkloads what was of those of components.
	Summary            Summary
	ComponentWorkloads []proxy.Workload
	// Redact takes the tenant's secrets out of a message. It collects them once, when there is a message.
	Redact func(message string) string
}

// A Summary is the ConfigMap with what the proxy has observed of Argo CD.
type Summary struct {
	// Name of the ConfigMap, which depends on the workloads that it is about; "" where it wasn't observed yet.
	Name      string
	Workloads []proxy.Workload
	// Missing and Applications are nil where nothing is said of them.
	Missing      *proxy.Missing
	Applications *proxy.Applications
}

// ReadSummary returns what a ConfigMap of the proxy says.
func ReadSummary(m wire.Struct) Summary {
	data := m.Get("data")
	return Summary{
		Name:         m.String("metadata", "name"),
		Workloads:    proxy.ReadSummary(data.String(proxy.SummaryWorkloads)),
		Missing:      proxy.ReadMissing(data.String(proxy.SummaryMissing)),
		Applications: proxy.ReadApplications(data.String(proxy.SummaryApplications)),
	}
}

// ValuesInUse returns the chart values in the composed Secret.
func (o Observed) ValuesInUse() values.Values {
	v := values.Values{}
	if text.Own(o.Composed[ValuesSecret].SecretValue(ValuesKey), &v) != nil {
		return nil
	}
	return v
}

// Kept returns what is kept; the zero value for nothing that can be read.
func (o Observed) Kept() localaccount.Kept {
	k := localaccount.Kept{}
	from := o.Composed[AccountsSecret]
	if !from.Exists() {
		// As a backup has it.
		from = o.Composed[RestoredSecret]
	}
	if json.Unmarshal(from.SecretValue(localaccount.KeptKey), &k) != nil {
		return localaccount.Kept{}
	}
	return k
}

// Record returns the record that was written last for the tenant; the zero Record if there is none that can be read.
func (o Observed) Record() rollout.Record {
	r := rollout.Record{}
	if json.Unmarshal([]byte(o.Composed[ChannelRecord].String("data", RecordKey)), &r) != nil {
		return rollout.Record{}
	}
	return r
}

// AccountsInUse returns the chart values in the Secret of accounts: those that are wanted, and those before.
func (o Observed) AccountsInUse() []values.Values {
	var out []values.Values
	secret := o.Composed[AccountsSecret]
	for key := range secret.Texts("data") {
		v := values.Values{}
		if key != localaccount.KeptKey && text.Own(secret.SecretValue(key), &v) == nil {
			out = append(out, v)
		}
	}
	return out
}

// WasReady reports whether the tenant was ready once, which only the status says.
func WasReady(o Observed) bool {
	return slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded}, PhaseOf(o)) ||
		IsAsleep(o) && o.XR.String("status", "readyAt") != ""
}

// PhaseOf returns the phase that the tenant was in after the last call; "" for none.
func PhaseOf(o Observed) v1alpha1.Phase { return v1alpha1.Phase(o.XR.String("status", "phase")) }

// IsAsleep reports whether the tenant wasn't awake after the last call.
func IsAsleep(o Observed) bool {
	return slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseHibernating, v1alpha1.PhaseHibernated, v1alpha1.PhaseWaking}, PhaseOf(o))
}
