// Package schedule decides what happens in a run of the chaos tests: what is done to tenants, and which parts of the platform are killed,
// paused or slowed, at times that follow from a seed.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Action is what a step does.
type Action string

// Actions on tenants, and on parts of the platform.
const (
	// Create creates the claim of a tenant.
	Create Action = "create"
	// Change changes the value, the plan or a version in the claim.
	Change Action = "change"
	// Mistake makes the claim name a plan that doesn't exist, and Correct undoes that.
	Mistake Action = "make a mistake in"
	Correct Action = "correct"
	// Sleep makes the claim ask for hibernation, and Wake undoes that.
	Sleep Action = "put to sleep"
	Wake  Action = "wake"
	// Backup asks for a backup.
	Backup Action = "back up"
	// Break stops one of Argo CD's workloads, and Mend undoes that.
	Break Action = "break"
	Mend  Action = "mend"
	// Delete deletes the claim.
	Delete Action = "delete"
	// EditPlan changes a value of a plan, and EditOffer the value that the channel offers.
	EditPlan  Action = "edit plan"
	EditOffer Action = "edit offer"

	// Kill ends a part at once. The part is restarted automatically.
	Kill Action = "kill"
	// Pause stops a part for a while, and Slow stops it most of the time.
	Pause Action = "pause"
	Slow  Action = "slow"
)

// A Part of the platform.
type Part string

// Parts of the platform. Each tenant has a virtual cluster, and each virtual cluster a volume.
const (
	Function           Part = "function"
	Crossplane         Part = "Crossplane"
	HelmProvider       Part = "provider-helm"
	KubernetesProvider Part = "provider-kubernetes"
	APIServer          Part = "API server"
	Etcd               Part = "etcd"
	VirtualCluster     Part = "virtual cluster"
	Volume             Part = "volume"
)

// Parts are all parts.
var Parts = []Part{Function, Crossplane, HelmProvider, KubernetesProvider, APIServer, Etcd, VirtualCluster, Volume}

// OfTenant reports whether each tenant has a part of its own.
func (p Part) OfTenant() bool { return p == VirtualCluster || p == Volume }

// can returns the possible actions on a part. A volume isn't killed, because it can't be restored.
func (p Part) can() []Action {
	if p == Volume {
		return []Action{Pause, Slow}
	}
	return []Action{Kill, Pause, Slow}
}

// A Spec is what a claim asks for.
type Spec struct {
	// Plan is the name of its plan.
	Plan string
	// Value is the value of a parameter in the argo-cd chart.
	Value int
	// ArgoCD is the version of the argo-cd chart, and Kubernetes that of the virtual cluster; empty for the platform's version.
	ArgoCD, Kubernetes string
	// InChannel says that the claim is in the channel, Asleep that the tenant is to sleep, and BackedUp that it may be backed up.
	InChannel, Asleep, BackedUp bool
}

// String returns the spec in a few words.
func (s Spec) String() string {
	text := fmt.Sprintf("plan %s, value %d", s.Plan, s.Value)
	if s.ArgoCD != "" {
		text += ", chart " + s.ArgoCD
	}
	if s.Kubernetes != "" {
		text += ", Kubernetes " + s.Kubernetes
	}
	if s.InChannel {
		text += ", in the channel"
	}
	return text
}

// A Step is an action at a certain time of a run.
type Step struct {
	At     time.Duration
	Action Action
	// Tenant is the number of the tenant; negative for none.
	Tenant int
	// Spec is what the tenant's claim asks for from then on. Mistake leaves it as it is.
	Spec Spec
	// Plan has another Value after EditPlan, and the channel offers it after EditOffer. Backup writes it into the claim's annotation.
	Plan  string
	Value int
	// Part is killed, paused or slowed: the last two For some time.
	Part Part
	For  time.Duration
}

// String returns the step on one line.
func (s Step) String() string {
	text := fmt.Sprintf("%6.1fs  %s", s.At.Seconds(), s.Action)
	if s.Tenant >= 0 {
		text += " " + Name(s.Tenant)
	}
	switch s.Action {
	case Create, Change, Correct, Wake:
		text += ": " + s.Spec.String()
	case EditPlan:
		text += fmt.Sprintf(" %s: value %d", s.Plan, s.Value)
	case EditOffer:
		text += fmt.Sprintf(": value %d", s.Value)
	case Kill, Pause, Slow:
		text += " " + string(s.Part)
	default:
	}
	if s.For > 0 {
		text += fmt.Sprintf(" for %.1fs", s.For.Seconds())
	}
	return text
}

// Disturbs reports whether the step disturbs a part of the platform. Other steps are about claims, plans and the channel.
func (s Step) Disturbs() bool { return s.Part != "" }

// Channel is the name of the channel.
const Channel = "chaos"

// Name returns the name of a tenant's claim.
func Name(tenant int) string { return fmt.Sprintf("chaos%d", tenant) }

// Options of a schedule.
type Options struct {
	// Tenants is the largest number of tenants at a time.
	Tenants int
	// Length of the run: nothing happens after it.
	Length time.Duration
	// Plans are the names of the plans that claims may use.
	Plans []string
	// ArgoCD are versions of the argo-cd chart, and Kubernetes versions of virtual clusters, the oldest first. If there are none, claims name
	// no version.
	ArgoCD, Kubernetes []string
	// Sleeps says that tenants may be put to sleep, and Backups that they are backed up when they ask for it.
	Sleeps, Backups bool
}

// A Schedule is what happens in a run.
type Schedule struct {
	Seed uint64
	// Plans are the initial values of the plans, by name, and Offer is the initial value of the channel's offer.
	Plans map[string]int
	Offer int
	// Steps in the order in which they begin.
	Steps []Step
}

// String returns the schedule with one step a line.
func (s Schedule) String() string {
	b := &strings.Builder{}
	for _, step := range s.Steps {
		fmt.Fprintln(b, step)
	}
	return b.String()
}

// Of returns the steps in lists, in which each step waits for the one before: one list for each tenant, one for the plans, one for the
// channel, and one for each part.
func (s Schedule) Of() [][]Step {
	key := func(step Step) string { return fmt.Sprint(step.Part, "/", step.Plan != "", "/", step.Tenant) }
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(key(a), key(b)) })
	var out [][]Step
	for i, step := range steps {
		if i == 0 || key(steps[i-1]) != key(step) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], step)
	}
	return out
}

// Wanted returns what the claims that exist after the run ask for, by name.
func (s Schedule) Wanted() map[string]Spec {
	out := map[string]Spec{}
	for _, step := range s.Steps {
		switch step.Action {
		case Create, Change, Correct, Wake:
			out[Name(step.Tenant)] = step.Spec
		case Delete:
			delete(out, Name(step.Tenant))
		default:
		}
	}
	return out
}

// PlanValues returns the values that plans have after the run.
func (s Schedule) PlanValues() map[string]int {
	out := map[string]int{}
	for plan, value := range s.Plans {
		out[plan] = value
	}
	for _, step := range s.Steps {
		if step.Action == EditPlan {
			out[step.Plan] = step.Value
		}
	}
	return out
}

// OfferValue returns the value that the channel offers after the run.
func (s Schedule) OfferValue() int {
	value := s.Offer
	for _, step := range s.Steps {
		if step.Action == EditOffer {
			value = step.Value
		}
	}
	return value
}
