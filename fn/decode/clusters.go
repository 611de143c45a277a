package decode

import "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"

// Bounds of lists, as in the schema.
const (
	maxClusters   = 50
	maxNamespaces = 100
)

func (r *reader) clusters(spec Struct) []v1alpha1.ClusterSpec {
	var out []v1alpha1.ClusterSpec
	r.objects(spec, "spec.clusters", "clusters", maxClusters, func(c Struct, field string) {
		out = append(out, v1alpha1.ClusterSpec{
			Name:        r.text(c, field+".name", "name"),
			Labels:      textMap[v1alpha1.LabelValue](r, c, field+".labels", "labels"),
			Annotations: textMap[v1alpha1.AnnotationValue](r, c, field+".annotations", "annotations"),
			Namespaces:  r.texts(c, field+".namespaces", "namespaces", maxNamespaces),
			Project:     r.text(c, field+".project", "project"),
			Server:      r.text(c, field+".server", "server"),
			SecretRef:   r.secretRef(c, field),
		})
	})
	return out
}

func (r *reader) secretRef(o Struct, field string) v1alpha1.SecretReference {
	field += ".secretRef"
	return v1alpha1.SecretReference{Name: r.text(r.object(o, field, "secretRef"), field+".name", "name")}
}
