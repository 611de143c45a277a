package decode

import "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"

// Bounds of lists, as in the schema.
const (
	maxRepositories        = 50
	maxCredentialTemplates = 50
)

func (r *reader) repositories(spec Struct) []v1alpha1.RepositorySpec {
	var out []v1alpha1.RepositorySpec
	r.objects(spec, "spec.repositories", "repositories", maxRepositories, func(o Struct, field string) {
		repository := v1alpha1.RepositorySpec{
			Name:    r.text(o, field+".name", "name"),
			URL:     r.text(o, field+".url", "url"),
			Type:    v1alpha1.RepositoryType(r.text(o, field+".type", "type")),
			Project: r.text(o, field+".project", "project"),
		}
		if ref := r.secretRef(o, field); o.Get("secretRef").s != nil && ref.Name != "" {
			repository.SecretRef = &ref
		}
		out = append(out, repository)
	})
	return out
}

func (r *reader) credentialTemplates(spec Struct) []v1alpha1.CredentialTemplateSpec {
	var out []v1alpha1.CredentialTemplateSpec
	r.objects(spec, "spec.credentialTemplates", "credentialTemplates", maxCredentialTemplates, func(o Struct, field string) {
		out = append(out, v1alpha1.CredentialTemplateSpec{
			Name:      r.text(o, field+".name", "name"),
			URL:       r.text(o, field+".url", "url"),
			Type:      v1alpha1.RepositoryType(r.text(o, field+".type", "type")),
			SecretRef: r.secretRef(o, field),
		})
	})
	return out
}
