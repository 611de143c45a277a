package plan

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Running is what was seen running; empty before.
type Running struct {
	VCluster   string
	Kubernetes string
	// ArgoCD is the version of its chart.
	ArgoCD string
	// Plan in use.
	Plan string
	// Store of the virtual cluster's state.
	Store *Store
}

// A version that is wanted, and the field that it comes from.
type wanted struct {
	field, version string
	// named: the claim names it.
	named bool
}

// checkVersions refuses what vcluster or Kubernetes can't do: a Kubernetes that the
// vcluster doesn't serve, a way back, and a minor version of Kubernetes left out.
// What was seen running counts, not what was asked for: a change that failed can be
// taken back. Patch versions may go either way: they keep their data alike.
func checkVersions(vcluster, kubernetes wanted, running Running) error {
	serves, err := supportOf(vcluster.field, vcluster.version)
	if err != nil {
		return err
	}
	if err := checkVCluster(vcluster, running.VCluster); err != nil {
		return err
	}
	v := parse(kubernetes.version)
	if v.Major() != 1 || v.Minor() < serves.oldest || v.Minor() > serves.newest {
		return fmt.Errorf("%s: Kubernetes %q is not supported by vcluster %s: write a version of %s", kubernetes.field, kubernetes.version, vcluster.version, minors(serves.oldest, serves.newest, ", "))
	}
	is := parse(running.Kubernetes)
	if is == nil {
		return nil
	}
	allowed := "write a version of " + minors(is.Minor(), max(is.Minor(), min(is.Minor()+1, serves.newest)), " or ")
	switch {
	case v.Minor() < is.Minor():
		return fmt.Errorf("%s: Kubernetes %s runs, and can't go back to %s: %s", kubernetes.field, running.Kubernetes, kubernetes.version, allowed)
	case v.Minor() > is.Minor()+1:
		return fmt.Errorf("%s: Kubernetes %s runs, and can't leave out a minor version on its way to %s: %s first", kubernetes.field, running.Kubernetes, kubernetes.version, allowed)
	}
	return nil
}

func checkVCluster(vcluster wanted, running string) error {
	v, is := parse(vcluster.version), parse(running)
	if is == nil || v.Major() > is.Major() || v.Major() == is.Major() && v.Minor() >= is.Minor() {
		return nil
	}
	return fmt.Errorf("%s: vcluster %s runs, and can't go back to %s: write %d.%d.0 or a later version", vcluster.field, running, vcluster.version, is.Major(), is.Minor())
}

// parse reads a version that has been checked; nil for what is none.
func parse(version string) *semver.Version {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return nil
	}
	return v
}
