package channel

import (
	"cmp"
	"errors"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// report writes the channel's status, its conditions, and events for changed conditions into
// the response.
func report(rsp *fnv1.RunFunctionResponse, xr wire.Struct, c *request, r rollout.Result) error {
	is := v1alpha1.ChannelStatus{
		Revision: r.State.Revision, CompleteRevision: r.State.Complete, Step: new(int64(r.Step)), Percent: new(int64(r.State.Percent)), Tenants: r.Tenants,
		Versions: tenant.Offered{ChannelOffer: c.newest.Offer, Defaults: c.newest.Defaults}.Versions(),
	}
	composite, err := wire.Report(rsp, xr, &is)
	if err != nil {
		return err
	}
	composite.Ready = fnv1.Ready_READY_TRUE
	accepted := rollout.Condition{Type: v1alpha1.ConditionSpecAccepted, True: true, Reason: v1alpha1.ReasonAccepted, Message: "The channel's spec is in use"}
	if len(c.mistakes) > 0 {
		accepted.Message += ". These plans have mistakes, and revisions have them as they were before: " + strings.Join(c.mistakes, ", ")
	}
	for _, is := range append([]rollout.Condition{accepted}, r.Conditions...) {
		setCondition(rsp, is)
		was := xr.Condition(is.Type)
		if was.Unknown() && !news(is, c.state, r.State) {
			continue
		}
		first := was.Status == "" && (is.Type == accepted.Type || !is.True)
		if first || was.Reason == is.Reason && was.True() == is.True {
			continue
		}
		if is.Type == v1alpha1.ConditionHalted && is.True {
			response.Warning(rsp, errors.New(is.Message)).WithReason(is.Reason).TargetComposite()
		} else {
			response.Normal(rsp, cmp.Or(is.Message, is.Type+" is "+is.Reason)).WithReason(is.Reason).TargetComposite()
		}
	}
	return nil
}

// news reports whether a condition that was Unknown, since a call has failed, is news by what the channel remembers: a halt or a complete revision.
func news(is rollout.Condition, was, now rollout.State) bool {
	return is.True && (is.Type == v1alpha1.ConditionHalted && was.Halted == nil || is.Type == v1alpha1.ConditionComplete && was.Complete != now.Complete)
}

func setCondition(rsp *fnv1.RunFunctionResponse, c rollout.Condition) {
	set := response.ConditionFalse
	if c.True {
		set = response.ConditionTrue
	}
	set(rsp, c.Type, c.Reason).WithMessage(c.Message).TargetComposite()
}

// refuse reports a channel that can't be used, in its columns, too, which show Progressing. Crossplane then changes nothing, so refuse
// repeats the other conditions. What isn't known since a failed call stays unknown.
func refuse(rsp *fnv1.RunFunctionResponse, xr wire.Struct, err error) {
	is := rollout.Condition{Type: v1alpha1.ConditionSpecAccepted, Reason: v1alpha1.ReasonInvalidSpec, Message: err.Error()}
	setCondition(rsp, is)
	setCondition(rsp, rollout.Condition{Type: v1alpha1.ConditionProgressing, Reason: is.Reason, Message: is.Message})
	for _, typ := range []string{v1alpha1.ConditionHalted, v1alpha1.ConditionComplete} {
		if was := xr.Condition(typ); was.Status != "" && !was.Unknown() {
			setCondition(rsp, rollout.Condition{Type: typ, True: was.True(), Reason: was.Reason, Message: was.Message})
		}
	}
	if was := xr.Condition(is.Type); was.Reason != is.Reason || was.Message != is.Message {
		response.Warning(rsp, err).WithReason(is.Reason).TargetComposite()
	}
	response.Fatal(rsp, err)
}
