// Package pool answers requests for pools. A pool composes, for each of its spares, an Object by which provider-kubernetes writes a
// composite resource that belongs to nobody.
//
// Nothing here deletes a composite resource. A spare has the Object as its owner, so that Kubernetes deletes it once the Object is gone.
// Whoever takes the spare removes the owner once it is theirs to delete: see package front. Then the pool lets its Object go, and nothing else
// happens. Until then, the Object only observes.
package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

const (
	// RequiredPlan is the plan of the spares.
	RequiredPlan = "plan"
	// requiredSpare is the prefix for the composite resource of a spare.
	requiredSpare = "spare/"
	// requiredTaker is the prefix for who is taking a spare.
	requiredTaker = "taker/"
	// Prefix of the names of spares in the composition. A number follows, which no other spare of the pool ever has.
	Prefix = "spare-"
	// MaxSize is the most spares that a pool may have.
	MaxSize = 20
	// AtATime is how many spares a pool installs at once.
	AtATime = 2
	// brokenFor is how long a spare may be Degraded before it is replaced.
	brokenFor = 30 * time.Minute
)

// Answer writes what a pool composes and its status into the response. rest is how long Crossplane may leave it alone.
func Answer(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, rest time.Duration, now time.Time) error {
	p, mistake := read(req)
	p.now = now
	s := wire.Selectors{}
	rsp.Requirements = &fnv1.Requirements{Resources: s}
	s.Named(RequiredPlan, v1alpha1.APIVersion, v1alpha1.PlanKind, "", cmp.Or(p.spec.Plan, plan.Default))
	host.RequirePolicies(s)
	for _, is := range p.spares {
		s.Named(requiredSpare+is.name, p.behind(), v1alpha1.Kind, "", is.name)
	}
	if !p.find(req, s) {
		// Crossplane calls the function again.
		return nil
	}
	if mistake == nil {
		mistake = p.choosePlan(req)
	}
	p.unprotected = host.Problem(host.InForce(req))
	d := p.decide(mistake == nil && p.unprotected == "")
	if err := compose(rsp, p, d); err != nil {
		response.Fatal(rsp, err)
		return err
	}
	rsp.GetMeta().Ttl = durationpb.New(rest)
	report(rsp, p, d, mistake)
	return mistake
}

// A Pool is what is given of one.
type pool struct {
	xr   wire.Struct
	spec v1alpha1.PoolSpec
	plan plan.Plan
	now  time.Time
	// spares are those that have an Object, in the order in which they were made.
	spares []one
	// unprotected is why nothing may be installed on the host; "" where it may.
	unprotected string
	// last is the number of the last one that was made, and taken how many were taken.
	last, taken int64
}

// one is a spare.
type one struct {
	number int64
	name   string
	// object is its Object, as observed; none for one that is made now.
	object wire.Composed
	// xr is its composite resource, as it is now.
	xr wire.Struct
	// abandoned reports whether whoever was taking it doesn't exist any more.
	abandoned bool
}

// owned reports whether its composite resource goes with its Object.
func (o one) owned() bool {
	uid := o.object.String("metadata", "uid")
	return slices.ContainsFunc(o.xr.List("metadata", "ownerReferences"), func(owner wire.Struct) bool { return owner.String("uid") == uid })
}

func (p pool) name() string   { return p.xr.String("metadata", "name") }
func (p pool) behind() string { return p.xr.String("apiVersion") }

func read(req *fnv1.RunFunctionRequest) (*pool, error) {
	p := &pool{xr: wire.Of(req.GetObserved().GetComposite().GetResource())}
	p.last, p.taken = p.xr.Int(0, "status", "last"), p.xr.Int(0, "status", "taken")
	for name, r := range req.GetObserved().GetResources() {
		number, err := strconv.ParseInt(strings.TrimPrefix(name, Prefix), 10, 64)
		if err != nil || !strings.HasPrefix(name, Prefix) {
			continue
		}
		o := wire.Composed{Struct: wire.Of(r.GetResource())}
		p.spares = append(p.spares, one{number: number, name: o.String("metadata", "name"), object: o})
		p.last = max(p.last, number)
	}
	slices.SortFunc(p.spares, func(a, b one) int { return cmp.Compare(a.number, b.number) })
	spec, err := wire.Object("spec", p.xr.Value("spec"))
	wire.DropCrossplanes(spec)
	if err == nil {
		err = wire.Strict("spec", pages.PoolFields, spec, &p.spec)
	}
	switch {
	case err != nil:
	case p.spec.Plan == "":
		err = errors.New("spec.plan: is missing: write the name of a plan")
	case p.spec.Size < 0 || p.spec.Size > MaxSize:
		err = fmt.Errorf("spec.size: %d is not possible: write 0 to %d", p.spec.Size, MaxSize)
	}
	return p, err
}

// find looks for the spares' composite resources, and for who is taking them, which it requires. It reports whether all were read.
func (p *pool) find(req *fnv1.RunFunctionRequest, s wire.Selectors) bool {
	_, read := req.GetRequiredResources()[RequiredPlan]
	for i := range p.spares {
		is := &p.spares[i]
		found, looked := wire.Required(req, requiredSpare+is.name, p.behind(), v1alpha1.Kind)
		read = read && looked
		is.xr = wire.Named(found, is.name)
		if !spare.Taken(is.xr) || !is.owned() {
			continue
		}
		by := tenant.ClaimOf(is.xr)
		if by.APIVersion == "" || by.Kind == "" || by.Namespace == "" || by.Name == "" {
			continue
		}
		taker := requiredTaker + is.name
		s.Named(taker, by.APIVersion, by.Kind, by.Namespace, by.Name)
		found, looked = wire.Required(req, taker, by.APIVersion, by.Kind)
		read = read && looked
		is.abandoned = len(found) == 0
	}
	return read
}

// choosePlan has the plan of the spares. One with a mistake is none: the spares that are there stay as they are.
func (p *pool) choosePlan(req *fnv1.RunFunctionRequest) error {
	found, _ := wire.Required(req, RequiredPlan, v1alpha1.APIVersion, v1alpha1.PlanKind)
	is := wire.Named(found, p.spec.Plan)
	if !is.Exists() && p.spec.Plan != plan.Default {
		return fmt.Errorf("spec.plan: there is no XArgoCDPlan %.80q: create it, or write another one", p.spec.Plan)
	}
	of, err := decode.Plan(is)
	if err == nil {
		p.plan = of
	}
	return err
}

// A State of a spare decides what becomes of its Object.
type state int

const (
	// stays: it is to be there.
	stays state = iota
	// taken: somebody has it.
	taken
	// handed: it belongs to somebody, and would still go with its Object.
	handed
	// gone: its Object or its composite resource is being deleted, or doesn't exist any more.
	gone
	// outdated: it has another plan, or something else of the platform, than a new tenant would get now.
	outdated
)

func (p pool) stateOf(is one) state {
	seen := is.object.Has("status", "atProvider", "manifest", "metadata", "uid")
	labels := is.object.Get(resource.InManifest("metadata", "labels")...)
	switch {
	case spare.Taken(is.xr) && !is.owned():
		return taken
	case spare.Taken(is.xr) && !is.abandoned && !is.xr.Deleting():
		return handed
	case is.object.Deleting(), is.xr.Exists() && !spare.Is(is.xr), seen && !is.xr.Exists():
		return gone
	case p.plan.Name != "" && labels.Exists() && (labels.String(v1alpha1.LabelPoolPlan) != p.plan.Name || labels.String(v1alpha1.LabelPoolDigest) != spare.Digest(p.plan)):
		return outdated
	case spare.Outdated(is.xr):
		return outdated
	}
	return stays
}

// offers reports whether a spare can be taken now.
func (p pool) offers(is one) bool { return spare.Offered(is.xr) && p.stateOf(is) == stays }

// isBroken reports whether a spare was Ready once, and has been Degraded for long.
func (p pool) isBroken(is one) bool {
	since, err := time.Parse(time.RFC3339, is.xr.Condition("Ready").LastTransitionTime)
	return is.xr.String("status", "readyAt") != "" && is.xr.String("status", "phase") == string(v1alpha1.PhaseDegraded) && err == nil && p.now.Sub(since) >= brokenFor
}

// worst returns the index of the spare that is to be replaced first; -1 for none.
func (p pool) worst(of []one) int {
	if at := slices.IndexFunc(of, func(is one) bool { return p.stateOf(is) == outdated }); at >= 0 {
		return at
	}
	return slices.IndexFunc(of, p.isBroken)
}

// A Decision is what a pool composes.
type decision struct {
	// handed are those of which the Object stays until nothing depends on it.
	handed []one
	// kept are the spares that are composed, those that are new included.
	kept []one
	// took are those that were taken since the last call.
	took []one
	last int64
}

// decide decides which spares are composed. Where the pool has a mistake, what is there stays, and nothing is made.
func (p pool) decide(accepted bool) decision {
	d := decision{last: p.last}
	going, making := 0, 0
	for _, is := range p.spares {
		switch p.stateOf(is) {
		case stays, outdated:
			d.kept = append(d.kept, is)
		case taken:
			if !is.object.Deleting() {
				d.took = append(d.took, is)
			}
		case handed:
			d.handed = append(d.handed, is)
		case gone:
			going++
		}
	}
	if !accepted {
		return d
	}
	size := int(p.spec.Size)
	if len(d.kept) > size {
		// Those that can be taken stay first, and of these the oldest; those that are to be replaced stay last.
		rank := func(is one) int { return btoi(!p.offers(is)) + btoi(p.stateOf(is) == outdated) }
		slices.SortStableFunc(d.kept, func(a, b one) int { return cmp.Compare(rank(a), rank(b)) })
		d.kept = d.kept[:size]
	}
	for _, is := range d.kept {
		// One that broke later holds nothing up, nor does one that is to be replaced.
		making += btoi(is.xr.String("status", "readyAt") == "" && p.stateOf(is) != outdated)
	}
	// One after the other: where the host is in trouble, spares heal with it, and what new tenants get now may not come up, or be taken back.
	if worst := p.worst(d.kept); worst >= 0 && len(d.kept) == size && going == 0 && making == 0 {
		d.kept = slices.Delete(d.kept, worst, worst+1)
		going++
	}
	// What is still being deleted takes room on the host.
	for ; len(d.kept)+going < size && making < AtATime; making++ {
		d.last++
		d.kept = append(d.kept, one{number: d.last, name: p.nameOf(d.last)})
	}
	return d
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nameHash is how many hexadecimal digits the hash in a spare's name has, and namePrefix how many bytes of the pool's name.
const nameHash, namePrefix = 12, 20

// nameOf returns the name of the spare with a number: one that no other pool gives, nor one of the same name that is created later.
func (p pool) nameOf(number int64) string {
	sum := sha256.Sum256([]byte(p.xr.String("metadata", "uid") + "/" + strconv.FormatInt(number, 10)))
	prefix := strings.ReplaceAll(p.name(), ".", "-")
	return strings.Trim(prefix[:min(len(prefix), namePrefix)], "-") + "-" + hex.EncodeToString(sum[:])[:nameHash]
}

// report writes the status of a pool, its conditions, and events.
func report(rsp *fnv1.RunFunctionResponse, p *pool, d decision, mistake error) {
	status := v1alpha1.PoolStatus{Taken: p.taken + int64(len(d.took)), Last: d.last}
	var problems []string
	for _, is := range d.kept {
		switch {
		case !p.offers(is):
			status.Making++
			if said := condition.Said(is.object); said != "" && is.object.Condition("Synced").False() && is.object.Current() && writesTo(is) {
				problems = append(problems, said)
			}
		case spare.Asleep(is.xr):
			status.Asleep++
			fallthrough
		default:
			status.Offered++
		}
	}
	composite, err := wire.Report(rsp, p.xr, &status)
	if err != nil {
		response.Fatal(rsp, fmt.Errorf("cannot write the pool's status: %w", err))
		return
	}
	composite.Ready = fnv1.Ready_READY_TRUE
	accepted := condition.Condition{Type: v1alpha1.ConditionSpecAccepted, True: true, Reason: v1alpha1.ReasonAccepted, Message: "The pool's spec is in use"}
	if mistake != nil {
		accepted.True, accepted.Reason, accepted.Message = false, v1alpha1.ReasonInvalidSpec, mistakes.Text(mistake, func(s string) string { return s })
	}
	full := condition.Of(v1alpha1.ConditionPoolFull).Yes(fmt.Sprintf("%d of %d spares can be taken", status.Offered, p.spec.Size))
	switch {
	case p.unprotected != "":
		full = condition.Of(v1alpha1.ConditionPoolFull).No(v1alpha1.ReasonPoliciesMissing, p.unprotected, "")
	case len(problems) > 0:
		full = condition.Of(v1alpha1.ConditionPoolFull).No(v1alpha1.ReasonNotWritten, "provider-kubernetes can't write a spare", problems[0])
	case status.Offered < p.spec.Size:
		full = condition.Of(v1alpha1.ConditionPoolFull).No(v1alpha1.ReasonFilling, full.Message, "")
	}
	for _, is := range []condition.Condition{accepted, full} {
		is.Write(rsp).TargetComposite()
		was := p.xr.Condition(is.Type)
		if was.Reason == is.Reason || was.Status == "" && is.True {
			continue
		}
		if is.True || is.Reason == v1alpha1.ReasonFilling {
			response.Normal(rsp, is.Message).WithReason(is.Reason).TargetComposite()
		} else {
			response.Warning(rsp, errors.New(is.Message)).WithReason(is.Reason).TargetComposite()
		}
	}
	for _, is := range d.took {
		by := tenant.ClaimOf(is.xr)
		response.Normal(rsp, fmt.Sprintf("%s %s of namespace %s has taken spare %s", by.Kind, by.Name, by.Namespace, is.name)).
			WithReason(v1alpha1.EventSpareTaken).TargetComposite()
	}
}

// compose puts the Objects of a decision into the response. What other functions of the pipeline desire is kept.
func compose(rsp *fnv1.RunFunctionResponse, p *pool, d decision) error {
	desired := maps.Clone(rsp.GetDesired().GetResources())
	if desired == nil {
		desired = map[string]*fnv1.Resource{}
	}
	for _, is := range slices.Concat(d.kept, d.handed) {
		encoded, err := object(p, is).Encode()
		if err != nil {
			return err
		}
		desired[Prefix+strconv.FormatInt(is.number, 10)] = &fnv1.Resource{Resource: encoded, Ready: fnv1.Ready_READY_TRUE}
	}
	if rsp.GetDesired() == nil {
		rsp.Desired = &fnv1.State{}
	}
	rsp.Desired.Resources = desired
	return nil
}

// writesTo reports whether the Object of a spare writes to its composite resource.
func writesTo(is one) bool {
	return slices.Contains(is.object.Strings("spec", "managementPolicies"), "Update")
}
