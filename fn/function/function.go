// Package function is the composition function: it leads a call of Crossplane through the packages that decode it, decide, compose and report.
package function

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/decide"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/front"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/backup"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/components"
	"github.com/virtual-argocd/virtual-argocd/fn/parts/hibernation"
	"github.com/virtual-argocd/virtual-argocd/fn/plans"
	"github.com/virtual-argocd/virtual-argocd/fn/pool"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/status"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const (
	// ttl is how long Crossplane may wait before it calls the function again, if nothing
	// that it watches changes.
	ttl = time.Minute
	// ttlOfReferences is the ttl of a tenant whose spec names Secrets that Crossplane doesn't
	// watch: it watches Secrets since 2.4, and before it reads them only for each call.
	ttlOfReferences = 30 * time.Second
	// ttlAtRest is the ttl of a tenant that is ready, and of a channel that doesn't change, where
	// Crossplane watches all that the function reads: what depends on the time shortens it. It is
	// long, because Crossplane applies every composed resource each time it calls the function.
	ttlAtRest = 20 * time.Minute
)

// Function composes one tenant from one VirtualArgoCD, and what a channel tells its tenants
// from one XArgoCDChannel. It checks one XArgoCDPlan. For one namespaced VirtualArgoCD, it
// composes the composite resource behind it, and for one XArgoCDPool those that nobody has yet.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	now func() time.Time
}

// New returns a function that logs to log, and for which it is as late as now says.
func New(log logging.Logger, now func() time.Time) *Function { return &Function{log: log, now: now} }

// RunFunction answers one request. A tenant whose claim, plan or input has a mistake stays
// as it was accepted before. If it never was accepted, the mistake is a Fatal result, with
// which Crossplane changes nothing.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, _ error) {
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	claim := xr.Get("spec", "claimRef")
	log := f.log.WithValues("tag", req.GetMeta().GetTag(), "xr", xr.String("metadata", "name"), "claim", claim.String("namespace")+"/"+claim.String("name"))
	// A panic for one tenant must not stop the pod that serves all of them.
	defer func() {
		if p := recover(); p != nil {
			log.Info("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			rsp = response.To(req, ttl)
			response.Fatal(rsp, fmt.Errorf("the function failed on this resource: please report it, with the function's log"))
		}
	}()
	rsp = response.To(req, ttl)

	var refused error
	switch now := f.now(); xr.String("kind") {
	case v1alpha1.ChannelKind:
		refused = answer(req, rsp, channel.RequiredRecords, func(rest time.Duration) error { return channel.Answer(req, rsp, rest, now) })
	case v1alpha1.PlanKind:
		refused = answer(req, rsp, plans.RequiredDefaults, func(rest time.Duration) error { return plans.Answer(req, rsp, rest) })
	case v1alpha1.PoolKind:
		refused = answer(req, rsp, pool.RequiredPlan, func(rest time.Duration) error { return pool.Answer(req, rsp, rest, now) })
	case v1alpha1.ClaimKind:
		refused = answer(req, rsp, front.RequiredTenants, func(rest time.Duration) error { return front.Answer(req, rsp, rest) })
	default:
		observed := decode.Observe(req)
		observed.Now = now
		if err := run(req, rsp, observed); err != nil {
			refused = errors.New(status.Refuse(rsp, observed, err))
		}
	}
	if refused != nil {
		log.Info("refused", "error", refused.Error())
		return rsp, nil
	}
	log.Info("composed", "resources", len(rsp.GetDesired().GetResources()))
	return rsp, nil
}

// answer has a request answered that is about no tenant. required is the name of objects that such requests always require, and rest how
// long Crossplane may leave alone what doesn't change.
func answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, required string, with func(rest time.Duration) error) error {
	if err := decode.CheckCrossplane(req); err != nil {
		response.Fatal(rsp, err)
		return err
	}
	if decode.Watched(req, rsp, required) && !wire.Of(req.GetObserved().GetComposite().GetResource()).Throttled() {
		return with(ttlAtRest)
	}
	return with(ttl)
}

// run decodes the request, decides about the tenant, composes its resources and reports.
func run(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, observed tenant.Observed) error {
	if err := decode.CheckCrossplane(req); err != nil {
		return err
	}
	watched := decode.Watched(req, rsp, decode.RequiredKubeconfig)
	asked, undecoded := decode.Request(req, observed)
	if errors.Is(undecoded, decode.ErrUnread) {
		// Crossplane ignores the rest of this response, and calls the function again.
		decode.Require(rsp, asked, undecoded, asked, nil)
		return nil
	}
	t := tenant.Tenant{Observed: observed}
	used, err := asked, undecoded
	if err == nil {
		used, err = accept(&t, asked)
	}
	if t.Refused = everything(t, err); err != nil {
		for _, g := range decode.AsAccepted(req, observed, asked) {
			if used, err = accept(&t, g); err == nil {
				break
			}
		}
	}
	if decode.Require(rsp, asked, undecoded, used, t.Decision) && !watched {
		rsp.GetMeta().Ttl = durationpb.New(ttlOfReferences)
	}
	if err != nil {
		return t.Refused
	}
	table := compose.Table(t)
	is := status.Of(t, compose.MissingOf(t, table))
	t.Phase, t.Why = is.Phase, is.Why
	if t.Standing.InRollout() {
		t.Record = decide.Record(t)
	}
	desired, err := compose.Compose(t, table)
	if err != nil {
		return err
	}
	if err := status.Write(rsp, t, is, desired); err != nil {
		return err
	}
	rsp.GetMeta().Ttl = durationpb.New(ttlOf(t, watched && status.Rests(rsp, t), rsp.GetMeta().GetTtl().AsDuration()))
	return nil
}

// ttlOf returns how long Crossplane may wait before it calls the function again for a tenant, which is at rest or not. out is how long
// it may otherwise.
func ttlOf(t tenant.Tenant, rests bool, out time.Duration) time.Duration {
	if rests {
		out = ttlAtRest
	} else if again, ok := compose.LooksAgainIn(t); ok {
		out = again
	}
	for _, at := range []time.Time{t.Standing.Again, hibernation.Again(t), backup.Again(t), components.Again(t)} {
		if !at.IsZero() {
			out = min(out, max(time.Second, at.Sub(t.Observed.Now)))
		}
	}
	return out
}

// everything returns all mistakes of a claim: where some were found while it was decoded, with those that show when the rest of it is decided about.
// That decision is for nothing else.
func everything(t tenant.Tenant, err error) error {
	var draft *decode.Draft
	if errors.As(err, &draft) {
		_, more := accept(&t, draft.Given)
		return resolve.Sorted(draft.Wrong, more)
	}
	return resolve.Sorted(err)
}

// choose returns what a tenant is to have now.
func choose(t tenant.Tenant, g tenant.Given) decide.Choice {
	if spare.Untaken(t.Observed.XR) {
		return decide.Spare(g.Was, g.AsAsked(), g.Channel, t.Observed.Now)
	}
	return decide.Choose(g.Was, g.AsAsked(), g.Channel, tenant.IsAsleep(t.Observed), t.Observed.Now)
}

// accept decides about a tenant of which something is given. It returns that with what the tenant has.
func accept(t *tenant.Tenant, g tenant.Given) (tenant.Given, error) {
	g.GoesBackTo = decide.GoesBackTo(t.Observed.Record(), g.Channel)
	choice := choose(*t, g)
	d, err := decide.Tenant(choice, func(a tenant.Accepted) (*tenant.Decision, error) { return resolve.Tenant(g.With(a)) })
	in := g.With(d.Accepted)
	if err != nil {
		return in, err
	}
	t.Decision, t.Standing, t.Ask = d.Decision, d.Standing, d.Accepted.Spec
	t.Standing.Message = t.Observed.Redact(t.Standing.Message)
	t.Accepted, err = d.Accepted.JSON()
	return in, err
}
