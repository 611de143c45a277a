package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// onHost are the maps of labels and annotations of the argo-cd chart's values that objects have which vcluster copies to the host, by the end
// of their paths: Services, Ingresses, pods, and the Secrets, ConfigMaps and volume claims that these use. More than one path of the chart
// ends with some of them.
var onHost = []struct{ path, kind string }{
	{"service.labels", "Service"}, {"service.annotations", "Service"},
	{"redis-ha.serviceLabels", "Service"}, {"redis-ha.serviceAnnotations", "Service"},
	{"ingress.labels", "Ingress"}, {"ingress.annotations", "Ingress"},
	{"ingressGrpc.labels", "Ingress"}, {"ingressGrpc.annotations", "Ingress"},
	{"podLabels", "Pod"}, {"podAnnotations", "Pod"},
	{"redis-ha.labels", "Pod"}, {"redis-ha.haproxy.labels", "Pod"}, {"redis-ha.redis.annotations", "Pod"},
	{"certificateSecret.labels", "Secret"}, {"certificateSecret.annotations", "Secret"},
	{"configs.cm.annotations", "ConfigMap"}, {"configs.params.annotations", "ConfigMap"}, {"configs.ssh.annotations", "ConfigMap"},
	{"configs.tls.annotations", "ConfigMap"}, {"configs.gpg.annotations", "ConfigMap"}, {"configs.cmp.annotations", "ConfigMap"},
	{"redis-ha.configmap.labels", "ConfigMap"},
	{"redis-ha.persistentVolume.labels", "PersistentVolumeClaim"}, {"redis-ha.persistentVolume.annotations", "PersistentVolumeClaim"},
	{"global.additionalLabels", "object"}, {"redis-ha.extraLabels", "object"},
}

// metadataOnHost says where an object of the claim's own has its metadata, or that of its pods, by its kind.
var metadataOnHost = map[string][]string{
	"Service": {"metadata"}, "Ingress": {"metadata"}, "Pod": {"metadata"}, "PersistentVolumeClaim": {"metadata"},
	"Deployment": {"spec", "template", "metadata"}, "StatefulSet": {"spec", "template", "metadata"}, "DaemonSet": {"spec", "template", "metadata"}, "Job": {"spec", "template", "metadata"},
}

// Metadata returns the labels and annotations in values of the argo-cd chart with which the host refuses an object. The virtual cluster has
// the object all the same, so that Helm is content.
func Metadata(h tenant.HostPolicies) func(values.Values) []known.Unknown {
	return func(v values.Values) []known.Unknown {
		var out []known.Unknown
		for _, path := range values.Leaves(v) {
			last := len(path) - 1
			if value, _ := values.Lookup(v, path...); value == nil {
				continue
			}
			if slices.Equal(path, []string{"global", "addPrometheusAnnotations"}) && values.Enabled(v, false, path...) {
				if why := refusal(h, "Service", "annotations", "prometheus.io/scrape"); why != "" {
					out = append(out, known.Unknown{Path: path, Message: why})
				}
				continue
			}
			for _, of := range onHost {
				if at := strings.Split(of.path, "."); last >= len(at) && slices.Equal(path[last-len(at):last], at) {
					if why := refusal(h, of.kind, path[last-1], path[last]); why != "" {
						out = append(out, known.Unknown{Path: path, Message: why})
					}
				}
			}
		}
		return append(out, metadataOfObjects(h, v)...)
	}
}

// metadataOfObjects returns the labels and annotations of objects of the claim's own with which the host refuses them.
func metadataOfObjects(h tenant.HostPolicies, v values.Values) []known.Unknown {
	var out []known.Unknown
	for i, o := range values.At[[]any](v, credentials.ExtraObjects) {
		object, _ := o.(values.Values)
		kind := values.At[string](object, "kind")
		at, ok := metadataOnHost[kind]
		if !ok {
			continue
		}
		for _, of := range []string{"labels", "annotations"} {
			keys := values.At[values.Values](object, append(slices.Clone(at), of)...)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if why := refusal(h, kind, of, key); why != "" {
					out = append(out, known.Unknown{Path: []string{credentials.ExtraObjects}, Message: fmt.Sprintf("item %d, %s %s: %s", i, kind, values.At[string](object, "metadata", "name"), why)})
				}
			}
		}
	}
	return out
}

// refusal says that the host refuses an object of that kind with a key in a map, such as podLabels or annotations; "" if it doesn't.
func refusal(h tenant.HostPolicies, kind, in, key string) string {
	keys, what := h.Annotations, "annotation"
	switch {
	case strings.HasSuffix(strings.ToLower(in), "labels"):
		keys, what = h.Labels, "label"
	case kind == "Ingress":
		keys = h.IngressAnnotations
	}
	// Kubernetes refuses what is no key, and Helm says so.
	if !keys.Refuse(key) || len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return ""
	}
	return fmt.Sprintf("the host refuses a tenant's %s with the %s %s: leave it out, or ask the administrators of the host, who list those that are allowed in the ValidatingAdmissionPolicy %s", kind, what, key, keys.Policy)
}
