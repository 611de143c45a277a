// Package compose builds a tenant's composed resources, by one table (table.go) that says
// which there are, what each waits for, and what makes it ready.
package compose

import (
	"encoding/json"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/decide"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/accounts"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Result is the desired state of a tenant's composed resources.
type Result struct {
	// Desired resources, by their name in the composition.
	Desired map[string]*fnv1.Resource
	// Waiting are the resources that are wanted and not yet created.
	Waiting []string
	// NotReady are the desired resources that aren't ready.
	NotReady []string
}

// Compose builds the tenant's composed resources.
func Compose(t tenant.Tenant) (Result, error) {
	r := Result{Desired: make(map[string]*fnv1.Resource, 16)}
	for _, row := range Table(t) {
		if !row.Has {
			continue
		}
		if !t.Composed(row.Name).Exists() && row.Waits {
			r.Waiting = append(r.Waiting, row.Name)
			continue
		}
		o, err := row.Build(t)
		if err != nil {
			return Result{}, fmt.Errorf("cannot build composed resource %q: %w", row.Name, err)
		}
		s, err := o.Encode()
		if err != nil {
			return Result{}, fmt.Errorf("cannot encode composed resource %q: %w", row.Name, err)
		}
		ready := fnv1.Ready_READY_FALSE
		if row.Ready {
			ready = fnv1.Ready_READY_TRUE
		} else {
			r.NotReady = append(r.NotReady, row.Name)
		}
		r.Desired[row.Name] = &fnv1.Resource{Resource: s, Ready: ready}
	}
	return r, nil
}

// AddRecord adds the ConfigMap with the tenant's record for its channel, if it has one. It isn't
// in the table, because the record has the phase, which follows from all that is. why is the
// reason for the phase.
func (r Result) AddRecord(t tenant.Tenant, phase v1alpha1.Phase, why string) error {
	if t.Standing.Name == "" {
		return nil
	}
	record, err := json.Marshal(decide.Record(t, phase, why))
	if err != nil {
		return err
	}
	labels := resource.OfTenant(t)
	labels[decode.LabelChannel] = t.Standing.Name
	s, err := resource.Object{Typed: &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.SecretsIn, Name: t.Names.ChannelRecord, Labels: labels},
		Data:       map[string]string{decode.RecordKey: string(record)},
	}}.Encode()
	r.Desired[tenant.ChannelRecord] = &fnv1.Resource{Resource: s, Ready: fnv1.Ready_READY_TRUE}
	return err
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
