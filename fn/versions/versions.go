// Package versions chooses the versions of the charts and of Kubernetes that a tenant gets.
package versions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Support is which Kubernetes minors a range of vcluster versions serves.
type Support struct {
	// since is the first minor version of vcluster 0.x with it.
	since uint64
	// oldest and newest minor version of Kubernetes 1.x.
	Oldest, Newest uint64
}

// supported is the list K8SVersionMap in vcluster's config, release by release.
// vcluster before 0.34 doesn't renew its certificates, which are valid for a year. A
// vcluster that is newer than the last row is taken to serve as much as that one.
var supported = []Support{
	{since: 34, Oldest: 30, Newest: 35},
	{since: 35, Oldest: 30, Newest: 36},
}

// servesOlderSince is the first vcluster in which Kubernetes before 1.34 runs on a host
// with 1.34 or later (loft-sh/vcluster issues 3578 and 4037).
var servesOlderSince = semver.MustParse("0.36.1")

const olderThan = 34

// Patches are the patch versions of Kubernetes 1.x minors in the list of the default
// vcluster: the version that it runs where no other is asked for.
var Patches = map[uint64]uint64{30: 2, 31: 1, 32: 1, 33: 4, 34: 0, 35: 0, 36: 0}

// SupportOf is what a version of vcluster serves.
func SupportOf(field, vcluster string) (Support, error) {
	v, err := semver.StrictNewVersion(vcluster)
	if err != nil {
		return Support{}, fmt.Errorf("%s: %q is not a version: write an exact one, such as 0.36.1", field, vcluster)
	}
	if v.Major() > 0 {
		return supported[len(supported)-1], nil
	}
	for _, s := range slices.Backward(supported) {
		if v.Minor() < s.since {
			continue
		}
		if v.LessThan(servesOlderSince) {
			s.Oldest = olderThan
		}
		return s, nil
	}
	return Support{}, fmt.Errorf("%s: vcluster %s is not supported: write 0.%d.0 or a later version", field, vcluster, supported[0].since)
}

// chartVersion checks an exact chart version and takes a leading v off: a chart
// says its version without one, and provider-helm compares the two as text.
func chartVersion(field, version string) (string, error) {
	v := strings.TrimPrefix(version, "v")
	if _, err := semver.StrictNewVersion(v); err != nil {
		return "", fmt.Errorf("%s: %q is not a version: write an exact version, such as 1.2.3, not a range", field, version)
	}
	return v, nil
}

// kubernetesVersion checks a Kubernetes version and gives it its leading v.
func kubernetesVersion(field, version string) (string, error) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil || v.Prerelease() != "" || v.Metadata() != "" {
		return "", fmt.Errorf("%s: %q is not a Kubernetes version: write it whole, such as %s", field, version, tenant.DefaultKubernetesVersion)
	}
	return "v" + v.String(), nil
}

// minors names minor versions of Kubernetes.
func minors(from, to uint64, between string) string {
	var out []string
	for m := from; m <= to; m++ {
		out = append(out, "1."+strconv.FormatUint(m, 10))
	}
	return strings.Join(out, between)
}

// Parse reads a version that has been checked; nil for what is none.
func Parse(version string) *semver.Version {
	v, _ := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return v
}

// sameVersion reports whether two texts are the same version, with a leading v or
// without.
func sameVersion(a, b string) bool {
	x, y := Parse(a), Parse(b)
	return x != nil && y != nil && x.String() == y.String()
}
