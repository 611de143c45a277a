package values

import (
	"fmt"
	"slices"
	"strings"
)

// A Class says who may set a value of a chart.
type Class string

// Classes of values.
const (
	// OfTenant: a claim may set it, and so may plans and the function's input.
	OfTenant Class = "tenant"
	// OfPlan: a plan may set it, and so may the function's input.
	OfPlan Class = "plan"
	// OfInput: the function's input may set it, to which the function adds its own.
	OfInput Class = "input"
	// Protected: the function sets it, and nobody else.
	Protected Class = "protected"
)

// A Row is a path of a chart's values with all that is below it, and who may set it.
type Row struct {
	Path  string
	Class Class
	// Why it is not a tenant's, or what to write in its place; what it is for one
	// that is.
	Why string
}

// A Table says who may set the values of a chart. The longest path that fits decides.
type Table struct {
	Rows []Row
	// otherwise is the class of what isn't in the table.
	otherwise Class
}

// VCluster is the table of the vcluster chart. A value that reaches, or may reach,
// beyond the tenant's namespace is never a tenant's.
var VCluster = Table{otherwise: OfInput, Rows: []Row{
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
	{"sync.toHost.ingresses", Protected, "always on: the control plane may write Ingresses on the host once the claim has a host, by spec.ingress or the platform's domain"},
	{"sync.toHost.namespaces", Protected, "a tenant has one namespace of the host"},
	{"sync.toHost.networkPolicies", Protected, "policies add up: one of a tenant's would open what the platform's close"},
	{"sync.toHost.pods.enabled", Protected, "Argo CD runs as the tenant's pods"},
	{"sync.toHost.pods.useSecretsForSATokens", Protected, "tokens belong in Secrets, not in annotations"},
	{"sync.toHost.secrets.all", Protected, "those that pods and Ingresses use are synced; a tenant could fill the host's store with the rest"},
	{"sync.toHost.serviceAccounts", Protected, "the tenant's pods run as one account, which has no rights"},
}}

// ArgoCD is the table of the argo-cd chart: names that the function relies on.
var ArgoCD = Table{otherwise: OfTenant, Rows: []Row{
	{"fullnameOverride", Protected, ""},
	{"nameOverride", Protected, ""},
	{"namespaceOverride", Protected, ""},
	{"applicationSet.name", Protected, ""},
	{"commitServer.name", Protected, ""},
	{"controller.name", Protected, ""},
	{"dex.name", Protected, ""},
	{"notifications.name", Protected, ""},
	{"redis.name", Protected, ""},
	{"repoServer.name", Protected, ""},
	{"server.name", Protected, ""},
	{"redis-ha.fullnameOverride", Protected, ""},
	{"redis-ha.nameOverride", Protected, ""},
}}

// ClassOf returns the row that decides about a path. A key with a dot in it is one key:
// comparing joined paths would let {"sync.toHost": ...} pass for {sync: {toHost: ...}}.
func (t Table) ClassOf(path []string) Row {
	best, length := Row{Class: t.otherwise}, 0
	for _, row := range t.Rows {
		of := strings.Split(row.Path, ".")
		if len(of) > length && Below(path, of) {
			best, length = row, len(of)
		}
	}
	return best
}

// Below reports whether a path is the one of, or below it.
func Below(path, of []string) bool { return len(path) >= len(of) && slices.Equal(path[:len(of)], of) }

// check refuses the first path of a layer, in order of name, that isn't its owner's.
func (t Table) check(l Layer) error {
	switch l.Owner {
	case BuiltIn:
		return nil
	// What a channel offers is the platform's, as the input is.
	case Input, Channel:
		return t.checkInput(l)
	}
	for _, path := range Leaves(l.Values) {
		row, at := t.ClassOf(path), l.Field+"."+strings.Join(path, ".")
		switch {
		case row.Class == OfTenant, row.Class == OfPlan && l.Owner == Plan:
		case t.otherwise == OfTenant:
			return fmt.Errorf("%s is the platform's to set: leave it out", at)
		case l.Owner == Plan:
			return fmt.Errorf("%s is protected%s: leave it out; values that no list of them names belong in the function's input", at, row.because())
		default:
			return fmt.Errorf("%s is not a tenant's to set%s; near it are: %s", at, row.because(), strings.Join(t.nearest(path), ", "))
		}
	}
	return nil
}

// checkInput refuses the first path that the function sets, or that would take away a
// map in which it does. The names of Argo CD's workloads the function sets over it.
func (t Table) checkInput(l Layer) error {
	for _, row := range t.Rows {
		if row.Class != Protected || t.otherwise == OfTenant {
			continue
		}
		if at := taken(l.Values, strings.Split(row.Path, ".")); at != nil {
			return fmt.Errorf("%s.%s is protected%s: leave it out", l.Field, strings.Join(at, "."), row.because())
		}
	}
	return nil
}

func (r Row) because() string {
	if r.Why == "" {
		return ""
	}
	return " (" + r.Why + ")"
}

// nearest are the tenant's paths that share most of their beginning with path.
func (t Table) nearest(path []string) []string {
	best, out := -1, []string{}
	for _, row := range t.Rows {
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
