package versions

import (
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
