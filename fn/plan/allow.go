package plan

import (
	"fmt"
	"slices"
	"strings"
)

// allowedVCluster are the paths of vcluster's values that a tenant may set, each
// with all that is below it. Everything else reaches, or may reach, beyond the
// tenant's namespace: it is the platform's to set in the function's input.
var allowedVCluster = []string{
	// The size of the control plane, bounded by the namespace's quota where there is one.
	"controlPlane.statefulSet.resources.limits",
	"controlPlane.statefulSet.resources.requests",
	// The virtual cluster's DNS runs as the tenant's own pods.
	"controlPlane.coredns.deployment.replicas",
	"controlPlane.coredns.deployment.resources",
	// All ConfigMaps and Secrets of the virtual cluster, not only those that pods use.
	"sync.toHost.configMaps.all",
	"sync.toHost.secrets.all",
	// What stays within the tenant's namespace of the host.
	"sync.toHost.ingresses.enabled",
	"sync.toHost.networkPolicies.enabled",
	"sync.toHost.persistentVolumeClaims.enabled",
	"sync.toHost.podDisruptionBudgets.enabled",
	// json or console.
	"logging.encoding",
}

// AllowedVClusterPaths are the paths of vcluster's values that a tenant may set.
func AllowedVClusterPaths() []string { return slices.Clone(allowedVCluster) }

// checkVClusterValues refuses the first path, in order of name, that isn't a
// tenant's to set.
func checkVClusterValues(field string, v Values) error {
	for _, path := range leaves(v) {
		if !vclusterAllowed(path) {
			return fmt.Errorf("%s.%s is not a tenant's to set; near it are: %s", field, strings.Join(path, "."), strings.Join(nearest(path), ", "))
		}
	}
	return nil
}

// vclusterAllowed tells whether the path is at or below one that is allowed. A
// key with a dot in it is one key: comparing joined paths would let
// {"sync.toHost": ...} pass for {sync: {toHost: ...}}.
func vclusterAllowed(path []string) bool {
	return slices.ContainsFunc(allowedVCluster, func(a string) bool {
		allowed := strings.Split(a, ".")
		return len(path) >= len(allowed) && slices.Equal(path[:len(allowed)], allowed)
	})
}

// nearest are the allowed paths that share most of their beginning with path.
func nearest(path []string) []string {
	best, out := -1, []string{}
	for _, a := range allowedVCluster {
		n := 0
		for _, key := range strings.Split(a, ".") {
			if n == len(path) || path[n] != key {
				break
			}
			n++
		}
		if n > best {
			best, out = n, out[:0]
		}
		if n == best {
			out = append(out, a)
		}
	}
	return out
}

// leaves are the paths of everything in v that isn't a map, sorted. A map that
// is empty sets nothing.
func leaves(v Values) [][]string {
	var out [][]string
	var walk func(prefix []string, v Values)
	walk = func(prefix []string, v Values) {
		for key, at := range v {
			path := append(slices.Clone(prefix), key)
			if m, ok := at.(Values); ok {
				walk(path, m)
				continue
			}
			out = append(out, path)
		}
	}
	walk(nil, v)
	slices.SortFunc(out, slices.Compare[[]string])
	return out
}
