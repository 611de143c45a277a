package versions

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A version that is wanted, and the field that it comes from.
type choice struct {
	field, version string
	// named: the claim names it.
	named bool
}

// checkVersions refuses what vcluster or Kubernetes can't do: a Kubernetes that the
// vcluster doesn't serve, a way back, and a minor version of Kubernetes left out.
// What was seen running counts, not what was asked for: a change that failed can be
// taken back. Patch versions may go either way: they keep their data alike.
func checkVersions(vcluster, kubernetes choice, running tenant.Running) error {
	serves, err := SupportOf(vcluster.field, vcluster.version)
	if err != nil {
		return err
	}
	if err := checkVCluster(vcluster, running.VCluster); err != nil {
		return err
	}
	v := Parse(kubernetes.version)
	if v.Major() != 1 || v.Minor() < serves.Oldest || v.Minor() > serves.Newest {
		return fmt.Errorf("%s: Kubernetes %q is not supported by vcluster %s: write a version of %s", kubernetes.field, kubernetes.version, vcluster.version, minors(serves.Oldest, serves.Newest, ", "))
	}
	is := Parse(running.Kubernetes)
	if is == nil {
		return nil
	}
	allowed := "write a version of " + minors(is.Minor(), max(is.Minor(), min(is.Minor()+1, serves.Newest)), " or ")
	switch {
	case v.Minor() < is.Minor():
		return fmt.Errorf("%s: Kubernetes %s runs, and can't go back to %s: %s", kubernetes.field, running.Kubernetes, kubernetes.version, allowed)
	case v.Minor() > is.Minor()+1:
		return fmt.Errorf("%s: Kubernetes %s runs, and can't leave out a minor version on its way to %s: %s first", kubernetes.field, running.Kubernetes, kubernetes.version, allowed)
	}
	return nil
}

func checkVCluster(vcluster choice, running string) error {
	v, is := Parse(vcluster.version), Parse(running)
	if is == nil || v.Major() > is.Major() || v.Major() == is.Major() && v.Minor() >= is.Minor() {
		return nil
	}
	return fmt.Errorf("%s: vcluster %s runs, and can't go back to %s: write %d.%d.0 or a later version", vcluster.field, running, vcluster.version, is.Major(), is.Minor())
}

// Parse reads a version that has been checked; nil for what is none.
func Parse(version string) *semver.Version {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return nil
	}
	return v
}
