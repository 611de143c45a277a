package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Minor versions of Kubernetes that vcluster 0.36 serves.
const (
	oldestKubernetesMinor = 30
	newestKubernetesMinor = 36
)

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
		return "", fmt.Errorf("%s: %q is not a Kubernetes version: write it whole, such as %s", field, version, DefaultKubernetesVersion)
	}
	if v.Major() != 1 || v.Minor() < oldestKubernetesMinor || v.Minor() > newestKubernetesMinor {
		return "", fmt.Errorf("%s: Kubernetes %q is not supported: write a version of %s", field, version, supportedKubernetes())
	}
	return "v" + v.String(), nil
}

func supportedKubernetes() string {
	minors := make([]string, 0, newestKubernetesMinor-oldestKubernetesMinor+1)
	for m := oldestKubernetesMinor; m <= newestKubernetesMinor; m++ {
		minors = append(minors, "1."+strconv.Itoa(m))
	}
	return strings.Join(minors, ", ")
}
