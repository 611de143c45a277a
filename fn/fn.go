package main

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

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/offers"
	"github.com/virtual-argocd/virtual-argocd/fn/plans"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/rollout"
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
// from one XArgoCDChannel. It checks one XArgoCDPlan.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	now func() time.Time
}

// NewFunction returns a function that logs to log.
func NewFunction(log logging.Logger) *Function { return &Function{log: log, now: time.Now} }

// RunFunction answers one request. A tenant whose claim, plan or input has a mistake stays
// as it was accepted before. If it never was accepted, the mistake is a Fatal result, with
// which Crossplane changes nothing.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, _ error) {
	log := f.log.WithValues("tag", req.GetMeta().GetTag())
	// Before anything of the request is decoded: if that ended the process, this line would be the last one in its log.
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	claim := xr.Get("spec", "claimRef")
	log.Info("called", "xr", xr.String("metadata", "name"), "claim", claim.String("namespace")+"/"+claim.String("name"))
	// A panic for one tenant must not stop the pod that serves all of them.
	defer func() {
		if p := recover(); p != nil {
			log.Info("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			rsp = response.To(req, ttl)
			response.Fatal(rsp, fmt.Errorf("the function failed on this resource: please report it, with the function's log"))
		}
	}()
	rsp = response.To(req, ttl)

	if offers.Is(req) {
		if err := answerChannel(req, rsp, f.now()); err != nil {
			log.Info("refused", "channel", xr.String("metadata", "name"), "error", err.Error())
		}
		return rsp, nil
	}

	if plans.Is(req) {
		if err := answerPlan(req, rsp); err != nil {
			log.Info("refused", "plan", xr.String("metadata", "name"), "error", err.Error())
		}
		return rsp, nil
	}

	observed := decode.Observe(req)
	observed.Now = f.now()
	log = log.WithValues("xr", observed.XR.String("metadata", "name"))

	if err := run(req, rsp, observed); err != nil {
		log.Info("refused", "error", status.Refuse(rsp, observed, err))
		return rsp, nil
	}
	log.Debug("composed", "resources", len(rsp.GetDesired().GetResources()))
	return rsp, nil
}

// answerChannel answers a request about a channel.
func answerChannel(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, now time.Time) error {
	if err := decode.CheckCrossplane(req); err != nil {
		response.Fatal(rsp, err)
		return err
	}
	rest := ttl
	if decode.Watched(req, rsp, offers.RequiredRecords) {
		rest = ttlAtRest
	}
	return offers.Answer(req, rsp, rest, now)
}

// answerPlan answers a request about a plan.
func answerPlan(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	if err := decode.CheckCrossplane(req); err != nil {
		response.Fatal(rsp, err)
		return err
	}
	rest := ttl
	if decode.Watched(req, rsp, plans.RequiredDefaults) {
		rest = ttlAtRest
	}
	return plans.Answer(req, rsp, rest)
}

// run decodes the request, decides about the tenant, composes its resources and reports.
func run(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, observed tenant.Observed) error {
	if err := decode.CheckCrossplane(req); err != nil {
		return err
	}
	watched := decode.Watched(req, rsp, decode.RequiredKubeconfig)
	asked, err := decode.Request(req, observed)
	if errors.Is(err, decode.ErrUnread) {
		// Crossplane ignores the rest of this response, and calls the function again.
		decode.Require(rsp, req, asked, asked, nil)
		return nil
	}
	t := tenant.Tenant{Observed: observed}
	had := observed.Accepted()
	in := decode.With(req, observed, asked, asked.Accepted())
	if err == nil {
		in = next(req, &t, asked, had, asked.Accepted())
		err = accept(&t, in)
	}
	if t.Refused = everything(req, t, had, err); err != nil {
		for _, a := range decode.AsAccepted(req, observed, asked) {
			was := next(req, &t, asked, had, a)
			if err = accept(&t, was); err == nil {
				in = was
				break
			}
		}
	}
	if decode.Require(rsp, req, asked, in, t.Decision) && !watched {
		rsp.GetMeta().Ttl = durationpb.New(ttlOfReferences)
	}
	if err != nil {
		return t.Refused
	}
	if in, ok := compose.LooksAgainIn(t); ok {
		rsp.GetMeta().Ttl = durationpb.New(in)
	}
	composed, err := compose.Compose(t)
	if err != nil {
		return err
	}
	if err := status.Write(rsp, t, composed); err != nil {
		return err
	}
	if watched && status.Rests(rsp, t) {
		rsp.GetMeta().Ttl = durationpb.New(ttlAtRest)
	}
	if again := t.Standing.Again; !again.IsZero() {
		soon := max(time.Second, again.Sub(observed.Now))
		rsp.GetMeta().Ttl = durationpb.New(min(soon, rsp.GetMeta().GetTtl().AsDuration()))
	}
	return nil
}

// everything returns all mistakes of a claim: where some were found while it was decoded, with those that show when the rest of it is decided about.
// That decision is for nothing else.
func everything(req *fnv1.RunFunctionRequest, t tenant.Tenant, had *tenant.Accepted, err error) error {
	var draft *decode.Draft
	if errors.As(err, &draft) {
		_, more := resolve.Tenant(next(req, &t, draft.Given, had, draft.Given.Accepted()))
		return resolve.Sorted(draft.Wrong, more)
	}
	return resolve.Sorted(err)
}

// next returns what is given of a tenant with as much of a as it may have now, and sets the
// tenant's Standing. was is what was accepted before, nil for nothing.
func next(req *fnv1.RunFunctionRequest, t *tenant.Tenant, asked tenant.Given, was *tenant.Accepted, a tenant.Accepted) tenant.Given {
	gate, record := decode.Gate(req, asked, a), rollout.RecordOf(t.Observed)
	asked.GoesBackTo = rollout.GoesBackTo(record, gate)
	with := func(a tenant.Accepted) tenant.Given { return decode.With(req, t.Observed, asked, a) }
	a, t.Standing = rollout.Next(was, a, rollout.Moment{
		Now: t.Observed.Now, Gate: gate, Record: record,
		Installed: asked.Running != (tenant.Running{}) || t.Composed(tenant.VClusterRelease).Exists(),
		Decide:    func(a tenant.Accepted) (*tenant.Decision, error) { return resolve.Tenant(with(a)) },
	})
	return with(a)
}

// accept decides about a tenant.
func accept(t *tenant.Tenant, in tenant.Given) (err error) {
	if t.Decision, err = resolve.Tenant(in); err != nil {
		return err
	}
	t.Accepted, err = in.Accepted().JSON()
	return err
}
