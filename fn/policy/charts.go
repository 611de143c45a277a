package policy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// digest matches the digests that a Release can have.
var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// chartDigests refuses digests that no Release can have, or that no version would ever be installed by.
func chartDigests(g tenant.Given) error {
	return cmp.Or(
		CheckDigests("input.charts.vcluster", g.Platform.Charts.VCluster),
		CheckDigests("input.charts.argocd", g.Platform.Charts.ArgoCD),
	)
}

// CheckDigests refuses them in a chart of the input.
func CheckDigests(field string, c v1alpha1.Chart) error {
	if len(c.Digests) > 0 && !strings.HasPrefix(c.Repository, "oci://") {
		return fmt.Errorf("%s.digests: charts of repository %s can't be installed by digest: write an oci:// repository, or leave the digests out", field, c.Repository)
	}
	for _, version := range slices.Sorted(maps.Keys(c.Digests)) {
		if _, err := semver.StrictNewVersion(version); err != nil {
			return fmt.Errorf("%s.digests: %q is not a version: write an exact version, such as 1.2.3", field, version)
		}
		if is := c.Digests[version]; !digest.MatchString(is) {
			return fmt.Errorf("%s.digests[%s]: %q is not a digest: write sha256: and 64 hexadecimal digits, as `helm pull` prints it", field, version, is)
		}
	}
	return nil
}
