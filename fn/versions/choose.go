package versions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// A version to choose: of a chart, or of Kubernetes.
type version struct {
	// check refuses what is no such version, and writes it in one way.
	check func(field, version string) (string, error)
	// claims is the claim's; "" for none. claim is its field.
	claims, claim string
	// platforms is the one of claims that name none. input is its field.
	platforms, input string
	// listed are those that the plan lists, in field versions.<list>.
	listed []string
	list   string
	// running is the one that was seen running; "" before.
	running string
	// free: where the plan lists none, a claim may name any.
	free bool
}

// choose is the version that the tenant gets: the claim's, if it may name that one,
// or the platform's.
//
// What vcluster and Kubernetes run, they run with an account of the host's, so a
// claim may name the platform's version, the one that runs already, and those that
// the plan lists. Argo CD runs inside the virtual cluster: there any version will do
// where the plan lists none.
func choose(c plan.Plan, v version) (choice, error) {
	ranges := make([]*semver.Constraints, 0, len(v.listed))
	for i, text := range v.listed {
		r, err := semver.NewConstraint(text)
		if err != nil {
			return choice{}, fmt.Errorf("%s[%d]: %q is neither a version nor a range: write one such as 1.35.4, ~1.35 or \">=9.3.0 <10\"", c.At("versions."+v.list), i, text)
		}
		ranges = append(ranges, r)
	}
	if v.claims == "" {
		is, err := v.check(v.input, v.platforms)
		return choice{field: v.input, version: is}, err
	}
	is, err := v.check(v.claim, v.claims)
	if err != nil {
		return choice{}, err
	}
	listed := slices.ContainsFunc(ranges, func(r *semver.Constraints) bool { return r.Check(Parse(is)) })
	if listed || v.free && len(ranges) == 0 || sameVersion(is, v.platforms) || sameVersion(is, v.running) {
		return choice{v.claim, is, true}, nil
	}
	return choice{}, fmt.Errorf("%s: plan %s doesn't allow %s: %s", v.claim, c.Name, is, v.possible())
}

// possible says what a claim may write.
func (v version) possible() string {
	var ways []string
	if len(v.listed) > 0 {
		ways = append(ways, "a version of "+strings.Join(v.listed, ", "))
	}
	platforms, err := v.check(v.input, v.platforms)
	if err == nil {
		ways = append(ways, platforms+" (the platform's)")
	}
	if running, err := v.check("", v.running); err == nil && !sameVersion(running, platforms) {
		ways = append(ways, running+" (the one that runs)")
	}
	if len(v.listed) > 0 {
		return "write " + strings.Join(ways, " or ") + ", or choose another plan"
	}
	return "write " + strings.Join(append(ways, "leave it out"), " or ") + fmt.Sprintf("; the platform can list more in the plan, in versions.%s", v.list)
}

// sameVersion reports whether two texts are the same version, with a leading v or
// without.
func sameVersion(a, b string) bool {
	x, y := Parse(a), Parse(b)
	return x != nil && y != nil && x.String() == y.String()
}
