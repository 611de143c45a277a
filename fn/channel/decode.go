package channel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	requests "github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// Names of the requirements, and of the composed resources.
const (
	RequiredRecords = "records"
	requiredPlans   = "plans"

	composedState      = "state"
	composedOffer      = "offer"
	composedRevision   = "revision-"
	composedAssignment = "assignment-"
)

// errUnread says that Crossplane hasn't read the required resources yet.
var errUnread = errors.New("what the channel depends on is not read yet")

// A request is a decoded request for a channel.
type request struct {
	name      string
	secretsIn string
	input     inputv1alpha1.Input
	spec      v1alpha1.ChannelSpec
	records   []rollout.Record
	// plans are those that can be used, by name, and mistakes names the others.
	plans       map[string]v1alpha1.PlanSpec
	defaultPlan string
	mistakes    []string
	// state is what the channel remembers; assignments are those that there are, and revisions the
	// contents of its revisions, by number. written is the text of each: that of one that there is can't
	// be changed, and another version of the function may write the same content in other words.
	state       rollout.State
	assignments []rollout.Assignment
	revisions   map[int64]tenant.Revision
	written     map[int64]string
	// newest is the newest revision, and digest that of its content: see setRevision.
	newest tenant.Revision
	digest string
}

// decode decodes a request. It returns nil with an error if the channel's name or the input
// can't be used, and what it has decoded so far with any other error.
func decode(req *fnv1.RunFunctionRequest, xr wire.Struct) (*request, error) {
	c := &request{name: xr.String("metadata", "name")}
	if c.name == "" || len(validation.IsValidLabelValue(c.name)) > 0 {
		return nil, fmt.Errorf("metadata.name: %.80q can't be the value of a label, by which claims find their channel: write a name of at most 63 characters", c.name)
	}
	in, err := requests.Input(req.GetInput())
	if err != nil {
		return nil, err
	}
	c.input, c.secretsIn = in, tenant.WithDefaults(in).ConnectionSecretNamespace
	c.setComposed(req.GetObserved().GetResources())
	if c.spec, err = spec(xr); err != nil {
		return c, err
	}
	records, read := wire.Required(req, RequiredRecords, "v1", "ConfigMap")
	plans, read2 := wire.Required(req, requiredPlans, v1alpha1.APIVersion, v1alpha1.PlanKind)
	if !read || !read2 {
		return c, errUnread
	}
	c.setRecords(records)
	c.setPlans(plans)
	return c, nil
}

// setComposed reads what the channel has composed. What is malformed is taken as absent. If the state is
// lost, it is what else says it.
func (c *request) setComposed(observed map[string]*fnv1.Resource) {
	c.revisions, c.written = map[int64]tenant.Revision{}, map[int64]string{}
	for name, r := range observed {
		o := wire.Of(r.GetResource())
		content, a := tenant.Revision{}, rollout.Assignment{}
		text := o.String("data", tenant.RevisionKey)
		switch {
		case strings.HasPrefix(name, composedRevision) && json.Unmarshal([]byte(text), &content) == nil && content.Number > 0:
			c.revisions[content.Number], c.written[content.Number] = content, text
		case strings.HasPrefix(name, composedAssignment) && json.Unmarshal([]byte(o.String("data", tenant.AssignmentKey)), &a) == nil && a.Tenant != "":
			c.assignments = append(c.assignments, a)
		}
	}
	slices.SortFunc(c.assignments, func(a, b rollout.Assignment) int { return cmp.Compare(a.Tenant, b.Tenant) })
	state := wire.Of(observed[composedState].GetResource()).String("data", tenant.StateKey)
	if json.Unmarshal([]byte(state), &c.state) == nil && c.state.Revision > 0 {
		return
	}
	c.state = rollout.State{}
	published := tenant.Published{}
	if data, err := wire.Of(observed[composedOffer].GetResource()).Get("data").JSON(); err != nil || json.Unmarshal(data, &published) != nil || published.Revision == 0 {
		return
	}
	c.state = rollout.State{Revision: published.Revision, Complete: published.Complete, Counted: true}
	if published.Halted {
		c.state.Halted = &rollout.Halt{Revision: published.Revision, Message: "it had halted before its state was lost"}
	}
}

// spec decodes the channel's spec, without the fields that Crossplane adds to it.
func spec(xr wire.Struct) (s v1alpha1.ChannelSpec, err error) {
	ours, err := wire.Object("spec", xr.Value("spec"))
	if err != nil {
		return s, err
	}
	wire.DropCrossplanes(ours)
	if err := wire.Bound("spec", ours, 0); err != nil {
		return s, err
	}
	// Only the offer: an empty rollout.mandatoryGroup isn't the same as none, and is an error.
	offer, _ := ours["offer"].(map[string]any)
	wire.Prune(offer)
	return s, wire.Strict("spec", pages.ChannelFields, ours, &s)
}

// setRecords reads the records of the channel's tenants, sorted by tenant. It ignores records
// that can't be read: their tenants write them again. It also ignores those of claims that may
// not name the channel any more.
func (c *request) setRecords(found []wire.Struct) {
	for _, s := range found {
		if s.String("metadata", "labels", tenant.LabelChannel) != c.name || s.String("metadata", "namespace") != c.secretsIn {
			continue
		}
		r := rollout.Record{}
		if json.Unmarshal([]byte(s.String("data", tenant.RecordKey)), &r) == nil && r.Tenant != "" && c.admits(r) {
			c.records = append(c.records, r)
		}
	}
	slices.SortFunc(c.records, func(a, b rollout.Record) int { return cmp.Compare(a.Tenant, b.Tenant) })
	c.records = slices.CompactFunc(c.records, func(a, b rollout.Record) bool { return a.Tenant == b.Tenant })
}

// admits reports whether a tenant is in the channel by its plan, or by a claim of a namespace in
// the channel's list. A tenant whose composite resource is paused doesn't remove its record.
func (c *request) admits(r rollout.Record) bool {
	namespace, _, claimed := strings.Cut(r.Claim, "/")
	return !r.Named || !claimed || plan.Has(c.spec.Namespaces, namespace)
}

// setPlans reads the plans. While one has a mistake, it stays in new revisions as it was before.
func (c *request) setPlans(found []wire.Struct) {
	plans, bad, byDefault := requests.Plans(found)
	was := c.revisions[c.state.Revision]
	c.plans, c.defaultPlan = map[string]v1alpha1.PlanSpec{}, cmp.Or(byDefault, was.DefaultPlan)
	for name, p := range plans {
		if by, _ := c.try(p, tenant.Offered{}); by == mistakes.Plan {
			bad = append(bad, name)
			continue
		}
		c.plans[name] = p.Content().Spec
	}
	for _, name := range bad {
		c.mistakes = append(c.mistakes, name)
		if spec, ok := was.Plans[name]; ok {
			c.plans[name] = spec
		}
	}
	slices.Sort(c.mistakes)
}

// try returns the error that an empty claim gets with a plan and an offer, and whose mistake it is: the claim's if there is none.
func (c *request) try(p plan.Plan, r tenant.Offered) (by mistakes.Owner, err error) {
	_, err = resolve.Tenant(tenant.Given{XRName: "a", Claim: tenant.Claim{Namespace: "a", Name: "a"}, Input: c.input, Plan: p, Offered: r})
	return mistakes.OwnerOf(err), err
}

// check returns the channel's strategy, and an error for a spec that no tenant can have. What only some
// tenants can't have is reported on these tenants.
func (c *request) check() (rollout.Strategy, error) {
	by, ofOffer := c.try(plan.Plan{}, tenant.Offered{Channel: c.name, ChannelOffer: c.spec.Offer})
	switch {
	case by == mistakes.Input:
		// It hides those of the offer and of plans.
		return rollout.Strategy{}, ofOffer
	case by != mistakes.Channel:
		ofOffer = nil
	}
	_, ofNamespaces := plan.Lists("spec.namespaces", c.spec.Namespaces, "")
	s, ofRollout := rollout.Parse(c.spec.Rollout)
	err := mistakes.Join(ofNamespaces, ofRollout, ofOffer)
	if err == nil {
		return s, nil
	}
	// On the channel itself, its name before each field says nothing.
	return s, errors.New(mistakes.Text(err, func(mistake string) string { return strings.TrimPrefix(mistake, "channel "+c.name+": ") }))
}

// maxRevision is the size that a ConfigMap may have, less some room, in bytes.
const maxRevision = 1_000_000

// setRevision sets the newest revision: the one before, or another one with the next number if something
// is offered that this doesn't have. It is an error if that is too large for a ConfigMap.
func (c *request) setRevision() error {
	now := tenant.Revision{Offer: c.spec.Offer, Defaults: tenant.DefaultsOf(c.input), Plans: c.plans, DefaultPlan: c.defaultPlan}
	last := c.state.Revision
	for number := range c.revisions {
		last = max(last, number)
	}
	for _, r := range c.records {
		// A channel that was deleted and created again goes on with its numbers.
		last = max(last, r.Revision)
	}
	digest := digestOf(now)
	was, known := c.revisions[last]
	was.Number = 0
	number := last
	// Its object may be lost, or have been refused; or the state is lost.
	if same := c.state.Revision == last && c.state.Digest == digest || known && digestOf(was) == digest; !same {
		number = last + 1
	}
	now.Number = number
	c.newest, c.digest, c.revisions[number] = now, digest, now
	if _, written := c.written[number]; written {
		return nil
	}
	text, err := json.Marshal(now)
	if err == nil && len(text) > maxRevision {
		err = fmt.Errorf("spec.offer: takes %d bytes with all plans, more than the %d of a revision: write shorter values in it or in plans", len(text), maxRevision)
	}
	c.written[number] = string(text)
	return err
}

// digestOf returns the digest of a revision's content. It has the names of the plans, since a plan without content would leave no trace.
func digestOf(r tenant.Revision) string {
	return fingerprint.Of(struct {
		tenant.Revision
		PlanNames []string
	}{r, slices.Sorted(maps.Keys(r.Plans))})
}

// require asks Crossplane for the tenants' records, and for all plans.
func require(rsp *fnv1.RunFunctionResponse, c *request) {
	s := wire.Selectors{}
	s.Labelled(RequiredRecords, "v1", "ConfigMap", c.secretsIn, map[string]string{tenant.LabelChannel: c.name})
	s.Labelled(requiredPlans, v1alpha1.APIVersion, v1alpha1.PlanKind, "", nil)
	rsp.Requirements = &fnv1.Requirements{Resources: s}
}
