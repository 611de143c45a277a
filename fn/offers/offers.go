// Package offers answers requests for channels: it reads the records of a channel's tenants,
// has package channel decide which tenants get the offer now, composes the objects that tell
// them, and writes the channel's status.
//
// What all tenants have to know is in one EnvironmentConfig: each change of it has all of
// them reconciled. Each admission is in a ConfigMap of its own, which has only that tenant
// reconciled. The channel's state is in another ConfigMap, which no tenant reads.
package offers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Is reports whether a request is about a channel, by its kind, in any API group. The input
// doesn't tell: the Compositions of both kinds may have the same one.
func Is(req *fnv1.RunFunctionRequest) bool {
	return wire.Of(req.GetObserved().GetComposite().GetResource()).String("kind") == v1alpha1.ChannelKind
}

// Answer writes a channel's composed resources, status, conditions and events into the
// response. If the channel has a mistake, Answer returns it and makes the response fatal, so
// that everything composed stays as it is: tenants keep what they have, and none is admitted
// any more once the present admissions have ended. rest is how long Crossplane may leave a
// channel alone whose state didn't change.
func Answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, rest time.Duration, now time.Time) error {
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	c, err := decode(req, xr)
	if c != nil {
		require(rsp, c)
	}
	if errors.Is(err, errUnread) {
		return nil
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		refuse(rsp, xr, err)
		return err
	}
	now = now.UTC().Truncate(time.Second)
	was := c.memory.State
	if was.Halted != nil && was.Offer != "" && c.sameOffer() {
		// A plan or an input has changed, which may have nothing to do with the halt.
		was.Offer, was.Percent = c.digest, 0
	}
	if len(c.records) > 0 && !slices.Equal(labels(c.spec.Rollout), c.memory.Published.Labels) {
		c.memory.LabelsAt = now.Add(channel.Settle)
	}
	unread := now.Before(c.memory.LabelsAt)
	r, err := channel.Next(channel.Channel{Offer: c.digest, Rollout: c.spec.Rollout, Paused: c.spec.Paused, Unread: unread}, was, c.records, now)
	if err != nil {
		refuse(rsp, xr, err)
		return err
	}
	if unread && (r.Again.IsZero() || c.memory.LabelsAt.Before(r.Again)) {
		r.Again = c.memory.LabelsAt
	}
	if fingerprint.Of(r.State) == fingerprint.Of(c.memory.State) && !xr.Condition("Responsive").False() {
		rsp.GetMeta().Ttl = durationpb.New(rest)
	}
	if !r.Again.IsZero() {
		soon := max(time.Second, r.Again.Sub(now))
		rsp.GetMeta().Ttl = durationpb.New(min(soon, rsp.GetMeta().GetTtl().AsDuration()))
	}
	if err := compose(rsp, c, r, now); err != nil {
		return fail(rsp, err)
	}
	return fail(rsp, report(rsp, xr, c, r))
}

// sameOffer reports whether the offer has changed only in its plans and inputs.
func (c *request) sameOffer() bool {
	return c.memory.State.Offer != c.digest && fingerprint.Of(c.memory.Published.Offer) == fingerprint.Of(c.spec.Offer)
}

func fail(rsp *fnv1.RunFunctionResponse, err error) error {
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot compose the channel: %w", err))
	}
	return err
}
