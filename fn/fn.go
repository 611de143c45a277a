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
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/status"
)

// ttl is how long Crossplane may wait before it asks again when nothing it
// watches changes.
const ttl = time.Minute

// ttlOfReferences is ttl for a tenant whose spec names Secrets. Crossplane 2.4
// watches them; others look at them when they ask again.
const ttlOfReferences = 30 * time.Second

// Function composes one tenant from one VirtualArgoCD.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
}

// NewFunction returns a function that logs to log.
func NewFunction(log logging.Logger) *Function { return &Function{log: log} }

// RunFunction answers one request. What is wrong with the spec or the input is a
// Fatal result: Crossplane then changes nothing.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, _ error) {
	log := f.log
	// One tenant that trips over an error of ours must not take the others' pod down.
	defer func() {
		if p := recover(); p != nil {
			log.Info("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			rsp = response.To(req, ttl)
			response.Fatal(rsp, fmt.Errorf("the function failed on this resource: please report it, with the function's log"))
		}
	}()
	log = log.WithValues("tag", req.GetMeta().GetTag())
	rsp = response.To(req, ttl)

	observed := decode.Observe(req)
	log = log.WithValues("xr", observed.XR.String("metadata", "name"))

	if err := run(req, rsp, observed); err != nil {
		log.Info("refused", "error", status.Refuse(rsp, observed, err))
		return rsp, nil
	}
	log.Debug("composed", "resources", len(rsp.GetDesired().GetResources()))
	return rsp, nil
}

// run is the pipeline: decode, plan, compose, report.
func run(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, observed decode.Observed) error {
	in, err := decode.Request(req, observed)
	unread := errors.Is(err, decode.ErrUnread)
	if err != nil && !unread {
		return err
	}
	if decode.Require(rsp, req, in) {
		rsp.GetMeta().Ttl = durationpb.New(ttlOfReferences)
	}
	if unread {
		// Crossplane lets this response go, and calls again.
		return nil
	}
	p, err := plan.New(in)
	if err != nil {
		return err
	}
	t := compose.Tenant{Plan: p, Observed: observed}
	composed, err := compose.Compose(t)
	if err != nil {
		return err
	}
	return status.Write(rsp, observed, composed, status.New(t, composed))
}
