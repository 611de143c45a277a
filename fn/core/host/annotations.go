package host

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// NamespaceAnnotations returns the annotations of the tenant's namespace, by which the
// admission policies of examples/install/tenants.yaml know what is the tenant's. Each
// is a list with commas between.
func NamespaceAnnotations(d *tenant.Decision) map[string]string {
	v := d.VirtualCluster.Values
	pods := values.At[values.Values](v, "sync", "toHost", "pods")
	env := texts(v, "name", "controlPlane", "distro", "k8s", "env")
	var tolerated, priorities, devices []string
	for _, of := range [][]string{{"statefulSet"}, {"distro", "k8s"}, {"backingStore", "etcd", "deploy", "statefulSet"}} {
		devices = append(devices, otherResources(values.At[values.Values](v, slices.Concat([]string{"controlPlane"}, of, []string{"resources"})...))...)
	}
	for _, path := range [][]string{{"controlPlane", "statefulSet"}, {"controlPlane", "backingStore", "etcd", "deploy", "statefulSet"}} {
		control := values.At[values.Values](v, path...)
		tolerated = append(tolerated, texts(control, "key", "scheduling", "tolerations")...)
		env = append(env, texts(control, "name", "env")...)
		if class, _ := values.Lookup(control, "scheduling", "priorityClassName"); class != nil {
			priorities = append(priorities, values.AmountText(class))
		}
	}
	out := map[string]string{
		tenant.AnnotationIngressHost:       strings.Join(d.Ingress.Own, ","),
		tenant.AnnotationIngressNamespaces: strings.Join(tenant.WebhookNamespaces(d), ","),
		tenant.AnnotationClusterIssuers:    strings.Join(d.Ingress.ClusterIssuers, ","),
		// Keys of taints that the tenant's pods tolerate, and their PriorityClass.
		"virtualargocd.io/tolerations":    strings.Join(toleratedBy(pods), ","),
		"virtualargocd.io/priority-class": values.At[string](pods, "priorityClassName"),
		// Their RuntimeClass, which keeps their containers from the host's kernel.
		"virtualargocd.io/runtime-class": values.At[string](pods, "runtimeClassName"),
		// Extended resources that they may have.
		"virtualargocd.io/extended-resources": sorted(extendedResources(d)),
		// Repositories of the images that the vcluster chart's own pods run, the names of
		// their environment variables, where they run, and on which devices.
		"virtualargocd.io/images":                       sorted(images(d)),
		"virtualargocd.io/control-plane-env":            sorted(env),
		"virtualargocd.io/control-plane-tolerations":    sorted(tolerated),
		"virtualargocd.io/control-plane-priority-class": sorted(priorities),
		"virtualargocd.io/control-plane-resources":      sorted(devices),
	}
	maps.DeleteFunc(out, func(_, list string) bool { return list == "" })
	return out
}

// sorted returns each entry of a list once, in order, with commas between.
func sorted(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// otherResources returns the names in a container's resources that aren't on the list of those
// that each container may have.
func otherResources(of values.Values) []string {
	var out []string
	for _, kind := range []string{"limits", "requests"} {
		for name := range values.At[values.Values](of, kind) {
			switch corev1.ResourceName(name) {
			case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			default:
				out = append(out, name)
			}
		}
	}
	return out
}

// texts returns what stands at a key of each entry of a list; "*" where there is nothing.
func texts(v values.Values, key string, path ...string) []string {
	var out []string
	for _, entry := range values.At[[]any](v, path...) {
		of, _ := entry.(values.Values)
		text := values.At[string](of, key)
		if text == "" || strings.Contains(text, ",") {
			text = "*"
		}
		out = append(out, text)
	}
	return out
}

// toleratedBy returns the keys of taints that the platform has the tenant's pods tolerate.
func toleratedBy(pods values.Values) []string {
	var keys []string
	for _, one := range values.At[[]any](pods, "enforceTolerations") {
		// As in `kubectl taint`: key=value:effect, key:effect or key.
		text, _ := one.(string)
		if key, _, _ := strings.Cut(strings.ReplaceAll(text, "=", ":"), ":"); key != "" && !strings.Contains(key, ",") {
			keys = append(keys, key)
		}
	}
	return keys
}

// extendedResources returns the names of resources, such as nvidia.com/gpu, that
// the quota allows the tenant. Kubernetes bounds only what a quota names, so
// the host's admission policies refuse pods that ask for others.
func extendedResources(d *tenant.Decision) []string {
	var out []string
	for name, q := range d.Bounds.Quota {
		of, ok := strings.CutPrefix(string(name), "requests.")
		if ok && strings.Contains(of, "/") && !strings.Contains(of, ".storageclass.storage.k8s.io/") && q.Cmp(resource.Quantity{}) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// images returns the repositories, with their registries, of the images that the
// vcluster chart's own pods run. The host's admission policies allow the control plane
// no others.
func images(d *tenant.Decision) []string {
	v := d.VirtualCluster.Values
	// The defaults are those of the chart (_helper.tpl, values.yaml).
	out := []string{
		image(v, tenant.DefaultVClusterRegistry, tenant.DefaultVClusterImage, "controlPlane", "statefulSet", "image"),
		image(v, "ghcr.io", "loft-sh/kubernetes", "controlPlane", "distro", "k8s", "image"),
	}
	if d.Store.Kind == plan.StoreEtcd {
		out = append(out, image(v, "registry.k8s.io", "etcd", "controlPlane", "backingStore", "etcd", "deploy", "statefulSet", "image"))
	}
	// Containers that the platform's input adds.
	for _, key := range []string{"initContainers", "sidecarContainers"} {
		for _, c := range values.At[[]any](v, "controlPlane", "statefulSet", key) {
			container, _ := c.(values.Values)
			if repository, _ := SplitImage(values.At[string](container, "image")); repository != "" {
				out = append(out, repository)
			}
		}
	}
	return out
}

// image returns the repository, with its registry, of the image at a path of the
// vcluster chart's values.
func image(v values.Values, registry, repository string, path ...string) string {
	for key, part := range map[string]*string{"registry": &registry, "repository": &repository} {
		if is, ok := values.At[values.Values](v, path...)[key].(string); ok {
			*part = is
		}
	}
	if all := values.At[string](v, "controlPlane", "advanced", "defaultImageRegistry"); all != "" {
		registry = all
	}
	return strings.TrimPrefix(registry+"/"+repository, "/")
}

// SplitImage returns the repository of an image, and its tag; "" for none. A digest is
// left out.
func SplitImage(image string) (repository, tag string) {
	image, _, _ = strings.Cut(image, "@")
	// A colon before the last slash belongs to the registry's port.
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		return image[:at], image[at+1:]
	}
	return image, ""
}
