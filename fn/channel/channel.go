// Package channel answers requests for channels. It keeps what a channel offers, with the plans, in
// immutable and numbered revisions, reads the records of the channel's tenants, has package rollout decide
// which of them get the newest revision next, and assigns it to them.
//
// What all tenants have to know is in one EnvironmentConfig: each change of it has all of them
// reconciled. Each assignment is a ConfigMap of its own, which has only that tenant reconciled. It is
// there until the tenant has the revision, because Crossplane applies every composed resource of a channel
// each time it calls the function. The channel's state is in another ConfigMap, which no tenant reads.
package channel

import (
	"errors"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Answer writes a channel's composed resources, status, conditions and events into the
// response. If the channel has a mistake, Answer returns it and makes the response fatal, so
// that everything composed stays as it is: tenants keep what they have, and none is assigned a
// revision any more once the present assignments have ended. rest is how long Crossplane may leave a
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
	strategy := rollout.Strategy{}
	if err == nil {
		strategy, err = c.check()
	}
	if err == nil {
		err = c.setRevision()
	}
	if err != nil {
		refuse(rsp, xr, err)
		return err
	}
	now = now.UTC().Truncate(time.Second)
	r := rollout.Next(rollout.Channel{Strategy: strategy, Revision: c.newest.Number, Paused: c.spec.Paused, Records: c.records, Assignments: c.assignments}, c.state, now)
	r.State.Digest = c.digest
	if fingerprint.Of(r.State) == fingerprint.Of(c.state) {
		rsp.GetMeta().Ttl = durationpb.New(rest)
	}
	if !r.Again.IsZero() {
		soon := max(time.Second, r.Again.Sub(now))
		rsp.GetMeta().Ttl = durationpb.New(min(soon, rsp.GetMeta().GetTtl().AsDuration()))
	}
	err = compose(rsp, c, strategy, r)
	if err == nil {
		err = report(rsp, xr, c, r)
	}
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot compose the channel: %w", err))
	}
	return err
}
