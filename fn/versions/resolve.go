package versions

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

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
func Resolve(p *tenant.Decision, r tenant.Given) error {
	in := r.Platform
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
