package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// groups are the API groups of Kubernetes itself (1.30 to 1.36). Helm needs the kinds of all objects before it creates any of them (3.21,
// pkg/action/install.go), so what a chart's own CustomResourceDefinitions bring isn't there in the first installation.
var groups = []string{
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// kinds are the API versions of kinds that people write with another one.
var kinds = map[string][]string{
	"ClusterRole": {"rbac.authorization.k8s.io/v1"}, "ClusterRoleBinding": {"rbac.authorization.k8s.io/v1"}, "ConfigMap": {"v1"}, "CronJob": {"batch/v1"}, "CustomResourceDefinition": {"apiextensions.k8s.io/v1"},
	"DaemonSet": {"apps/v1"}, "Deployment": {"apps/v1"}, "HorizontalPodAutoscaler": {"autoscaling/v2", "autoscaling/v1"}, "Ingress": {"networking.k8s.io/v1"}, "IngressClass": {"networking.k8s.io/v1"},
	"Job": {"batch/v1"}, "LimitRange": {"v1"}, "Namespace": {"v1"}, "NetworkPolicy": {"networking.k8s.io/v1"}, "PersistentVolumeClaim": {"v1"}, "Pod": {"v1"}, "PodDisruptionBudget": {"policy/v1"},
	"PriorityClass": {"scheduling.k8s.io/v1"}, "ReplicaSet": {"apps/v1"}, "ResourceQuota": {"v1"}, "Role": {"rbac.authorization.k8s.io/v1"}, "RoleBinding": {"rbac.authorization.k8s.io/v1"}, "Secret": {"v1"},
	"Service": {"v1"}, "ServiceAccount": {"v1"}, "StatefulSet": {"apps/v1"}, "StorageClass": {"storage.k8s.io/v1"},
}

// ofArgoCD is the group of what Argo CD brings itself.
const ofArgoCD = "argoproj.io"

// objects returns the objects among the values of the argo-cd chart of which a virtual cluster doesn't have the kind. installed reports whether Argo CD
// was installed.
func objects(v values.Values, installed bool) []known.Unknown {
	var out []known.Unknown
	report := func(at, message string) {
		out = append(out, known.Unknown{Path: []string{"extraObjects"}, Message: at + " " + message})
	}
	list := values.At[[]any](v, "extraObjects")
	for i, item := range list {
		object, _ := item.(values.Values)
		checkObject(fmt.Sprintf("entry %d", i), object, installed, report)
	}
	return out
}

func checkObject(at string, object values.Values, installed bool, report func(at, message string)) {
	version, kind := values.At[string](object, "apiVersion"), values.At[string](object, "kind")
	if kind == "List" && version == "v1" {
		for i, item := range values.At[[]any](object, "items") {
			below, _ := item.(values.Values)
			checkObject(fmt.Sprintf("%s, item %d", at, i), below, installed, report)
		}
		return
	}
	group, _, inGroup := strings.Cut(version, "/")
	if !inGroup {
		group = ""
	}
	right := kinds[kind]
	switch {
	case len(object) == 0 || strings.Contains(version+kind, "{{"):
		// Refused elsewhere.
	case version == "" || kind == "":
		report(at, "has no apiVersion or no kind, and Helm fails with it: write both")
	case !slices.Contains(groups, group) && (group != ofArgoCD || !installed):
		report(at, fmt.Sprintf("is a %.60q of %.80q, which a new virtual cluster doesn't have, and Helm fails with it: have spec.bootstrap bring it", kind, version))
	case len(right) > 0 && !slices.Contains(right, version):
		report(at, fmt.Sprintf("is a %.60q of %.80q, which Kubernetes doesn't have, and Helm fails with it: write apiVersion: %s", kind, version, right[0]))
	case len(right) == 0 && isMisspelt(kind):
		report(at, fmt.Sprintf("is a %.60q, which Kubernetes doesn't have, and Helm fails with it: %s", kind, known.Instead(kind, slices.Sorted(maps.Keys(kinds)), "")))
	}
}

// isMisspelt reports whether a kind is one of those that are known, written in other letters.
func isMisspelt(kind string) bool {
	for is := range kinds {
		if strings.EqualFold(strings.TrimSuffix(kind, "s"), is) {
			return true
		}
	}
	return false
}
