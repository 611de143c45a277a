package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Class says who may set a value of the vcluster chart.
type Class string

// Classes of values.
const (
	// OfTenant: a claim may set it, and so may plans and the function's input.
	OfTenant Class = "tenant"
	// OfPlan: a plan may set it, and so may the function's input.
	OfPlan Class = "plan"
	// OfInput: the function's input may set it, to which the function adds its own.
	OfInput Class = "input"
	// Protected: the function sets it, and nobody else. What isn't in the table is
	// protected from claims and plans; the function's input may set it.
	Protected Class = "protected"
)

// A VClusterValue is a path of the vcluster chart's values with all that is below
// it, and whose it is.
type VClusterValue struct {
	Path  string
	Class Class
	// Why it is not a tenant's, or what to write in its place; what it is for one
	// that is.
	Why string
}

// vclusterValues is the one table of whose the values of the vcluster chart are.
// The longest path that fits decides. A value that reaches, or may reach, beyond
// the tenant's namespace is never a tenant's.
var vclusterValues = []VClusterValue{
	{"controlPlane.coredns.deployment.replicas", OfTenant, "the virtual cluster's DNS runs as the tenant's own pods"},
	{"controlPlane.coredns.deployment.resources", OfTenant, "as above"},
	{"controlPlane.statefulSet.resources.limits", OfTenant, "the size of the control plane, within the quota"},
	{"controlPlane.statefulSet.resources.requests", OfTenant, "as above"},
	{"logging.encoding", OfTenant, "json or console"},
	{"sync.toHost.persistentVolumeClaims.enabled", OfTenant, "volumes, within the quota"},

	{"controlPlane.backingStore.etcd.deploy.statefulSet.resources", OfPlan, "the size of the store"},
	{"controlPlane.backingStore.etcd.deploy.statefulSet.scheduling", OfPlan, "which of the host's nodes are used"},
	{"controlPlane.coredns.deployment.affinity", OfPlan, "which of the host's nodes are used"},
	{"controlPlane.coredns.deployment.nodeSelector", OfPlan, "which of the host's nodes are used"},
	{"controlPlane.coredns.deployment.tolerations", OfPlan, "which of the host's nodes are used"},
	{"controlPlane.coredns.deployment.topologySpreadConstraints", OfPlan, "which of the host's nodes are used"},
	{"controlPlane.distro.k8s.resources", OfPlan, "what a start of the control plane takes"},
	{"controlPlane.statefulSet.probes", OfPlan, "when the host restarts the control plane"},
	{"controlPlane.statefulSet.scheduling", OfPlan, "which of the host's nodes are used, and who gives way to whom there"},
	{"policies.limitRange.default", OfPlan, "the limits of a container that names none"},
	{"policies.limitRange.defaultRequest", OfPlan, "the requests of a container that names none"},
	{"policies.limitRange.max", OfPlan, "the most that a container may have"},
	{"policies.limitRange.min", OfPlan, "the least that a container may have"},
	{"policies.resourceQuota.quota", OfPlan, "what the tenant may use of the host"},
	{"sync.toHost.podDisruptionBudgets.enabled", OfPlan, "a disruption budget can keep the host's nodes from being drained"},
	{"sync.toHost.pods.enforceTolerations", OfPlan, "which of the host's nodes are used"},
	{"sync.toHost.pods.priorityClassName", OfPlan, "who gives way to whom on the host's nodes"},
	{"sync.toHost.pods.runtimeClassName", OfPlan, "what keeps the tenant's containers from the host's kernel"},

	{"controlPlane.distro.k8s.apiServer.extraArgs", OfInput, "the function adds its own"},
	{"controlPlane.statefulSet.env", OfInput, "the function adds its own"},
	{"experimental.deploy.vcluster.manifests", OfInput, "the function adds its own"},

	{"controlPlane.advanced.defaultImageRegistry", Protected, "input.images.registry sets it"},
	{"controlPlane.advanced.serviceAccount.enabled", Protected, "the control plane's rights on the host are this account's"},
	{"controlPlane.advanced.serviceAccount.name", Protected, "the control plane's rights on the host are this account's"},
	{"controlPlane.advanced.workloadServiceAccount.enabled", Protected, "the tenant's pods run as this account, which has no rights"},
	{"controlPlane.advanced.workloadServiceAccount.name", Protected, "the tenant's pods run as this account, which has no rights"},
	{"controlPlane.backingStore.database", Protected, "backingStore of the plan's vcluster sets the store"},
	{"controlPlane.backingStore.etcd.deploy.enabled", Protected, "backingStore of the plan's vcluster sets it"},
	{"controlPlane.backingStore.etcd.deploy.statefulSet.highAvailability", Protected, "replicas of the plan's vcluster sets it"},
	{"controlPlane.backingStore.etcd.deploy.statefulSet.persistence", Protected, "storage of the plan's vcluster sets it"},
	{"controlPlane.backingStore.etcd.embedded", Protected, "vcluster's open-source build doesn't have it"},
	{"controlPlane.backingStore.etcd.external", Protected, "backingStore of the plan's vcluster sets the store"},
	{"controlPlane.distro.k8s.enabled", Protected, "there is no other"},
	{"controlPlane.distro.k8s.image.tag", Protected, "spec.kubernetes.version, or input.kubernetes.version, sets it"},
	{"controlPlane.distro.k8s.version", Protected, "spec.kubernetes.version, or input.kubernetes.version, sets it"},
	{"controlPlane.proxy.extraSANs", Protected, "the kubeconfig depends on them"},
	{"controlPlane.statefulSet.highAvailability", Protected, "replicas of the plan's vcluster sets it"},
	{"controlPlane.statefulSet.image", Protected, "input.images sets it"},
	{"controlPlane.statefulSet.persistence.volumeClaim", Protected, "storage of the plan's vcluster, or input.storage, sets it"},
	{"controlPlane.statefulSet.runtimeClassName", Protected, "the control plane calls the host's API server and is no tenant's code"},
	{"experimental.deploy.host", Protected, "what Helm installs on the host is the vcluster chart and nothing else"},
	{"exportKubeConfig", Protected, "Crossplane reaches the virtual cluster by it"},
	{"policies.limitRange.annotations", Protected, "the LimitRange isn't the chart's"},
	{"policies.limitRange.enabled", Protected, "no pod is unbounded"},
	{"policies.limitRange.labels", Protected, "the LimitRange isn't the chart's"},
	{"policies.networkPolicy", Protected, "policies add up: the chart's would open what the tenant's own close"},
	{"policies.podSecurityStandard", Protected, "podSecurity of the plan sets it"},
	{"policies.resourceQuota.annotations", Protected, "the ResourceQuota isn't the chart's"},
	{"policies.resourceQuota.enabled", Protected, "no tenant is unbounded"},
	{"policies.resourceQuota.labels", Protected, "the ResourceQuota isn't the chart's"},
	{"policies.resourceQuota.scopeSelector", Protected, "no pod is outside the quota"},
	{"policies.resourceQuota.scopes", Protected, "no pod is outside the quota"},
	{"rbac", Protected, "ClusterRoles of the host say what the control plane may do in the tenant's namespace"},
	{"sync.toHost.configMaps.all", Protected, "those that pods use are synced; a tenant could fill the host's store with the rest"},
	{"sync.toHost.endpointSlices", Protected, "a Service with addresses of a tenant's choice leads the host's ingress controller anywhere"},
	{"sync.toHost.endpoints", Protected, "a Service with addresses of a tenant's choice leads the host's ingress controller anywhere"},
	{"sync.toHost.ingresses", Protected, "on where the claim has a host, by spec.ingress or the platform's domain"},
	{"sync.toHost.namespaces", Protected, "a tenant has one namespace of the host"},
	{"sync.toHost.networkPolicies", Protected, "policies add up: one of a tenant's would open what the platform's close"},
	{"sync.toHost.pods.enabled", Protected, "Argo CD runs as the tenant's pods"},
	{"sync.toHost.pods.useSecretsForSATokens", Protected, "tokens belong in Secrets, not in annotations"},
	{"sync.toHost.secrets.all", Protected, "those that pods use are synced; a tenant could fill the host's store with the rest"},
	{"sync.toHost.serviceAccounts", Protected, "the tenant's pods run as one account, which has no rights"},
}

// VClusterValues is the table of whose the values of the vcluster chart are, in
// order of class and path.
func VClusterValues() []VClusterValue { return slices.Clone(vclusterValues) }

// classOf is the row that decides about a path. A key with a dot in it is one key:
// comparing joined paths would let {"sync.toHost": ...} pass for {sync: {toHost: ...}}.
func classOf(path []string) VClusterValue {
	best, length := VClusterValue{Class: Protected}, 0
	for _, row := range vclusterValues {
		of := strings.Split(row.Path, ".")
		if len(of) > length && below(path, of) {
			best, length = row, len(of)
		}
	}
	return best
}

// below tells whether a path is the one of, or below it.
func below(path, of []string) bool { return len(path) >= len(of) && slices.Equal(path[:len(of)], of) }

// checkClaimValues refuses the first path, in order of name, that isn't a tenant's,
// or whose value isn't plain.
func checkClaimValues(field string, v Values) error {
	for _, path := range leaves(v) {
		row := classOf(path)
		if row.Class != OfTenant {
			return fmt.Errorf("%s.%s is not a tenant's to set%s; near it are: %s", field, strings.Join(path, "."), row.because(), strings.Join(nearest(path), ", "))
		}
		value, _ := lookup(v, path...)
		if err := checkPlain(field, path, value); err != nil {
			return err
		}
	}
	return nil
}

// checkPlanValues refuses the first path that is neither a plan's nor a tenant's.
func checkPlanValues(field string, v Values) error {
	for _, path := range leaves(v) {
		if row := classOf(path); row.Class != OfTenant && row.Class != OfPlan {
			return fmt.Errorf("%s.%s is protected%s: leave it out; values that no list of them names belong in the function's input", field, strings.Join(path, "."), row.because())
		}
	}
	return nil
}

// plain is text that can't end what it is written into. The chart writes some values
// into its manifests as they are: a line break would begin another manifest, which
// Helm would install on the host.
var plain = regexp.MustCompile(`^[A-Za-z0-9._/+-]*$`)

// encodings of vcluster's log.
var encodings = []string{"console", "json"}

// checkPlain refuses a value of a claim that the chart could take for more than
// text, or a key of its path.
func checkPlain(field string, path []string, value any) error {
	const signs = "letters, digits and the signs . _ / + -"
	if at := slices.IndexFunc(path, func(key string) bool { return !plain.MatchString(key) }); at >= 0 {
		return fmt.Errorf("%s: key %.80q is not possible: write %s", strings.Join(append([]string{field}, path[:at]...), "."), path[at], signs)
	}
	field += "." + strings.Join(path, ".")
	switch text, is := value.(string); {
	case slices.Equal(path, []string{"logging", "encoding"}) && !slices.Contains(encodings, text):
		return fmt.Errorf("%s: %.80q is unknown: write one of %s", field, fmt.Sprint(value), strings.Join(encodings, ", "))
	case is && !plain.MatchString(text):
		return fmt.Errorf("%s: %.80q is not possible: write %s", field, text, signs)
	}
	if _, list := value.([]any); list {
		return fmt.Errorf("%s: write one value, not a list", field)
	}
	return nil
}

// checkInputValues refuses the first path that the function sets, or that would
// take away a map in which it does.
func checkInputValues(field string, v Values) error {
	for _, row := range vclusterValues {
		if row.Class != Protected {
			continue
		}
		if at := taken(v, strings.Split(row.Path, ".")); at != nil {
			return fmt.Errorf("%s.%s is protected%s: leave it out", field, strings.Join(at, "."), row.because())
		}
	}
	return nil
}

func (v VClusterValue) because() string {
	if v.Why == "" {
		return ""
	}
	return " (" + v.Why + ")"
}

// nearest are the tenant's paths that share most of their beginning with path.
func nearest(path []string) []string {
	best, out := -1, []string{}
	for _, row := range vclusterValues {
		if row.Class != OfTenant {
			continue
		}
		n := 0
		for _, key := range strings.Split(row.Path, ".") {
			if n == len(path) || path[n] != key {
				break
			}
			n++
		}
		if n > best {
			best, out = n, out[:0]
		}
		if n == best {
			out = append(out, row.Path)
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
