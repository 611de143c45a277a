package plan

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// versions of a tenant.
type versions struct{ vcluster, argocd, kubernetes wanted }

// resolve replaces versions that the claim doesn't name by ones that a tenant can go to
// from what it runs, whatever the platform's are by now: none below what runs, and
// Kubernetes one minor version at a time. held says which of the platform's versions
// the tenant doesn't get now, and why. listed are the versions of Kubernetes in the
// plan.
func (v versions) resolve(running Running, listed []string) (resolved versions, held []string) {
	for _, of := range []struct {
		what   string
		wanted *wanted
		runs   string
	}{
		{"Chart vcluster", &v.vcluster, running.VCluster},
		{"Chart argo-cd", &v.argocd, running.ArgoCD},
		{"Kubernetes", &v.kubernetes, running.Kubernetes},
	} {
		if is := parse(of.runs); !of.wanted.named && is != nil && parse(of.wanted.version).LessThan(is) {
			held = append(held, fmt.Sprintf("%s stays at %s, which runs: the platform's version, %s, is lower", of.what, of.runs, of.wanted.version))
			of.wanted.version = of.runs
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
	is, platforms := parse(runs), parse(v.kubernetes.version)
	serves, err := supportOf(v.vcluster.field, v.vcluster.version)
	// What vcluster can't do at all, checkVersions says.
	if err != nil || v.kubernetes.named || is == nil || platforms.Major() != is.Major() || platforms.Minor() <= is.Minor() {
		return "", ""
	}
	switch next := is.Minor() + 1; {
	case next > serves.newest:
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
	highest := semver.New(1, minor, patches[minor], "", "")
	found := false
	for _, text := range listed {
		v := parse(text)
		if v == nil || v.Major() != 1 || v.Minor() != minor || v.Prerelease() != "" || v.Metadata() != "" {
			continue
		}
		if !found || v.GreaterThan(highest) {
			highest, found = v, true
		}
	}
	return "v" + highest.String()
}
