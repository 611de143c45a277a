// Package versions chooses the versions of the charts and of Kubernetes that a tenant gets.
package versions

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Support is the range of minor versions of Kubernetes 1.x that a version of vcluster serves.
type Support struct {
	Oldest, Newest uint64
}

// oldestVCluster is the oldest minor version of vcluster 0.x that is supported. Those before
// don't renew their certificates, which are valid for a year.
const oldestVCluster = 34

// oldestKubernetes and newestKubernetes are the minor versions of Kubernetes 1.x that some vcluster serves.
const oldestKubernetes, newestKubernetes = 30, 36

// servesOlderSince is the first vcluster in which Kubernetes before 1.34 runs on a host
// with 1.34 or later (loft-sh/vcluster issues 3578 and 4037).
var servesOlderSince = semver.MustParse("0.36.1")

// SupportOf returns what a version of vcluster serves, from the list K8SVersionMap in the
// config of each release. A newer vcluster is taken to serve as much as the last one known.
func SupportOf(vcluster *semver.Version) Support {
	s := Support{Oldest: oldestKubernetes, Newest: newestKubernetes}
	if vcluster.LessThan(servesOlderSince) {
		s.Oldest = 34
	}
	if vcluster.Major() == 0 && vcluster.Minor() < 35 {
		s.Newest = 35
	}
	return s
}

// Patches are the patch versions of Kubernetes 1.x minors in the list of the default
// vcluster: the version that it runs where no other is asked for.
var Patches = map[uint64]uint64{30: 2, 31: 1, 32: 1, 33: 4, 34: 0, 35: 0, 36: 0}

// chartVersion checks that a chart version is exact, and returns it without a leading v, as
// charts write it: provider-helm compares the two as text.
func chartVersion(field mistakes.Field, version string) (string, error) {
	v := strings.TrimPrefix(version, "v")
	if _, err := semver.StrictNewVersion(v); err != nil {
		return "", field.Errorf("%q is not a version: write an exact version, such as 1.2.3, not a range", version)
	}
	return v, nil
}

// kubernetesVersion checks a Kubernetes version, and returns it with a leading v.
func kubernetesVersion(field mistakes.Field, version string) (string, error) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil || v.Prerelease() != "" || v.Metadata() != "" {
		return "", field.Errorf("%q is not a Kubernetes version: write it whole, such as %s", version, tenant.DefaultKubernetesVersion)
	}
	return "v" + v.String(), nil
}

// minors lists the minor versions of Kubernetes from one to another.
func minors(from, to uint64, between string) string {
	var out []string
	for m := from; m <= to; m++ {
		out = append(out, fmt.Sprintf("1.%d", m))
	}
	return strings.Join(out, between)
}

// Parse returns a version, with a leading v or without; nil for what is none.
func Parse(version string) *semver.Version {
	v, _ := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return v
}

// sameVersion reports whether two texts are the same version.
func sameVersion(a, b string) bool {
	x, y := Parse(a), Parse(b)
	return x != nil && y != nil && x.String() == y.String()
}
