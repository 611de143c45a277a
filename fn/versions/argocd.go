package versions

import (
	"slices"

	"github.com/Masterminds/semver/v3"
)

// argoCDs are the minor versions of Argo CD by the first version of upstream's chart argo-cd that has them (argo-helm, appVersion in
// charts/argo-cd/Chart.yaml at each tag), in order.
var argoCDs = []struct{ chart, argoCD *semver.Version }{
	{semver.MustParse("7.0.0"), semver.MustParse("2.11.0")},
	{semver.MustParse("7.4.0"), semver.MustParse("2.12.0")},
	{semver.MustParse("7.7.0"), semver.MustParse("2.13.0")},
	{semver.MustParse("7.8.0"), semver.MustParse("2.14.0")},
	{semver.MustParse("8.0.0"), semver.MustParse("3.0.0")},
	{semver.MustParse("8.3.0"), semver.MustParse("3.1.0")},
	{semver.MustParse("9.1.0"), semver.MustParse("3.2.0")},
	{semver.MustParse("9.4.0"), semver.MustParse("3.3.0")},
	{semver.MustParse("9.5.12"), semver.MustParse("3.4.0")},
}

// newestChart is the newest version of the chart of which that is known.
var newestChart = semver.MustParse("10.1.1")

// ArgoCD returns the minor version of Argo CD in a version of upstream's chart argo-cd; nil where it isn't known.
func ArgoCD(chart string) *semver.Version {
	v := Parse(chart)
	if v == nil || v.GreaterThan(newestChart) {
		return nil
	}
	var out *semver.Version
	for _, of := range argoCDs {
		if !v.LessThan(of.chart) {
			out = of.argoCD
		}
	}
	return out
}

// MayBe reports whether a version of Argo CD may be what one of these versions of upstream's chart argo-cd has installed, as far as that is known: it
// is of the minor version of one of them. Of a chart that isn't known, or none, it is one that is older than no chart's; of one that is newer than
// those that are known, it isn't older than the newest.
func MayBe(version string, charts ...string) bool {
	is, oldest, newest := Parse(version), argoCDs[0].argoCD, argoCDs[len(argoCDs)-1].argoCD
	if is == nil || is.LessThan(oldest) {
		return false
	}
	return len(charts) == 0 || slices.ContainsFunc(charts, func(chart string) bool {
		if of := ArgoCD(chart); of != nil {
			return of.Major() == is.Major() && of.Minor() == is.Minor()
		}
		v := Parse(chart)
		return v == nil || v.LessThan(newestChart) || !is.LessThan(newest)
	})
}
