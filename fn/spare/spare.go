// Package spare says what a spare is: a composite resource of a pool that nobody has taken yet.
package spare

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Is reports whether a composite resource is a spare. One that is being deleted is none any more.
func Is(xr wire.Struct) bool { return Untaken(xr) && !xr.Deleting() }

// Untaken reports whether a composite resource was made by a pool, and belongs to nobody.
func Untaken(xr wire.Struct) bool {
	return xr.String("metadata", "labels", v1alpha1.LabelSpare) == "true" && !Taken(xr)
}

// Taken reports whether a composite resource belongs to somebody.
func Taken(xr wire.Struct) bool { return xr.Has("spec", "claimRef") }

// Asleep reports whether none of its pods runs.
func Asleep(xr wire.Struct) bool {
	return xr.String("status", "phase") == string(v1alpha1.PhaseHibernated)
}

// Outdated reports whether a composite resource has something else of the platform than a new tenant would get now: see decide.Spare.
func Outdated(xr wire.Struct) bool { return xr.Bool("status", "channel", "updateAvailable") }

// Offered reports whether a composite resource is a spare that may be taken now: it is well and as a new tenant would be, and either runs or
// is asleep.
func Offered(xr wire.Struct) bool {
	ready := xr.Condition("Ready")
	runs := xr.String("status", "phase") == string(v1alpha1.PhaseReady) && ready.True()
	return Is(xr) && (runs || Asleep(xr)) && !Outdated(xr) && xr.Condition(v1alpha1.ConditionSpecAccepted).True() && !xr.Condition("Synced").False() && Current(xr)
}

// Current reports whether the function has seen the newest spec of a composite resource, so that its status is about it. One without an
// observed generation is taken to be current.
func Current(xr wire.Struct) bool {
	seen := xr.Condition("Ready").ObservedGeneration
	return seen == 0 || seen >= xr.Int(0, "metadata", "generation")
}

// Digest returns what the label v1alpha1.LabelPoolDigest has for a plan. What takes effect at once in every tenant changes nothing of it.
// Nor does what a new tenant of a channel gets only with a revision.
func Digest(p plan.Plan) string {
	if p.Spec.Channel != "" {
		return fingerprint.Of(p.Spec.Channel)
	}
	return fingerprint.Of(p.Content().Spec)
}

// Of reports whether a spare has the plan, as it is now.
func Of(xr wire.Struct, p plan.Plan) bool {
	labels := xr.Get("metadata", "labels")
	return labels.String(v1alpha1.LabelPoolPlan) == p.Name && labels.String(v1alpha1.LabelPoolDigest) == Digest(p)
}

// Choose returns the name of the spare that somebody with a UID takes, of all that are offered; "" for none. Those that run come first.
// The order among them depends on the UID, so that many who choose at once rarely choose the same.
func Choose(uid string, all []wire.Struct, p plan.Plan) string {
	type candidate struct {
		asleep bool
		rank   string
		name   string
	}
	var of []candidate
	for _, xr := range all {
		if !Offered(xr) || !Of(xr, p) {
			continue
		}
		name := xr.String("metadata", "name")
		sum := sha256.Sum256([]byte(uid + "/" + name))
		of = append(of, candidate{Asleep(xr), hex.EncodeToString(sum[:]), name})
	}
	if len(of) == 0 {
		return ""
	}
	return slices.MinFunc(of, func(a, b candidate) int {
		if a.asleep != b.asleep {
			if a.asleep {
				return 1
			}
			return -1
		}
		return strings.Compare(a.rank, b.rank)
	}).name
}

// Created returns when a tenant was created, as its plan counts: for one that was a spare, when the VirtualArgoCD that took it was.
// Claims may have any annotation, so that of theirs says nothing.
func Created(xr wire.Struct) time.Time {
	if !strings.HasPrefix(xr.String("spec", "claimRef", "apiVersion"), v1alpha1.FrontPrefix) {
		return xr.Created()
	}
	at, err := time.Parse(time.RFC3339, xr.String("metadata", "annotations", v1alpha1.AnnotationClaimedAt))
	if err != nil {
		return xr.Created()
	}
	return at
}
