package versions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
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

// versions of a tenant.
type versions struct{ vcluster, argocd, kubernetes choice }

// resolve replaces versions that the claim doesn't name by ones that a tenant can go to
// from what it runs, whatever the platform's are by now: none below what runs, and
// Kubernetes one minor version at a time. held says which of the platform's versions
// the tenant doesn't get now, and why. listed are the versions of Kubernetes in the
// plan.
func (v versions) resolve(running tenant.Running, listed []string) (resolved versions, held []string) {
	for _, of := range []struct {
		what   string
		chosen *choice
		runs   string
	}{
		{"Chart vcluster", &v.vcluster, running.VCluster},
		{"Chart argo-cd", &v.argocd, running.ArgoCD},
		{"Kubernetes", &v.kubernetes, running.Kubernetes},
	} {
		if is := Parse(of.runs); !of.chosen.named && is != nil && Parse(of.chosen.version).LessThan(is) {
			held = append(held, fmt.Sprintf("%s stays at %s, which runs: the platform's version, %s, is lower", of.what, of.runs, of.chosen.version))
			of.chosen.version = of.runs
		}
	}
	if to, why := v.step(running.Kubernetes, listed); to != "" {
		held = append(held, why)
		v.kubernetes.version = to
	}
	return v, held
}

// step returns the version of Kubernetes at which a tenant stops on its way from what
// runs to the platform's version, and why; "" where it can go there at once.
func (v versions) step(runs string, listed []string) (to, why string) {
	is, platforms := Parse(runs), Parse(v.kubernetes.version)
	serves, err := SupportOf(v.vcluster.field, v.vcluster.version)
	// What vcluster can't do at all, checkVersions says.
	if err != nil || v.kubernetes.named || is == nil || platforms.Major() != is.Major() || platforms.Minor() <= is.Minor() {
		return "", ""
	}
	switch next := is.Minor() + 1; {
	case next > serves.Newest:
		return runs, fmt.Sprintf("Kubernetes stays at %s, which runs: the platform's version is %s, and vcluster %s serves no later minor version", runs, v.kubernetes.version, v.vcluster.version)
	case next < platforms.Minor():
		to = stop(next, listed)
		return to, fmt.Sprintf("Kubernetes goes to %s first: the platform's version is %s, and no minor version can be left out", to, v.kubernetes.version)
	}
	return "", ""
}

// stop returns a version of a minor of Kubernetes that exists: the highest that the plan
// lists by itself, not in a range, or the one in vcluster's own list.
func stop(minor uint64, listed []string) string {
	highest := semver.New(1, minor, Patches[minor], "", "")
	found := false
	for _, text := range listed {
		v := Parse(text)
		if v == nil || v.Major() != 1 || v.Minor() != minor || v.Prerelease() != "" || v.Metadata() != "" {
			continue
		}
		if !found || v.GreaterThan(highest) {
			highest, found = v, true
		}
	}
	return "v" + highest.String()
}

// Resolve chooses the versions of a tenant.
func Resolve(p *tenant.Decision, r tenant.Given, in v1alpha1.Input) error {
	p.VirtualCluster = tenant.Chart{Repository: in.Charts.VCluster.Repository, Name: in.Charts.VCluster.Name}
	p.ArgoCD = tenant.Chart{Repository: in.Charts.ArgoCD.Repository, Name: in.Charts.ArgoCD.Name}

	var w versions
	for _, v := range []struct {
		version
		into *choice
	}{
		{version{check: chartVersion, claim: "spec.vcluster.chartVersion", claims: r.Spec.VClusterChartVersion, input: "input.charts.vcluster.version", platforms: in.Charts.VCluster.Version,
			list: "vclusterCharts", listed: r.Plan.Data.Versions.VClusterCharts, running: r.Running.VCluster}, &w.vcluster},
		{version{check: chartVersion, claim: "spec.argocd.chartVersion", claims: r.Spec.ArgoCDChartVersion, input: "input.charts.argocd.version", platforms: in.Charts.ArgoCD.Version,
			list: "argocdCharts", listed: r.Plan.Data.Versions.ArgoCDCharts, running: r.Running.ArgoCD, free: true}, &w.argocd},
		{version{check: kubernetesVersion, claim: "spec.kubernetes.version", claims: r.Spec.KubernetesVersion, input: "input.kubernetes.version", platforms: in.Kubernetes.Version,
			list: "kubernetes", listed: r.Plan.Data.Versions.Kubernetes, running: r.Running.Kubernetes}, &w.kubernetes},
	} {
		var err error
		if *v.into, err = choose(r.Plan, v.version); err != nil {
			return err
		}
	}
	w, p.VersionsHeld = w.resolve(r.Running, r.Plan.Data.Versions.Kubernetes)
	p.VirtualCluster.Version, p.ArgoCD.Version, p.Kubernetes = w.vcluster.version, w.argocd.version, w.kubernetes.version
	return checkVersions(w.vcluster, w.kubernetes, r.Running)
}
