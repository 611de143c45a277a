package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Channels are the kind of channels.
var Channels = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "xargocdchannels"}

// A Channel is the observed state of a channel.
type Channel struct {
	Status     v1alpha1.ChannelStatus
	Conditions []metav1.Condition
	Paused     bool
	// Records of its tenants.
	Records []rollout.Record
}

// ReadChannel reads the state of a channel. crossplane is the namespace of Crossplane, which has the records.
func ReadChannel(ctx context.Context, host *kube.Cluster, name, crossplane string) (c Channel, err error) {
	o, err := host.Dynamic.Resource(Channels).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return c, fmt.Errorf("cannot read channel %s: %w", name, err)
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &c.Status); err != nil {
		return c, fmt.Errorf("the status of channel %s is of an unexpected shape: %w", name, err)
	}
	c.Conditions = conditionsOf(o)
	c.Paused, _, _ = unstructured.NestedBool(o.Object, "spec", "paused")
	list, err := host.Typed.CoreV1().ConfigMaps(crossplane).List(ctx, metav1.ListOptions{LabelSelector: tenant.LabelChannel + "=" + name})
	if err != nil {
		return c, fmt.Errorf("cannot list the records of channel %s: %w", name, err)
	}
	for _, is := range list.Items {
		r := rollout.Record{}
		if err := json.Unmarshal([]byte(is.Data[tenant.RecordKey]), &r); err != nil {
			return c, fmt.Errorf("cannot read the record %s: %w", is.Name, err)
		}
		c.Records = append(c.Records, r)
	}
	return c, nil
}

// Halted returns what the channel says about its halt; "" if it hasn't halted.
func (c Channel) Halted() string {
	if is := meta.FindStatusCondition(c.Conditions, v1alpha1.ConditionHalted); is != nil && is.Status == metav1.ConditionTrue {
		return is.Message
	}
	return ""
}

// Problems returns what isn't as wanted in a channel once a number of tenants have its offer.
func (c Channel) Problems(tenants int) []string {
	p := &problems{}
	for typ, want := range map[string]metav1.ConditionStatus{
		claim.Ready: metav1.ConditionTrue, claim.Synced: metav1.ConditionTrue, claim.SpecAccepted: metav1.ConditionTrue,
		v1alpha1.ConditionComplete: metav1.ConditionTrue, v1alpha1.ConditionHalted: metav1.ConditionFalse,
	} {
		is := meta.FindStatusCondition(c.Conditions, typ)
		if is == nil {
			is = &metav1.Condition{Status: "missing"}
		}
		if is.Status != want {
			p.found = append(p.found, fmt.Sprintf("condition %s is %s, want %s: %s", typ, is.Status, want, is.Message))
		}
	}
	p.same("paused", c.Paused, false)
	n := int64(tenants)
	p.same("the count of tenants", c.Status.Tenants, v1alpha1.ChannelTenants{Total: n, Succeeded: n})
	p.same("the number of records", len(c.Records), tenants)
	for _, r := range c.Records {
		p.same("the revision in the record of "+r.Claim, r.Revision, c.Status.Revision)
		p.same("the phase in the record of "+r.Claim, r.Phase, v1alpha1.PhaseReady)
	}
	return p.found
}

// Troubles records for how long tenants, also those that are gone, have been Degraded or Failing without interruption since the channel's
// last offer.
type Troubles struct {
	since   map[string]time.Time
	longest map[string]time.Duration
	// claims are the names of the tenants' claims.
	claims map[string]string
}

// NewTroubles returns an empty Troubles.
func NewTroubles() *Troubles {
	b := &Troubles{claims: map[string]string{}}
	b.Offered()
	return b
}

// Offered forgets the troubles so far: another offer didn't cause them.
func (b *Troubles) Offered() {
	b.since, b.longest = map[string]time.Time{}, map[string]time.Duration{}
}

// See records the phases of tenants.
func (b *Troubles) See(all []Object, now time.Time) {
	for _, o := range all {
		if !o.IsTenant() {
			continue
		}
		b.claims[o.Tenant] = o.Claim
		if o.Phase != v1alpha1.PhaseDegraded && o.Phase != v1alpha1.PhaseFailing {
			delete(b.since, o.Tenant)
			continue
		}
		since, ok := b.since[o.Tenant]
		if !ok {
			since = now
			b.since[o.Tenant] = now
		}
		b.longest[o.Tenant] = max(b.longest[o.Tenant], now.Sub(since))
	}
}

// unseen is how long a tenant may have been in trouble before the test saw it, because parts were disturbed.
const unseen = 25 * time.Second

// Wrong returns which of the claims that a halt names had no tenant that was in trouble long enough to be broken.
func (b *Troubles) Wrong(halt string) (out []string) {
	longest := map[string]time.Duration{}
	for tenant, claim := range b.claims {
		if strings.Contains(halt, "/"+claim+" (") {
			longest[claim] = max(longest[claim], b.longest[tenant])
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(longest)) {
		if longest[claim] < rollout.Grace-unseen {
			out = append(out, fmt.Sprintf("%s was in trouble for %s at most since the last offer, and the channel says %q", claim, longest[claim], halt))
		}
	}
	if halt != "" && len(longest) == 0 {
		out = append(out, fmt.Sprintf("the channel names no tenant: %q", halt))
	}
	return out
}
