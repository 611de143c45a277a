// Package tenant holds what everything else is about: what is given of a tenant, what was
// accepted, what is decided, and the names of its objects.
package tenant

import (
	"time"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Tenant is what composed resources are built from.
type Tenant struct {
	*Decision
	Observed Observed
	// Accepted is what the decision follows from, as JSON.
	Accepted []byte
	// Standing is where the tenant stands with what the platform offers.
	Standing Standing
	// Refused is why that isn't what the claim, its plan and the input say now; nil when
	// it is.
	Refused error
}

// Composed returns the observed composed resource of that name.
func (t Tenant) Composed(name string) wire.Composed { return t.Observed.Composed[name] }

// InstalledBefore reports whether a Release was installed once: the status remembers its
// version.
func (t Tenant) InstalledBefore(release string) bool {
	was := t.Observed.XR.Get("status")
	if release == ArgoCDRelease {
		return was.String("argocd", "chartVersion") != ""
	}
	return was.String("vcluster", "version") != ""
}

// Observed is what exists.
type Observed struct {
	// Now is the time at which it was seen: the caller sets it.
	Now time.Time
	// XR is the composite resource.
	XR wire.Struct
	// XRConnection are the connection details it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]wire.Composed
	Running  Running
	// Secrets are the Secrets that Crossplane has read for the function: never to
	// leave but in the composed Secret of values.
	Secrets []map[string]string
	// Published is of the kubeconfig that the virtual cluster has written, nil while
	// there is none or it can't be used; PublishedProblem is why it can't be. It comes
	// from the tenant's namespace on the host, so it is taken for the tenant's: only the
	// certificates and the key are read.
	Published        *ClientCertificate
	PublishedProblem error
}

// ValuesInUse are the chart values that the composed Secret holds.
func (o Observed) ValuesInUse() values.Values {
	v := values.Values{}
	if yaml.Unmarshal(o.Composed[ValuesSecret].SecretValue(ValuesKey), &v) != nil {
		return nil
	}
	return v
}

// WasReady reports whether the tenant was ready once: status is the only place
// that remembers.
func WasReady(o Observed) bool {
	switch v1alpha1.Phase(o.XR.String("status", "phase")) {
	case v1alpha1.PhaseReady, v1alpha1.PhaseUpdating, v1alpha1.PhaseDegraded:
		return true
	default:
		return false
	}
}
