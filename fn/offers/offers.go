// Package offers is a channel's side of a rollout: it reads the records of the channel's
// tenants, decides who gets the offer now, and composes what tells them.
//
// What all tenants are to know stands in one EnvironmentConfig, whose changes wake all of
// them. Whom the channel admits has an object of its own, which wakes that tenant alone,
// and the channel's state stands in another that no tenant reads.
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

// Is reports whether a request is about a channel. The kind tells, whatever the API group:
// a Composition can have the same input for both kinds, and tools replace that of all.
func Is(req *fnv1.RunFunctionRequest) bool {
	return wire.Of(req.GetObserved().GetComposite().GetResource()).String("kind") == v1alpha1.ChannelKind
}

// Answer puts into the response what becomes of a channel. A mistake in the channel leaves
// all that is composed as it is: its tenants keep what they have, and nobody is admitted any
// more once the admissions have ended.
func Answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, now time.Time) error {
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
	if was.Halted != nil && c.sameOffer() {
		// A plan or an input has changed, which need not have to do with the halt.
		was.Offer, was.Percent = c.digest, 0
	}
	if len(c.records) > 0 && !slices.Equal(channel.Labels(c.spec.Rollout), c.memory.Published.Labels) {
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
	if !r.Again.IsZero() {
		soon := max(time.Second, r.Again.Sub(now))
		rsp.GetMeta().Ttl = durationpb.New(min(soon, rsp.GetMeta().GetTtl().AsDuration()))
	}
	if err := compose(rsp, c, r, now); err != nil {
		return fail(rsp, err)
	}
	return fail(rsp, report(rsp, xr, c, r))
}

// sameOffer reports whether only what goes with the offer has changed, if anything.
func (c *request) sameOffer() bool {
	return c.memory.State.Offer != c.digest && fingerprint.Of(c.memory.Published.Offer) == fingerprint.Of(c.spec.Offer)
}

func fail(rsp *fnv1.RunFunctionResponse, err error) error {
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot compose the channel: %w", err))
	}
	return err
}
