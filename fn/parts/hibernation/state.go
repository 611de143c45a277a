package hibernation

import (
	"time"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A State is how far a tenant is between awake and asleep.
type State struct {
	// Job that is to be there, tenant.HibernateJob or tenant.WakeJob; "" for none.
	Job string
	// Phase of the tenant; "" for awake.
	Phase v1alpha1.Phase
	// Since is when the Job had done it; "" for not yet.
	Since string
	// Paused reports whether providers leave alone what is in the virtual cluster.
	Paused bool
}

// StateOf returns the state that a tenant is in. There is one Job at a time, which is what remembers the state: the next takes its place
// once it is due, and the one that wakes the tenant is finished first. None of them fails for good: Kubernetes tries them again.
func StateOf(t tenant.Tenant) State {
	is, since := seen(t.Observed)
	s := State{Job: next(t, is, since != "")}
	if s.Job == is {
		s.Since = since
	}
	switch {
	case s.Job == tenant.HibernateJob && s.Since != "":
		s.Phase, s.Paused = v1alpha1.PhaseHibernated, true
	case s.Job == tenant.HibernateJob:
		s.Phase, s.Paused = v1alpha1.PhaseHibernating, true
	case s.Job == tenant.WakeJob && s.Since == "":
		s.Phase, s.Paused = v1alpha1.PhaseWaking, true
	case s.Job == tenant.WakeJob && WakesUp(t) && stillPaused(t.Observed):
		// What is observed is of the time before.
		s.Phase = v1alpha1.PhaseWaking
	}
	if s.Job == is && s.Job != "" && s.Since == "" && imageOf(t.Composed(is)) != t.Hibernation.Kubectl {
		// Its template can't be changed: it goes, and comes again.
		s.Job = ""
	}
	return s
}

// stillPaused reports whether a provider hasn't looked at something again.
func stillPaused(o tenant.Observed) bool {
	for _, c := range o.Composed {
		if c.Condition("Synced").Reason == string(xpv1.ReasonReconcilePaused) {
			return true
		}
	}
	return false
}

// imageOf returns the image of a Job; "" for none.
func imageOf(job wire.Composed) string {
	containers := job.List("spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return ""
	}
	return containers[0].String("image")
}

// seen returns the Job that exists, the later of two, and when it was done; "" for not yet.
func seen(o tenant.Observed) (name, since string) {
	for _, job := range []string{tenant.HibernateJob, tenant.WakeJob} {
		is := o.Composed[job]
		if is.Exists() && !is.Deleting() && (name == "" || !is.Created().Before(o.Composed[name].Created())) {
			name, since = job, doneAt(is)
		}
	}
	return name, since
}

// tooLong is how long a Job that wakes a tenant may take before another may put it to sleep again.
const tooLong = 10 * time.Minute

// next returns the Job that is to be there after the one that is.
func next(t tenant.Tenant, is string, done bool) string {
	switch {
	case is == tenant.WakeJob && !done && (!t.Hibernation.Asleep || release.Age(t, is) <= tooLong):
		return tenant.WakeJob
	case t.Hibernation.Asleep && (is == tenant.HibernateJob || tenant.IsAsleep(t.Observed) || mayBegin(t)):
		return tenant.HibernateJob
	case t.Hibernation.Asleep:
		return is
	case is == tenant.HibernateJob, is == "" && tenant.IsAsleep(t.Observed):
		return tenant.WakeJob
	}
	return is
}

// mayBegin reports whether a tenant that is awake may fall asleep now: not while it is installed, restored or changed, unless the platform
// wants it.
func mayBegin(t tenant.Tenant) bool {
	if t.Hibernation.Forced {
		return resource.HasKubeconfig(t)
	}
	changes := func(name string, chart tenant.Chart) bool {
		return release.Differs(t.Composed(name), chart) || release.StateOf(t.Composed(name)).RollsOut()
	}
	restores := t.Restore.Folder != "" && (t.Restore.Seen.At == "" || t.Restore.Active && !t.Restore.Snapshot && !t.Restore.Seen.Active)
	record := t.Observed.Record()
	return tenant.WasReady(t.Observed) && !changes(tenant.VClusterRelease, t.VirtualCluster) && !changes(tenant.ArgoCDRelease, t.ArgoCD) && !restores && !record.Updating()
}

// wakesWithin is how long a tenant may need until it is Ready, after its control plane is.
const wakesWithin = 5 * time.Minute

// WakesUp reports whether a tenant's control plane was started again so recently that Argo CD may still be starting.
func WakesUp(t tenant.Tenant) bool {
	is, since := seen(t.Observed)
	at, err := time.Parse(time.RFC3339, since)
	return is == tenant.WakeJob && err == nil && t.Observed.Now.Sub(at) < wakesWithin
}

// AwakeSince returns when the tenant was woken last; the zero time for unknown.
func AwakeSince(t tenant.Tenant) time.Time {
	is, since := seen(t.Observed)
	at, err := time.Parse(time.RFC3339, since)
	if is != tenant.WakeJob || err != nil {
		return time.Time{}
	}
	return at
}

// Message says in one sentence what a tenant that isn't awake is doing.
func (s State) Message(t tenant.Tenant) string {
	h, out := t.Hibernation, ""
	switch s.Phase {
	case v1alpha1.PhaseHibernating:
		out = "Falls asleep"
	case v1alpha1.PhaseHibernated:
		out = "Asleep since " + s.Since
	default:
		return "Wakes up"
	}
	if !h.Until.IsZero() {
		out += " until " + h.Until.UTC().Format(time.RFC3339)
	}
	return out + ", because " + h.Reason + ". Meanwhile nothing is synced and nothing is healed, and its URL doesn't answer"
}

// doneAt returns when a Job was complete; "" for not yet.
func doneAt(c wire.Composed) string {
	if !c.Condition("Complete").True() {
		return ""
	}
	return c.String("status", "completionTime")
}
