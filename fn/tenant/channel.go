package tenant

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// A Offered is what the platform gives a tenant beside its plan. A tenant without a channel has what
// the function's input says when its maintenance window is open.
type Offered struct {
	// Channel is the name of the channel; "" for none.
	Channel string `json:"channel,omitempty"`
	// Number of the channel's revision; 0 for none.
	Number                int64 `json:"number,omitempty"`
	v1alpha1.ChannelOffer `json:"offer,omitzero"`
	// Defaults are the versions where the offer has none.
	Defaults v1alpha1.ChannelVersions `json:"defaults,omitzero"`
}

// In returns the number of the revision if that is of a channel, and 0 if it is of another one.
func (r Offered) In(channel string) int64 {
	if r.Channel != channel {
		return 0
	}
	return r.Number
}

// DefaultsOf returns the versions of an input, with the built-in ones.
func DefaultsOf(in inputv1alpha1.Input) v1alpha1.ChannelVersions {
	in = WithDefaults(in)
	v := v1alpha1.ChannelVersions{ArgoCDChart: in.Charts.ArgoCD.Version, VClusterChart: in.Charts.VCluster.Version, Kubernetes: in.Kubernetes.Version}
	for _, c := range in.Components {
		if v.Components == nil {
			v.Components = map[string]string{}
		}
		v.Components[c.Name] = c.Chart.Version
	}
	return v
}

// Versions returns the versions that are offered.
func (r Offered) Versions() v1alpha1.ChannelVersions {
	v := v1alpha1.ChannelVersions{
		ArgoCDChart:   cmp.Or(r.ArgoCD.ChartVersion, r.Defaults.ArgoCDChart),
		VClusterChart: cmp.Or(r.VCluster.ChartVersion, r.Defaults.VClusterChart),
		Kubernetes:    cmp.Or(r.Kubernetes.Version, r.Defaults.Kubernetes),
		Components:    maps.Clone(r.Defaults.Components),
	}
	for _, c := range r.Components {
		// The catalogue may not have it any more.
		if _, known := v.Components[c.Name]; known && c.ChartVersion != "" {
			v.Components[c.Name] = c.ChartVersion
		}
	}
	return v
}

// Over returns the input with the versions that are offered. The chart values of the offer are
// merged elsewhere, with those of the other layers.
func (r Offered) Over(in inputv1alpha1.Input) inputv1alpha1.Input {
	v := r.Versions()
	in.Charts.ArgoCD.Version = cmp.Or(v.ArgoCDChart, in.Charts.ArgoCD.Version)
	in.Charts.VCluster.Version = cmp.Or(v.VClusterChart, in.Charts.VCluster.Version)
	in.Kubernetes.Version = cmp.Or(v.Kubernetes, in.Kubernetes.Version)
	in.Components = slices.Clone(Catalogue(in))
	for i := range in.Components {
		c := &in.Components[i]
		c.Chart.Version = cmp.Or(v.Components[c.Name], c.Chart.Version)
	}
	return in
}

// At returns a field of the offer, for errors.
func (r Offered) At(field string) mistakes.Field {
	return mistakes.Field{Owner: mistakes.Channel, Path: "channel " + r.Channel + ": spec.offer." + field}
}

// Or returns a field of the offer if value, which is that field's, isn't empty, and otherwise the
// other field, of the input.
func (r Offered) Or(value, field, otherwise string) mistakes.Field {
	if value != "" {
		return r.At(field)
	}
	return mistakes.Field{Owner: mistakes.Input, Path: otherwise}
}

// Revision is what a revision of a channel holds, in an immutable ConfigMap.
type Revision struct {
	Number   int64                    `json:"number"`
	Offer    v1alpha1.ChannelOffer    `json:"offer"`
	Defaults v1alpha1.ChannelVersions `json:"defaults"`
	// Plans are all plans that can be used, by name.
	Plans map[string]v1alpha1.PlanSpec `json:"plans,omitempty"`
	// DefaultPlan is the name of the plan of claims that name none.
	DefaultPlan string `json:"defaultPlan,omitempty"`
}

// Of returns what the revision gives a tenant of a channel, which asks for a plan; "" for the default
// one. live is the tenant's plan as it is now, for a plan that the revision doesn't have.
func (r Revision) Of(channel, asked string, live plan.Plan) (Offered, plan.Plan) {
	name := cmp.Or(asked, r.DefaultPlan)
	if spec, ok := r.Plans[name]; ok {
		live = plan.Plan{Name: name, Spec: spec}.Now(live)
	}
	return Offered{Channel: channel, Number: r.Number, ChannelOffer: r.Offer, Defaults: r.Defaults}, live
}

// Published is what a channel tells all of its tenants, in an EnvironmentConfig. Each change of it has
// all of them reconciled.
type Published struct {
	// Revision is the number of the newest revision, Complete that of the last complete one, and Begin
	// that of the one with which new tenants begin; 0 for none.
	Revision int64 `json:"revision"`
	Complete int64 `json:"complete,omitempty"`
	Begin    int64 `json:"begin,omitempty"`
	// Namespaces whose claims may name the channel; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Proved is how long a tenant must be Ready with a revision before later trouble isn't
	// attributed to it.
	Proved metav1.Duration `json:"proved,omitzero"`
	Paused bool            `json:"paused,omitempty"`
	Halted bool            `json:"halted,omitempty"`
}

// A Channel is what a tenant knows of its channel.
type Channel struct {
	// Name of the channel; "" for none.
	Name string
	// Missing says that there is no such channel.
	Missing bool
	// Problem says why nothing is known of the channel, or why the tenant isn't in it any more;
	// "" if neither is so.
	Problem string
	Published
	// Newest is the newest revision, and Begins that with which new tenants begin; nil
	// for none.
	Newest, Begins *Revision
	// Assignment of the tenant; nil for none.
	Assignment *rollout.Assignment
}

// A Standing is the state of a tenant in its channel, and towards platform changes.
type Standing struct {
	v1alpha1.TenantChannel
	// Took says that the tenant takes a revision now, and Looked that it has seen what the newest revision,
	// which it doesn't have, would change. Changes says whether that is anything that runs.
	Took, Looked, Changes bool
	// Proved is how long a tenant must be Ready with a revision before later trouble isn't attributed to it.
	Proved time.Duration
	// Spare says that it is a spare of a pool, to which its channel rolls out nothing.
	Spare bool
	// Named says that the claim names the channel itself, and not its plan.
	Named bool
	// Schedule says when platform changes may begin.
	Schedule maintenance.Schedule
	// Again is when the standing may change although nothing else does; the zero time for
	// never.
	Again time.Time
}

// InRollout reports whether the tenant has a channel that rolls revisions out to it.
func (s Standing) InRollout() bool { return s.Name != "" && !s.Spare }
