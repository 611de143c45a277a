package decode

import "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"

// ingress reads how Argo CD is reached; nil when the spec says nothing of it.
func (r *reader) ingress(spec Struct) *v1alpha1.IngressSpec {
	const field = "spec.ingress"
	o := r.object(spec, field, "ingress")
	if len(o.s.GetFields()) == 0 {
		return nil
	}
	out := &v1alpha1.IngressSpec{
		Host:        r.text(o, field+".host", "host"),
		ClassName:   r.text(o, field+".className", "className"),
		Annotations: textMap[v1alpha1.AnnotationValue](r, o, field+".annotations", "annotations"),
	}
	tls := r.object(o, field+".tls", "tls")
	if len(tls.s.GetFields()) == 0 {
		return out
	}
	out.TLS = &v1alpha1.IngressTLS{SecretName: r.text(tls, field+".tls.secretName", "secretName")}
	if issuer := r.object(tls, field+".tls.issuer", "issuer"); len(issuer.s.GetFields()) > 0 {
		out.TLS.Issuer = &v1alpha1.IssuerReference{
			Name: r.text(issuer, field+".tls.issuer.name", "name"),
			Kind: r.text(issuer, field+".tls.issuer.kind", "kind"),
		}
	}
	return out
}
