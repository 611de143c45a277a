// Package compose builds a tenant's composed resources, by one table (table.go) that says
// which there are, what each waits for, and what makes it ready.
package compose

import (
	"encoding/json"
	"fmt"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	crossplanemeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/accounts"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Missing is what a tenant isn't ready for.
type Missing struct {
	// Waiting are the resources that are wanted and not yet created.
	Waiting []string
	// NotReady are the desired resources that aren't ready.
	NotReady []string
}

// MissingOf returns what a tenant with a table isn't ready for.
func MissingOf(t tenant.Tenant, table []resource.Row) Missing {
	var m Missing
	for _, row := range table {
		switch {
		case !row.Has || row.Ready:
			// The tenant's Ready depends on no more of it, also where it can't be created yet.
		case waits(t, row):
			m.Waiting = append(m.Waiting, row.Name)
		default:
			m.NotReady = append(m.NotReady, row.Name)
		}
	}
	return m
}

// waits reports whether a resource isn't composed yet. What was observed once is never left out.
func waits(t tenant.Tenant, row resource.Row) bool {
	return row.Waits && !t.Composed(row.Name).Exists()
}

// Compose builds the composed resources of a tenant with a table, by their name in the composition.
func Compose(t tenant.Tenant, table []resource.Row) (map[string]*fnv1.Resource, error) {
	out := make(map[string]*fnv1.Resource, len(table))
	asleep := hibernation.StateOf(t)
	for _, row := range table {
		if !row.Has || waits(t, row) {
			continue
		}
		o, err := row.Build(t)
		if err != nil {
			return nil, fmt.Errorf("cannot build composed resource %q: %w", row.Name, err)
		}
		if asleep.Paused {
			pause(row.Name, o.Typed, asleep.Phase == v1alpha1.PhaseWaking)
		}
		s, err := o.Encode()
		if err != nil {
			return nil, fmt.Errorf("cannot encode composed resource %q: %w", row.Name, err)
		}
		ready := fnv1.Ready_READY_FALSE
		if row.Ready {
			ready = fnv1.Ready_READY_TRUE
		}
		out[row.Name] = &fnv1.Resource{Resource: s, Ready: ready}
	}
	return out, nil
}

// pause has a provider leave a resource alone that it can't observe while the tenant is asleep, or whose change would wake it up: one that wakes
// up may need it. Crossplane deletes nothing that is paused and has a finalizer: without one, the tenant can be deleted meanwhile. What is
// installed is never deleted by its provider anyway.
func pause(name string, typed any, wakes bool) {
	var meta *metav1.ObjectMeta
	var config *xpv1.Reference
	switch o := typed.(type) {
	case *helmv1beta1.Release:
		meta, config = &o.ObjectMeta, o.Spec.ProviderConfigReference
	case *objectv1alpha2.Object:
		meta, config = &o.ObjectMeta, o.Spec.ProviderConfigReference
	default:
		return
	}
	if ofHost := name == tenant.VClusterRelease || name == tenant.ControlPlanePod; !tenant.IsVirtual(config.Name) && (!ofHost || wakes) {
		return
	}
	if o, ok := typed.(*objectv1alpha2.Object); ok {
		// The provider goes on watching the kinds of Objects that are paused, with their ProviderConfig.
		o.Spec.Watch, o.Spec.ProviderConfigReference = false, &xpv1.Reference{Name: "asleep-" + config.Name}
	}
	meta.Annotations[crossplanemeta.AnnotationKeyReconciliationPaused], meta.Finalizers = "true", nil
}

// record composes the ConfigMap with the tenant's record for its channel.
func record(t tenant.Tenant) (resource.Object, error) {
	text, err := json.Marshal(t.Record)
	labels := resource.OfTenant(t)
	labels[tenant.LabelChannel] = t.Standing.Name
	return resource.Object{Typed: &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.ChannelRecord, Labels: labels},
		Data:       map[string]string{tenant.RecordKey: string(text)},
	}}, err
}

// accepted composes the Secret with what was accepted. It is no ConfigMap, since a claim
// may have values that its author should have kept in a Secret.
func accepted(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.AcceptedSecret, "virtualargocd.io/accepted")
	s.Data = map[string][]byte{tenant.AcceptedKey: t.Accepted}
	return resource.Object{Typed: s}, nil
}

// How often the function looks at a tenant that is being installed: looksAgainSoon while its
// namespace is being prepared, looksAgainLater once something has been missing for stuckAfter.
// Only Crossplane 2.4 watches the Secret that the virtual cluster writes its kubeconfig to.
const (
	looksAgain      = 10 * time.Second
	looksAgainSoon  = 4 * time.Second
	looksAgainLater = 30 * time.Second
	stuckAfter      = 2 * time.Minute
)

// LooksAgainIn returns how soon Crossplane has to call the function again for a tenant that is
// being installed, or was changed just now, even if nothing changes. It reports false for other
// tenants. Without it, such a tenant could stop where Crossplane's circuit breaker drops changes.
func LooksAgainIn(t tenant.Tenant) (time.Duration, bool) {
	switch {
	case tenant.WasReady(t.Observed) && accounts.Arrives(t):
		return accounts.ArrivesWithin, true
	case tenant.WasReady(t.Observed):
		return argocd.SettlesWithin, argocd.Settles(t)
	}
	since := release.AgeOf(t, t.Observed.XR)
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		if t.Composed(name).Exists() {
			since = release.Age(t, name)
		}
	}
	in := looksAgain
	switch {
	case since > stuckAfter:
		return looksAgainLater, true
	case !t.Composed(tenant.VClusterRelease).Exists():
		return looksAgainSoon, true
	}
	for name, within := range release.StartsWithin {
		if left := within - release.Age(t, name); left > 0 {
			in = min(in, left+time.Second)
		}
	}
	return in, true
}
