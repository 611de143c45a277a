package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// classAnnotation is how the class of an Ingress was written before there was a field. Kubernetes refuses an Ingress with both.
const classAnnotation = "kubernetes.io/ingress.class"

// ingressParts returns the annotations of the Ingress, and its class; "" for that of the annotation, or the host's default.
func ingressParts(g tenant.Given, spec v1alpha1.IngressSpec) (map[string]string, string, error) {
	in := g.Platform.Ingress
	var found []error
	if spec.ClassName != "" && len(validation.IsDNS1123Subdomain(spec.ClassName)) > 0 {
		found = append(found, fmt.Errorf("%s.className: %q is not the name of an IngressClass: write one such as nginx", ofIngress, spec.ClassName))
	}
	annotations := maps.Clone(in.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, v := range spec.Annotations {
		annotations[key] = string(v)
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			field := mistakes.Field{Owner: mistakes.Claim, Path: ofIngress + ".annotations"}
			if _, ofClaim := spec.Annotations[key]; !ofClaim {
				// The plan's are checked before.
				field = mistakes.Field{Owner: mistakes.Input, Path: "input.ingress.annotations"}
			}
			found = append(found, field.Errorf("%q is not the key of an annotation: write one such as nginx.ingress.kubernetes.io/proxy-body-size", key))
		}
	}
	class := cmp.Or(spec.ClassName, in.ClassName)
	switch _, ofClaim := spec.Annotations[classAnnotation]; {
	case ofClaim && spec.ClassName != "" && !acceptedBoth(g):
		found = append(found, fmt.Errorf("%s.annotations[%s]: Kubernetes refuses an Ingress with this annotation and a class: leave one out; %[1]s.className is %q", ofIngress, classAnnotation, spec.ClassName))
	case ofClaim && spec.ClassName == "":
		// The claim's class, in whatever form, is over the platform's.
		class = ""
	case class != "":
		delete(annotations, classAnnotation)
	}
	return annotations, class, mistakes.Join(found...)
}

// acceptedBoth reports whether a class in both forms was accepted before.
func acceptedBoth(g tenant.Given) bool {
	was := wasAccepted(g)
	_, before := was.Annotations[classAnnotation]
	return before && was.ClassName != ""
}

// Annotations of cert-manager.
const (
	clusterIssuer = "cert-manager.io/cluster-issuer"
	issuer        = "cert-manager.io/issuer"
	// tlsACME asks for a certificate of cert-manager's default issuer.
	tlsACME = "kubernetes.io/tls-acme"
	// withIssuer begins the annotations of cert-manager that say more of a certificate for which another annotation asks.
	withIssuer = "cert-manager.io/"
	// earlierCertManager begins the annotations of cert-manager before 0.11, which later versions ignore.
	earlierCertManager = "certmanager.k8s.io/"
)

// issuerAnnotations are those by which cert-manager issues a certificate.
var issuerAnnotations = []string{clusterIssuer, issuer, tlsACME}

// certificate reports whether the Ingress names a Secret for its certificate, which the claim's Secret, or cert-manager, fills. It adds
// the annotation for an issuer. An issuer in an annotation of the claim's is the same as one in its field.
func certificate(g tenant.Given, spec v1alpha1.IngressSpec, annotations map[string]string) (bool, error) {
	var named []string
	var found []error
	for _, key := range slices.Sorted(maps.Keys(spec.Annotations)) {
		switch {
		case strings.HasPrefix(key, earlierCertManager) && !sameAnnotation(g, key, string(spec.Annotations[key])):
			found = append(found, fmt.Errorf("%s.annotations[%s]: cert-manager ignores this annotation since version 0.11: write %[1]s.tls.issuer", ofIngress, key))
		case key == clusterIssuer, key == issuer, key == tlsACME && isOn(string(spec.Annotations[key])):
			named = append(named, key)
		}
	}
	tls := spec.TLS
	if tls == nil {
		tls = &v1alpha1.IngressTLS{}
	}
	if tls.SecretName != "" && tls.Issuer != nil {
		found = append(found, fmt.Errorf("%s.tls: has both secretName and issuer: write one of them", ofIngress))
	}
	if len(named) > 0 && !sameAnnotation(g, named[0], string(spec.Annotations[named[0]])) {
		at := fmt.Sprintf("%s.annotations[%s]", ofIngress, named[0])
		is := spec.Annotations[named[0]]
		switch {
		case len(named) > 1:
			found = append(found, fmt.Errorf("%s: %s asks for a certificate, too: leave both out and write %s.tls.issuer", at, named[1], ofIngress))
		case tls.Issuer != nil && (string(is) != tls.Issuer.Name || (named[0] == issuer) != (tls.Issuer.Kind == "Issuer")):
			found = append(found, fmt.Errorf("%s: %.80q is not the issuer in %s.tls.issuer: leave one out", at, is, ofIngress))
		case named[0] != tlsACME && len(validation.IsDNS1123Subdomain(string(is))) > 0:
			found = append(found, fmt.Errorf("%s: %.80q is not the name of an issuer: write %s.tls.issuer, such as {name: letsencrypt}", at, is, ofIngress))
		}
		if tls.SecretName != "" {
			found = append(found, fmt.Errorf("%s: cert-manager would overwrite the certificate of %s.tls.secretName: leave one out", at, ofIngress))
		}
	}
	if tls.SecretName != "" || len(named) > 0 || tls.Issuer != nil {
		// The platform's give way.
		for _, key := range issuerAnnotations {
			if _, ofClaim := spec.Annotations[key]; !ofClaim {
				delete(annotations, key)
			}
		}
	}
	if tls.SecretName != "" {
		found = append(found, credentials.CheckSecretRef(ofIngress+".tls", v1alpha1.SecretReference{Name: tls.SecretName}))
	}
	asks := len(named) > 0
	if tls.Issuer != nil || !asks && tls.SecretName == "" {
		of, err := setIssuer(g, tls.Issuer, annotations)
		asks, found = asks || of, append(found, err)
	}
	return asks || tls.SecretName != "", mistakes.Join(append(found, checkIssuerless(g, spec, annotations, asks))...)
}

// checkIssuerless refuses annotations that say more of a certificate that nothing asks cert-manager for. asks reports whether something does.
func checkIssuerless(g tenant.Given, spec v1alpha1.IngressSpec, annotations map[string]string, asks bool) error {
	var found []error
	for _, key := range slices.Sorted(maps.Keys(spec.Annotations)) {
		_, ofCluster := annotations[clusterIssuer]
		ofIssuer := key == withIssuer+"issuer-kind" || key == withIssuer+"issuer-group"
		switch {
		case !strings.HasPrefix(key, withIssuer) && !strings.HasPrefix(key, "acme."+withIssuer) || key == clusterIssuer || key == issuer || sameAnnotation(g, key, string(spec.Annotations[key])):
		case !asks && !g.Unassigned:
			found = append(found, fmt.Errorf("%s.annotations[%s]: has no effect, because nothing asks cert-manager for a certificate: write %[1]s.tls.issuer, too, or leave it out", ofIngress, key))
		case ofIssuer && ofCluster:
			found = append(found, fmt.Errorf("%s.annotations[%s]: cert-manager takes it beside the annotation %s only, and issues nothing with %s: leave one out", ofIngress, key, issuer, clusterIssuer))
		}
	}
	return mistakes.Join(found...)
}

// isOn reads a switch as cert-manager does.
func isOn(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && on
}

// setIssuer adds the annotation for an issuer of the claim, or of the platform, and reports whether there is one.
func setIssuer(g tenant.Given, claims *v1alpha1.IssuerReference, annotations map[string]string) (bool, error) {
	is, field := g.Platform.Ingress.TLS.Issuer, mistakes.Field{Owner: mistakes.Input, Path: "input.ingress.tls.issuer"}
	switch {
	case claims != nil:
		is, field = v1alpha1.Issuer{Name: claims.Name, Kind: claims.Kind}, mistakes.Field{Owner: mistakes.Claim, Path: ofIngress + ".tls.issuer"}
	case g.Plan.Spec.Ingress.TLS.Issuer != (v1alpha1.Issuer{}):
		field = g.Plan.At("ingress.tls.issuer")
	}
	if is == (v1alpha1.Issuer{}) {
		return annotations[clusterIssuer] != "" || annotations[issuer] != "", nil
	}
	key := map[string]string{"": clusterIssuer, "ClusterIssuer": clusterIssuer, "Issuer": issuer}[is.Kind]
	var found []error
	if key == "" {
		found = append(found, field.Below("kind").Errorf("%q is unknown: write ClusterIssuer or Issuer", is.Kind))
	}
	if len(validation.IsDNS1123Subdomain(is.Name)) > 0 {
		found = append(found, field.Below("name").Errorf("%q is not the name of an issuer: write one such as letsencrypt", is.Name))
	}
	annotations[key] = is.Name
	return true, mistakes.Join(found...)
}

// sameAnnotation reports whether the claim was accepted with an annotation before.
func sameAnnotation(g tenant.Given, key, value string) bool {
	before, ok := wasAccepted(g).Annotations[key]
	return ok && string(before) == value
}

// literals keeps the chart from taking annotations for templates.
func literals(annotations map[string]string) values.Values {
	out := values.Values{}
	for key, v := range annotations {
		out[key] = strings.ReplaceAll(v, "{{", "{{`{{`}}")
	}
	return out
}
