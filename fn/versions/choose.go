package versions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A version to choose: of a chart, or of Kubernetes.
type version struct {
	what string
	// check checks a version, and returns it as it is written.
	check func(field mistakes.Field, version string) (string, error)
	// claims is the claim's version, "" for none, in the field claim.
	claims string
	claim  mistakes.Field
	// platforms is the version of claims that name none, in the field platform.
	platforms string
	platform  mistakes.Field
	// listed are the versions that the plan lists, in the field versions.<list>.
	listed []string
	list   string
	// running is the version that was seen running; "" for none.
	running string
	// back are the lower versions to which the tenant can go back; "" for none.
	back []string
	// free reports whether a claim may name any version where the plan lists none, or is unknown.
	free bool

	// chosen is the version that the tenant gets, and field the one that it comes from.
	chosen string
	field  mistakes.Field
}

// Resolve chooses the versions of a tenant. A version that the claim doesn't name is the
// platform's or, where the tenant can't go there, the nearest one that it can: never one
// below what runs, and of Kubernetes at most the next minor version. Only from a version of
// argo-cd that hasn't proved itself there may the tenant go back.
func Resolve(d *tenant.Decision, g tenant.Given) error {
	in := g.Platform
	listed := g.Plan.Spec.Versions
	vcluster := &version{what: "Chart vcluster", check: chartVersion, claim: mistakes.Field{Owner: mistakes.Claim, Path: "spec.vcluster.chartVersion"}, claims: g.Spec.VClusterChartVersion,
		platform: g.Offered.Or(g.Offered.VCluster.ChartVersion, "vcluster.chartVersion", "input.charts.vcluster.version"), platforms: in.Charts.VCluster.Version, list: "vclusterCharts", listed: listed.VClusterCharts, running: g.Running.VCluster, free: g.Unassigned}
	argocd := &version{what: "Chart argo-cd", check: chartVersion, claim: mistakes.Field{Owner: mistakes.Claim, Path: "spec.argocd.chartVersion"}, claims: g.Spec.ArgoCDChartVersion,
		platform: g.Offered.Or(g.Offered.ArgoCD.ChartVersion, "argocd.chartVersion", "input.charts.argocd.version"), platforms: in.Charts.ArgoCD.Version, list: "argocdCharts", listed: listed.ArgoCDCharts, running: g.Running.ArgoCD, free: true}
	kubernetes := &version{what: "Kubernetes", check: kubernetesVersion, claim: mistakes.Field{Owner: mistakes.Claim, Path: "spec.kubernetes.version"}, claims: g.Spec.KubernetesVersion,
		platform: g.Offered.Or(g.Offered.Kubernetes.Version, "kubernetes.version", "input.kubernetes.version"), platforms: in.Kubernetes.Version, list: "kubernetes", listed: listed.Kubernetes, running: g.Running.Kubernetes, free: g.Unassigned}
	// An earlier version of argo-cd can be installed over a later one. An earlier vcluster or
	// Kubernetes may not be able to read what a later one has stored.
	argocd.back = []string{g.Running.ArgoCDWanted, g.GoesBackTo}
	var found []error
	for _, v := range []*version{vcluster, argocd, kubernetes} {
		err := v.choose(g.Plan)
		if found = append(found, err); err != nil {
			v.chosen = ""
		} else if why := v.hold(); why != "" {
			d.VersionsHeld = append(d.VersionsHeld, why)
		}
	}
	d.VirtualCluster = tenant.Chart{Repository: in.Charts.VCluster.Repository, Name: in.Charts.VCluster.Name, Version: vcluster.chosen, Digest: in.Charts.VCluster.Digests[vcluster.chosen]}
	d.ArgoCD = tenant.Chart{Repository: in.Charts.ArgoCD.Repository, Name: in.Charts.ArgoCD.Name, Version: argocd.chosen, Digest: in.Charts.ArgoCD.Digests[argocd.chosen]}
	if vcluster.chosen == "" || kubernetes.chosen == "" {
		return mistakes.Join(found...)
	}
	if g.Unassigned {
		// Versions that the claim doesn't name may be those of a channel.
		d.VirtualCluster.Version, d.ArgoCD.Version = vcluster.claimed(), argocd.claimed()
		return mistakes.Join(append(found, checkClaimed(vcluster, kubernetes))...)
	}
	if to, why := step(vcluster, kubernetes); to != "" {
		d.VersionsHeld = append(d.VersionsHeld, why)
		kubernetes.chosen = to
	}
	d.Kubernetes = kubernetes.chosen
	return mistakes.Join(append(found, checkUpgrade(vcluster, kubernetes))...)
}

// claimed returns the version that is chosen, if the claim names it; "" otherwise.
func (v *version) claimed() string {
	if v.claims == "" {
		return ""
	}
	return v.chosen
}

// choose chooses the claim's version, if the claim may name it, or the platform's.
//
// vcluster and Kubernetes run with an account of the host, so a claim may name only the
// platform's version, the one that runs, and those that the plan lists. Argo CD runs
// inside the virtual cluster: a claim may name any version where the plan lists none.
func (v *version) choose(c plan.Plan) (err error) {
	var ranges []*semver.Constraints
	for i, text := range v.listed {
		r, err := semver.NewConstraint(text)
		if err != nil {
			return c.At(fmt.Sprintf("versions.%s[%d]", v.list, i)).Errorf("%q is neither a version nor a range: write one such as 1.35.4, ~1.35 or \">=9.3.0 <10\"", text)
		}
		ranges = append(ranges, r)
	}
	asked := v.platforms
	if v.field = v.platform; v.claims != "" {
		v.field, asked = v.claim, v.claims
	}
	if v.chosen, err = v.check(v.field, asked); err != nil || v.claims == "" {
		return err
	}
	is := Parse(v.chosen)
	listed := slices.ContainsFunc(ranges, func(r *semver.Constraints) bool { return r.Check(is) })
	if listed || v.free && len(ranges) == 0 || sameVersion(v.chosen, v.platforms) || sameVersion(v.chosen, v.running) {
		return nil
	}
	return v.claim.Errorf("plan %s doesn't allow %s: %s", c.Name, v.chosen, v.possible())
}

// hold replaces a platform's version that is lower than the one that runs, or than the lowest
// to which the tenant can go back. It returns a message if it did.
func (v *version) hold() string {
	least, message := v.running, "%s stays at %s, which runs: the platform's version, %s, is lower"
	for _, back := range v.back {
		if to, is := Parse(back), Parse(least); to != nil && is != nil && to.LessThan(is) {
			least, message = back, "%s goes back to %s, and no further: the platform's version, %s, is lower"
		}
	}
	is := Parse(least)
	if v.claims != "" || is == nil || !Parse(v.chosen).LessThan(is) {
		return ""
	}
	platforms := v.chosen
	v.chosen = least
	return fmt.Sprintf(message, v.what, least, platforms)
}

// possible returns what a claim may write, as the end of an error.
func (v *version) possible() string {
	var ways []string
	if len(v.listed) > 0 {
		ways = append(ways, "a version of "+strings.Join(v.listed, ", "))
	}
	platforms, err := v.check(v.platform, v.platforms)
	if err == nil {
		ways = append(ways, platforms+" (the platform's)")
	}
	if running, err := v.check(mistakes.Field{}, v.running); err == nil && !sameVersion(running, platforms) {
		ways = append(ways, running+" (the one that runs)")
	}
	if len(v.listed) > 0 {
		return "write " + strings.Join(ways, " or ") + ", or choose another plan"
	}
	return "write " + strings.Join(append(ways, "leave it out"), " or ") + "; the platform can list more in the plan, in versions." + v.list
}

// step returns the version of Kubernetes at which a tenant stops on its way from what
// runs to the platform's version, and why; "" where it can go there at once.
func step(vcluster, kubernetes *version) (to, why string) {
	is, platforms := Parse(kubernetes.running), Parse(kubernetes.chosen)
	if kubernetes.claims != "" || is == nil || platforms.Major() != is.Major() || platforms.Minor() <= is.Minor() {
		return "", ""
	}
	switch next := is.Minor() + 1; {
	case next > SupportOf(Parse(vcluster.chosen)).Newest:
		return kubernetes.running, fmt.Sprintf("Kubernetes stays at %s, which runs: the platform's version is %s, and vcluster %s serves no later minor version", kubernetes.running, kubernetes.chosen, vcluster.chosen)
	case next < platforms.Minor():
		to = stop(next, kubernetes.listed)
		return to, fmt.Sprintf("Kubernetes goes to %s first: the platform's version is %s, and no minor version can be left out", to, kubernetes.chosen)
	}
	return "", ""
}

// stop returns a version of Kubernetes of the supplied minor version: the highest exact one
// that the plan lists, or the one in vcluster's own list.
func stop(minor uint64, listed []string) string {
	var highest *semver.Version
	for _, text := range listed {
		exact, err := kubernetesVersion(mistakes.Field{}, text)
		v := Parse(exact)
		if err == nil && v.Major() == 1 && v.Minor() == minor && (highest == nil || v.GreaterThan(highest)) {
			highest = v
		}
	}
	if highest == nil {
		highest = semver.New(1, minor, Patches[minor], "", "")
	}
	return "v" + highest.String()
}

// checkUpgrade refuses what vcluster or Kubernetes can't do: a Kubernetes that vcluster
// doesn't serve, a lower minor version, and an upgrade of Kubernetes by several minor
// versions. It compares with what was seen running, so that a change that failed can be
// taken back. A lower patch version is possible, because it reads the same data.
func checkUpgrade(vcluster, kubernetes *version) error {
	if err := checkVCluster(vcluster); err != nil {
		return err
	}
	return checkKubernetes(kubernetes, vcluster)
}

// checkClaimed refuses of the versions that a claim names what checkUpgrade refuses with any version that it doesn't name.
func checkClaimed(vcluster, kubernetes *version) error {
	var by *version
	if vcluster.claims != "" {
		if err := checkVCluster(vcluster); err != nil {
			return err
		}
		by = vcluster
	}
	if kubernetes.claims == "" {
		return nil
	}
	return checkKubernetes(kubernetes, by)
}

func checkVCluster(vcluster *version) error {
	v, is := Parse(vcluster.chosen), Parse(vcluster.running)
	if v.Major() == 0 && v.Minor() < oldestVCluster {
		return vcluster.field.Errorf("vcluster %s is not supported: write 0.%d.0 or a later version", vcluster.chosen, oldestVCluster)
	}
	if is != nil && (v.Major() < is.Major() || v.Major() == is.Major() && v.Minor() < is.Minor()) {
		return vcluster.field.Errorf("vcluster %s runs, and can't go back to %s: write %d.%d.0 or a later version", vcluster.running, vcluster.chosen, is.Major(), is.Minor())
	}
	return nil
}

// checkKubernetes refuses a Kubernetes that a vcluster doesn't serve, or any vcluster where that is nil, or to which the one that runs can't go.
func checkKubernetes(kubernetes, vcluster *version) error {
	serves, by := Support{Oldest: oldestKubernetes, Newest: newestKubernetes}, "any vcluster"
	if vcluster != nil {
		serves, by = SupportOf(Parse(vcluster.chosen)), "vcluster "+vcluster.chosen
	}
	v, is := Parse(kubernetes.chosen), Parse(kubernetes.running)
	if v.Major() != 1 || v.Minor() < serves.Oldest || v.Minor() > serves.Newest {
		served := minors(serves.Oldest, serves.Newest, ", ")
		if vcluster != nil && vcluster.field.Owner > kubernetes.field.Owner {
			return vcluster.field.Errorf("%s doesn't support Kubernetes %q of %s: write a later version, or also a version of Kubernetes, of %s", by, kubernetes.chosen, kubernetes.field, served)
		}
		return kubernetes.field.Errorf("Kubernetes %q is not supported by %s: write a version of %s", kubernetes.chosen, by, served)
	}
	if is == nil {
		return nil
	}
	allowed := "write a version of " + minors(is.Minor(), max(is.Minor(), min(is.Minor()+1, serves.Newest)), " or ")
	switch {
	case v.Minor() < is.Minor():
		return kubernetes.field.Errorf("Kubernetes %s runs, and can't go back to %s: %s", kubernetes.running, kubernetes.chosen, allowed)
	case v.Minor() > is.Minor()+1:
		return kubernetes.field.Errorf("Kubernetes %s runs, and can't leave out a minor version on its way to %s: %s first", kubernetes.running, kubernetes.chosen, allowed)
	}
	return nil
}
