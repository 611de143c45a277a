package host

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// NamespaceAnnotations returns the annotations of the tenant's namespace, by which the
// admission policies of examples/install/tenants.yaml know what is the tenant's. Each
// is a list with commas between.
func NamespaceAnnotations(p *tenant.Decision) map[string]string {
	control := [][]string{{"controlPlane", "statefulSet"}, {"controlPlane", "backingStore", "etcd", "deploy", "statefulSet"}}
	var tolerated, priorities, env []string
	for _, at := range control {
		tolerated = append(tolerated, texts(p, "key", append(slices.Clone(at), "scheduling", "tolerations")...)...)
		env = append(env, texts(p, "name", append(slices.Clone(at), "env")...)...)
		if class, _ := values.Lookup(p.VirtualCluster.Values, append(slices.Clone(at), "scheduling", "priorityClassName")...); class != nil {
			priorities = append(priorities, values.AmountText(class))
		}
	}
	env = append(env, texts(p, "name", "controlPlane", "distro", "k8s", "env")...)
	out := map[string]string{}
	for key, list := range map[string][]string{
		tenant.AnnotationIngressHost: p.Ingress.Own,
		// Keys of taints that the tenant's pods tolerate, and their PriorityClass.
		"virtualargocd.io/tolerations":    toleratedBy(p),
		"virtualargocd.io/priority-class": ofPods(p, "priorityClassName"),
		// What keeps their containers from the host's kernel.
		"virtualargocd.io/runtime-class": ofPods(p, "runtimeClassName"),
		// Extended resources that they may have.
		"virtualargocd.io/extended-resources": extendedResources(p),
		// Repositories of the images that the vcluster chart's own pods run, the names of
		// their environment variables, and where they run.
		"virtualargocd.io/images":                       images(p),
		"virtualargocd.io/control-plane-env":            sorted(env),
		"virtualargocd.io/control-plane-tolerations":    sorted(tolerated),
		"virtualargocd.io/control-plane-priority-class": sorted(priorities),
	} {
		if len(list) > 0 {
			out[key] = strings.Join(list, ",")
		}
	}
	return out
}

// sorted returns each entry of a list once, in order.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// texts are what stands at a key of each entry of a list in the values of the vcluster
// chart; "*" where there is nothing.
func texts(p *tenant.Decision, key string, path ...string) []string {
	at, _ := values.Lookup(p.VirtualCluster.Values, path...)
	list, _ := at.([]any)
	var out []string
	for _, entry := range list {
		of, _ := entry.(values.Values)
		text, _ := of[key].(string)
		if text == "" || strings.Contains(text, ",") {
			text = "*"
		}
		out = append(out, text)
	}
	return out
}

// toleratedBy returns the keys of taints that the platform has the tenant's pods tolerate.
func toleratedBy(p *tenant.Decision) []string {
	enforced, _ := values.Lookup(p.VirtualCluster.Values, "sync", "toHost", "pods", "enforceTolerations")
	list, _ := enforced.([]any)
	var keys []string
	for _, one := range list {
		// As in `kubectl taint`: key=value:effect, key:effect or key.
		text, _ := one.(string)
		if key, _, _ := strings.Cut(strings.ReplaceAll(text, "=", ":"), ":"); key != "" && !strings.Contains(key, ",") {
			keys = append(keys, key)
		}
	}
	return keys
}

// ofPods is what the platform gives each of the tenant's pods at a key, if it does.
func ofPods(p *tenant.Decision, key string) []string {
	name, _ := values.Lookup(p.VirtualCluster.Values, "sync", "toHost", "pods", key)
	if class, _ := name.(string); class != "" {
		return []string{class}
	}
	return nil
}

// extendedResources returns the names of resources, such as nvidia.com/gpu, that
// the quota allows the tenant, sorted. Kubernetes bounds only what a quota names, so
// the host's admission policies refuse pods that ask for others.
func extendedResources(p *tenant.Decision) []string {
	var out []string
	for name, q := range p.Bounds.Quota {
		of, ok := strings.CutPrefix(string(name), "requests.")
		if ok && strings.Contains(of, "/") && !strings.Contains(of, ".storageclass.storage.k8s.io/") && q.Cmp(resource.Quantity{}) > 0 {
			out = append(out, of)
		}
	}
	return sorted(out)
}

// images returns the repositories, with their registries, of the images that the
// vcluster chart's own pods run, sorted. The host's admission policies allow the
// control plane no others.
func images(p *tenant.Decision) []string {
	images := []string{
		image(p, "controlPlane", "statefulSet", "image"),
		image(p, "controlPlane", "distro", "k8s", "image"),
	}
	if p.Store.Kind == plan.StoreEtcd {
		images = append(images, image(p, "controlPlane", "backingStore", "etcd", "deploy", "statefulSet", "image"))
	}
	// Containers that the platform's input adds.
	for _, key := range []string{"initContainers", "sidecarContainers"} {
		at, _ := values.Lookup(p.VirtualCluster.Values, "controlPlane", "statefulSet", key)
		list, _ := at.([]any)
		for _, c := range list {
			container, _ := c.(values.Values)
			if image, _ := container["image"].(string); image != "" {
				images = append(images, repositoryOf(image))
			}
		}
	}
	return sorted(images)
}

// chartImages are the vcluster chart's default images, by their paths in its values
// (_helper.tpl, values.yaml).
var chartImages = map[string]struct{ registry, repository string }{
	"controlPlane.distro.k8s.image":                           {"ghcr.io", "loft-sh/kubernetes"},
	"controlPlane.backingStore.etcd.deploy.statefulSet.image": {"registry.k8s.io", "etcd"},
	"controlPlane.statefulSet.image":                          {tenant.DefaultVClusterRegistry, tenant.DefaultVClusterImage},
}

// image returns the repository, with its registry, of the image at a path of the
// vcluster chart's values.
func image(p *tenant.Decision, path ...string) string {
	is := chartImages[strings.Join(path, ".")]
	text := func(otherwise string, at ...string) string {
		v, ok := values.Lookup(p.VirtualCluster.Values, at...)
		if s, is := v.(string); ok && is {
			return s
		}
		return otherwise
	}
	registry := text(is.registry, append(slices.Clone(path), "registry")...)
	if all := text("", "controlPlane", "advanced", "defaultImageRegistry"); all != "" {
		registry = all
	}
	repository := text(is.repository, append(slices.Clone(path), "repository")...)
	if registry == "" {
		return repository
	}
	return registry + "/" + repository
}

// repositoryOf takes tag and digest off an image.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		image = image[:at]
	}
	return image
}
