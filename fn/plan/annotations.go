package plan

import (
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"k8s.io/apimachinery/pkg/api/resource"
)

// AnnotationIngressHost stands on a tenant's namespace in the host cluster: the hosts
// that its Ingresses may have, with commas between.
const AnnotationIngressHost = "virtualargocd.io/ingress-host"

// NamespaceAnnotations returns the annotations of the tenant's namespace, by which the
// admission policies of examples/install/tenants.yaml know what is the tenant's. Each
// is a list with commas between.
func (p *Plan) NamespaceAnnotations() map[string]string {
	control := [][]string{{"controlPlane", "statefulSet"}, {"controlPlane", "backingStore", "etcd", "deploy", "statefulSet"}}
	var tolerated, priorities, env []string
	for _, at := range control {
		tolerated = append(tolerated, p.texts("key", append(slices.Clone(at), "scheduling", "tolerations")...)...)
		env = append(env, p.texts("name", append(slices.Clone(at), "env")...)...)
		if class, _ := values.Lookup(p.VCluster.Values, append(slices.Clone(at), "scheduling", "priorityClassName")...); class != nil {
			priorities = append(priorities, amountText(class))
		}
	}
	env = append(env, p.texts("name", "controlPlane", "distro", "k8s", "env")...)
	out := map[string]string{}
	for key, list := range map[string][]string{
		AnnotationIngressHost: p.Ingress.Own,
		// Keys of taints that the tenant's pods tolerate, and their PriorityClass.
		"virtualargocd.io/tolerations":    p.tolerated(),
		"virtualargocd.io/priority-class": p.ofPods("priorityClassName"),
		// What keeps their containers from the host's kernel.
		"virtualargocd.io/runtime-class": p.ofPods("runtimeClassName"),
		// Extended resources that they may have.
		"virtualargocd.io/extended-resources": p.extendedResources(),
		// Repositories of the images that the vcluster chart's own pods run, the names of
		// their environment variables, and where they run.
		"virtualargocd.io/images":                       p.images(),
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
func (p *Plan) texts(key string, path ...string) []string {
	at, _ := values.Lookup(p.VCluster.Values, path...)
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

// tolerated are the keys of taints that the platform has the tenant's pods tolerate.
func (p *Plan) tolerated() []string {
	enforced, _ := values.Lookup(p.VCluster.Values, "sync", "toHost", "pods", "enforceTolerations")
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
func (p *Plan) ofPods(key string) []string {
	name, _ := values.Lookup(p.VCluster.Values, "sync", "toHost", "pods", key)
	if class, _ := name.(string); class != "" {
		return []string{class}
	}
	return nil
}

// extendedResources returns the names of resources, such as nvidia.com/gpu, that
// the quota allows the tenant, sorted. Kubernetes bounds only what a quota names, so
// the host's admission policies refuse pods that ask for others.
func (p *Plan) extendedResources() []string {
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
func (p *Plan) images() []string {
	images := []string{
		p.image("controlPlane", "statefulSet", "image"),
		p.image("controlPlane", "distro", "k8s", "image"),
	}
	if p.Store.Kind == StoreEtcd {
		images = append(images, p.image("controlPlane", "backingStore", "etcd", "deploy", "statefulSet", "image"))
	}
	// Containers that the platform's input adds.
	for _, key := range []string{"initContainers", "sidecarContainers"} {
		at, _ := values.Lookup(p.VCluster.Values, "controlPlane", "statefulSet", key)
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
	"controlPlane.statefulSet.image":                          {DefaultVClusterRegistry, DefaultVClusterImage},
}

// image returns the repository, with its registry, of the image at a path of the
// vcluster chart's values.
func (p *Plan) image(path ...string) string {
	is := chartImages[strings.Join(path, ".")]
	text := func(otherwise string, at ...string) string {
		v, ok := values.Lookup(p.VCluster.Values, at...)
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
