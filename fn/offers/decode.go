package offers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	requests "github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// Names of the requirements, and of the composed resources.
const (
	RequiredRecords      = "records"
	requiredPlans        = "plans"
	requiredCompositions = "compositions"

	composedState     = "state"
	composedOffer     = "offer"
	composedAdmission = "admission-"

	compositionAPIVersion = "apiextensions.crossplane.io/v1"
	compositionKind       = "Composition"
)

// errUnread says that Crossplane hasn't read the required resources yet.
var errUnread = errors.New("what the channel depends on is not read yet")

// A request is a decoded request for a channel.
type request struct {
	name      string
	secretsIn string
	spec      v1alpha1.ChannelSpec
	records   []channel.Record
	// inputs of all Compositions, and their digests by "Composition/step".
	inputs  []inputv1alpha1.Input
	inputOf map[string]string
	// mistakes names the plans and Compositions that can't be used as they are now.
	mistakes []string
	// with is what is part of the offer beside its content, and digest that of the whole offer.
	with   tenant.With
	digest string
	memory memory
}

// memory is what a channel remembers.
type memory struct {
	State channel.State `json:"state"`
	// Published is what the channel published last.
	Published tenant.Published `json:"published"`
	// Inputs are the digests of the inputs that are part of the offer, by "Composition/step".
	Inputs map[string]string `json:"inputs,omitempty"`
	// LabelsAt is when the tenants' records have the labels that rollout.first selects by.
	LabelsAt time.Time `json:"labelsAt,omitzero"`
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
	c.secretsIn = tenant.WithDefaults(in).ConnectionSecretNamespace
	c.memory = remembered(req)
	if c.spec, err = spec(xr); err != nil {
		return c, err
	}
	records, read := wire.Required(req, RequiredRecords, "v1", "ConfigMap")
	plans, read2 := wire.Required(req, requiredPlans, v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.PlanKind)
	compositions, read3 := wire.Required(req, requiredCompositions, compositionAPIVersion, compositionKind)
	if !read || !read2 || !read3 {
		return c, errUnread
	}
	c.setRecords(records)
	c.setInputs(compositions)
	c.setPlans(plans)
	slices.Sort(c.mistakes)
	c.digest, err = fingerprint.OfOffer(c.spec.Offer, c.with)
	if c.memory.State.Offer == "" && c.memory.Published.Halted && c.sameOffer() {
		c.memory.State.Halted = &channel.Halt{}
	}
	return c, err
}

// remembered returns what the channel remembers. If its state is lost, that is only what it
// has published.
func remembered(req *fnv1.RunFunctionRequest) memory {
	observed := req.GetObserved().GetResources()
	m := memory{}
	if json.Unmarshal([]byte(wire.Of(observed[composedState].GetResource()).String("data", channel.StateKey)), &m) == nil {
		return m
	}
	m = memory{}
	if data, err := wire.Of(observed[composedOffer].GetResource()).Get("data").JSON(); err != nil || json.Unmarshal(data, &m.Published) != nil {
		return memory{}
	}
	m.State.Complete = m.Published.Complete.Digest
	return m
}

// spec decodes the channel's spec, without the fields that Crossplane adds to it.
func spec(xr wire.Struct) (s v1alpha1.ChannelSpec, err error) {
	all, err := wire.Object("spec", xr.Value("spec"))
	if err != nil {
		return s, err
	}
	ours := map[string]any{}
	for _, name := range []string{"namespaces", "offer", "rollout", "paused"} {
		if v, ok := all[name]; ok {
			ours[name] = v
		}
	}
	if err := wire.Bound("spec", ours, 0); err != nil {
		return s, err
	}
	// Only the offer: an empty rollout.first isn't the same as none, and is an error.
	offer, _ := ours["offer"].(map[string]any)
	wire.Prune(offer)
	return s, wire.Strict("spec", pages.ChannelFields, ours, &s)
}

// setRecords reads the records of the channel's tenants, sorted by tenant. It ignores records
// that can't be read: their tenants write them again. It also ignores those of claims that may
// not name the channel any more.
func (c *request) setRecords(found []wire.Struct) {
	for _, s := range found {
		if s.String("metadata", "labels", channel.Label) != c.name || s.String("metadata", "namespace") != c.secretsIn {
			continue
		}
		r := channel.Record{}
		if json.Unmarshal([]byte(s.String("data", channel.RecordKey)), &r) == nil && r.Tenant != "" && c.admits(r) {
			c.records = append(c.records, r)
		}
	}
	slices.SortFunc(c.records, func(a, b channel.Record) int { return cmp.Compare(a.Tenant, b.Tenant) })
	c.records = slices.CompactFunc(c.records, func(a, b channel.Record) bool { return a.Tenant == b.Tenant })
}

// admits reports whether a tenant is in the channel by its plan, or by a claim of a namespace in
// the channel's list. A tenant whose composite resource is paused doesn't remove its record.
func (c *request) admits(r channel.Record) bool {
	namespace, _, claimed := strings.Cut(r.Claim, "/")
	return !r.Named || !claimed || plan.Has(c.spec.Namespaces, namespace)
}

// setInputs reads the function's inputs in all Compositions. While one has a mistake, the
// input before the mistake stays part of the offer: its tenants keep that one, too.
func (c *request) setInputs(compositions []wire.Struct) {
	inputs := map[string]inputv1alpha1.Input{}
	c.inputOf = map[string]string{}
	for _, s := range compositions {
		kind, name := s.String("spec", "compositeTypeRef", "kind"), s.String("metadata", "name")
		if kind == v1alpha1.ChannelKind {
			continue
		}
		for _, step := range s.List("spec", "pipeline") {
			at := name + "/" + step.String("step")
			was, had := c.memory.Inputs[at]
			in, ours := requests.InputOf(step)
			// In a Composition of another kind, a step without an input belongs to another function.
			ours = ours && (kind == v1alpha1.Kind || in.Kind != "")
			switch {
			case ours && (!had || mistake("input", tenant.Given{Input: in}) == nil):
				digest := fingerprint.Of(in)
				c.inputOf[at], inputs[digest] = digest, in
			case had:
				c.inputOf[at] = was
				c.mistakes = append(c.mistakes, "Composition "+name)
			}
		}
	}
	c.with.Inputs = slices.Compact(slices.Sorted(maps.Values(c.inputOf)))
	for _, digest := range slices.Sorted(maps.Keys(inputs)) {
		c.inputs = append(c.inputs, inputs[digest])
	}
}

// setPlans reads the plans. While one has a mistake, the plan before the mistake stays part of
// the offer.
func (c *request) setPlans(found []wire.Struct) {
	plans, bad, byDefault := requests.Plans(found)
	c.with.Plans, c.with.DefaultPlan = map[string]string{}, cmp.Or(byDefault, c.memory.Published.DefaultPlan)
	for name, p := range plans {
		c.with.Plans[name] = fingerprint.Of(p.Spec)
		if c.refuses(p) {
			bad = append(bad, name)
		}
	}
	for _, name := range bad {
		if was, ok := c.memory.Published.Plans[name]; ok {
			c.with.Plans[name] = was
			c.mistakes = append(c.mistakes, "plan "+name)
		}
	}
}

// refuses reports whether a plan is refused with each of the inputs.
func (c *request) refuses(p plan.Plan) bool {
	return len(c.inputs) > 0 && !slices.ContainsFunc(c.inputs, func(in inputv1alpha1.Input) bool {
		return mistake("plan ", tenant.Given{Input: in, Plan: p}) == nil
	})
}

// mistake returns the error that an empty claim gets with a plan, an input and an offer, if it
// begins with a prefix, such as "plan ", that says whose mistake it is; nil otherwise.
func mistake(whose string, g tenant.Given) error {
	g.XRName, g.Claim = "a", tenant.Claim{Namespace: "a", Name: "a"}
	_, err := resolve.Tenant(g)
	if err != nil && strings.HasPrefix(err.Error(), whose) {
		return err
	}
	return nil
}

// check returns an error for a spec that no tenant can have. What only some tenants can't have
// is reported on these tenants.
func (c *request) check() error {
	if _, err := plan.Lists("spec.namespaces", c.spec.Namespaces, ""); err != nil {
		return err
	}
	if err := channel.Check(c.spec.Rollout); err != nil {
		return err
	}
	offer := tenant.Offer{Channel: c.name, ChannelOffer: c.spec.Offer}
	for _, in := range append([]inputv1alpha1.Input{{}}, c.inputs...) {
		if err := mistake(offer.At(""), tenant.Given{Input: in, Offer: offer}); err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "channel "+c.name+": "))
		}
	}
	return nil
}

// require asks Crossplane for the tenants' records, and for all plans and Compositions.
func require(rsp *fnv1.RunFunctionResponse, c *request) {
	all := func(apiVersion, kind, namespace string, labels map[string]string) *fnv1.ResourceSelector {
		s := &fnv1.ResourceSelector{
			ApiVersion: apiVersion, Kind: kind,
			Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
		}
		if namespace != "" {
			s.Namespace = proto.String(namespace)
		}
		return s
	}
	rsp.Requirements = &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{
		RequiredRecords:      all("v1", "ConfigMap", c.secretsIn, map[string]string{channel.Label: c.name}),
		requiredPlans:        all(v1alpha1.Group+"/"+v1alpha1.Version, v1alpha1.PlanKind, "", nil),
		requiredCompositions: all(compositionAPIVersion, compositionKind, "", nil),
	}}
}
