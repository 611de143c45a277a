package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A fit holds what a tenant's own pods need against what its LimitRange and its
// quota leave it. The vcluster chart writes a digest of all its values on the
// control plane's pod (_vclusterconfighash.tpl), so that any change of them has it
// replaced, one of the quota alone, too: a pod that the host then refuses leaves
// the tenant without its virtual API.
type fit struct {
	plan Chosen
	// of is the values of both charts.
	of map[string]source
	// store and controlPlanes of the virtual cluster. New: it isn't made yet.
	store         Store
	controlPlanes int64
	isNew         bool
	// policy: the virtual cluster has requestsPolicy.
	policy bool
}

// Charts, as fields call them.
const (
	chartVCluster = "vcluster"
	chartArgoCD   = "argocd"
)

// A source is where the values of a chart come from.
type source struct {
	builtIn, input, plan, claim Values
	decisions                   []decision
	// all of them, merged.
	all Values
}

func (s source) merge() source {
	s.all = Merge(s.builtIn, s.input, s.plan, s.claim, valuesOf(s.decisions))
	return s
}

// An owner is who set a value. Of two that don't fit, the later one's is the mistake.
type owner int

const (
	builtIn owner = iota
	ofInput
	ofPlan
	ofClaim
)

// planFields are the fields of a plan that values of the vcluster chart have.
var planFields = []struct{ path, field string }{
	{"controlPlane.statefulSet.resources.", "vcluster.resources."},
	{"policies.limitRange.default.", "limits.default."},
	{"policies.limitRange.defaultRequest.", "limits.defaultRequest."},
	{"policies.limitRange.max.", "limits.max."},
	{"policies.resourceQuota.quota.", "quota."},
}

// whose is who set a value, and the field in which; for one that is built in, the
// field of the plan that would set it.
func (f fit) whose(chart string, path []string) (owner, string) {
	if len(path) == 0 {
		return builtIn, ""
	}
	s, at := f.of[chart], strings.Join(path, ".")
	for _, d := range s.decisions {
		if slices.Equal(d.path, path) {
			return ofPlan, f.plan.at(d.field)
		}
	}
	for _, l := range []struct {
		values Values
		of     owner
		field  string
	}{
		{s.claim, ofClaim, "spec." + chart + ".values." + at},
		{s.plan, ofPlan, f.plan.at("values." + chart + "." + at)},
		{s.input, ofInput, "input.charts." + chart + ".values." + at},
	} {
		if _, ok := lookup(l.values, path...); ok {
			return l.of, l.field
		}
	}
	for _, p := range planFields {
		if rest, ok := strings.CutPrefix(at, p.path); ok && chart == chartVCluster {
			return builtIn, f.plan.at(p.field + rest)
		}
	}
	return builtIn, f.plan.at("values." + chart + "." + at)
}

// An amount of a resource, and where it stands in the values of a chart.
type amount struct {
	resource.Quantity
	chart string
	path  []string
	// fixed says what it is, when it stands nowhere.
	fixed string
}

// amount is the one at a path; nil when there is none.
func (f fit) amount(chart string, path ...string) (*amount, error) {
	v, _ := lookup(f.of[chart].all, path...)
	if v == nil {
		return nil, nil
	}
	text := amountText(v)
	q, ok := parseAmount(text)
	if !ok {
		_, field := f.whose(chart, path)
		return nil, fmt.Errorf("%s: %.80q is not an amount: write one such as 500m or 2Gi", field, text)
	}
	return &amount{Quantity: q, chart: chart, path: path}, nil
}

// ordered refuses an amount that is larger than the one that bounds it.
func (f fit) ordered(less, more *amount) error {
	if less == nil || more == nil || less.Cmp(more.Quantity) <= 0 {
		return nil
	}
	ofLess, lessAt := f.whose(less.chart, less.path)
	ofMore, moreAt := f.whose(more.chart, more.path)
	wrong, at, write := more, moreAt, "at least"
	other, otherAt, otherOf, elsewhere := less, lessAt, ofLess, "at most"
	if ofLess > ofMore || more.fixed != "" {
		wrong, at, write = less, lessAt, "at most"
		other, otherAt, otherOf, elsewhere = more, moreAt, ofMore, "at least"
	}
	end := fmt.Sprintf(" here, or %s %s there", elsewhere, wrong.String())
	ofClaims := max(ofLess, ofMore) == ofClaim
	if ofClaims || other.fixed != "" {
		end = ""
	}
	if !ofClaims || otherOf == builtIn {
		otherAt = strings.TrimPrefix(otherAt, f.plan.prefix())
	}
	switch {
	case other.fixed != "":
		otherAt = other.fixed
	case otherOf == builtIn:
		otherAt += ", built in,"
	}
	return fmt.Errorf("%s: is %s, and %s is %s: write %s %s%s", at, wrong.String(), otherAt, other.String(), write, other.String(), end)
}

// bound is one that the LimitRange has for a container.
func (f fit) bound(kind, name string) (*amount, error) {
	return f.amount(chartVCluster, "policies", "limitRange", kind, name)
}

// checkLimits refuses a LimitRange that Kubernetes refuses.
func (f fit) checkLimits() error {
	order := []string{"min", "defaultRequest", "default", "max"}
	names := map[string]bool{}
	for _, kind := range order {
		at, _ := lookup(f.of[chartVCluster].all, "policies", "limitRange", kind)
		of, _ := at.(Values)
		for name := range of {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var below []*amount
		for _, kind := range order {
			a, err := f.bound(kind, name)
			if err != nil {
				return err
			}
			for _, less := range below {
				if err := f.ordered(less, a); err != nil {
					return err
				}
			}
			below = append(below, a)
		}
	}
	return nil
}

// A container of the tenant's own.
type container struct {
	chart string
	// path of its resources in the chart's values.
	path []string
	// own are those of the chart that the built-in values leave, such as requests.cpu.
	own map[string]string
	// virtual: it is made in the virtual cluster.
	virtual bool
}

// sizes are what the container requests of a resource, and its limit: its own or,
// as the host completes them, that of the LimitRange; nil where there is none.
func (f fit) sizes(c container, name string) (request, limit *amount, err error) {
	ask := func(kind string) (*amount, error) {
		path := append(slices.Clone(c.path), kind, name)
		if own, ok := c.own[kind+"."+name]; ok {
			if _, set := lookup(f.of[c.chart].all, path...); !set {
				return &amount{Quantity: resource.MustParse(own), chart: c.chart, path: path}, nil
			}
		}
		return f.amount(c.chart, path...)
	}
	if request, err = ask("requests"); err != nil {
		return nil, nil, err
	}
	if limit, err = ask("limits"); err != nil {
		return nil, nil, err
	}
	if request = cmp.Or(request, limit); request == nil {
		request, err = f.bound("defaultRequest", name)
	}
	if given := requestsOfPolicy[name]; given != "" && f.policy && c.virtual && !f.sized(c) {
		request = &amount{Quantity: resource.MustParse(given), fixed: "what the virtual cluster has containers request that name nothing"}
	}
	if err != nil {
		return nil, nil, err
	}
	if limit == nil {
		limit, err = f.bound("default", name)
	}
	return request, limit, err
}

// sized tells whether the container has resources of its own.
func (f fit) sized(c container) bool {
	for _, kind := range []string{"requests", "limits"} {
		at, _ := lookup(f.of[c.chart].all, append(slices.Clone(c.path), kind)...)
		if of, _ := at.(Values); len(of) > 0 {
			return true
		}
	}
	return len(c.own) > 0
}

// checkContainer refuses a container that the host refuses.
func (f fit) checkContainer(c container) error {
	for _, name := range containerNames {
		request, limit, err := f.sizes(c, name)
		if err != nil {
			return err
		}
		least, err := f.bound("min", name)
		if err != nil {
			return err
		}
		most, err := f.bound("max", name)
		if err != nil {
			return err
		}
		if err := cmp.Or(f.ordered(request, limit), f.ordered(limit, most), f.ordered(least, request)); err != nil {
			return err
		}
	}
	return nil
}
