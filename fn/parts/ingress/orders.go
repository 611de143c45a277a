package ingress

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

const nginx = "nginx.ingress.kubernetes.io/"

// A form is what the value of an annotation looks like, and an example of it. nginx refuses its
// whole configuration, which is that of all tenants, for a number or a word that it doesn't know.
type form struct {
	regexp  *regexp.Regexp
	example string
}

// forms are those of examples/install/tenants.yaml.
var forms = func() map[string]form {
	timeout := form{regexp.MustCompile(`^[0-9]{1,5}$`), "a number of seconds of at most five digits, such as 300"}
	return map[string]form{
		nginx + "proxy-connect-timeout": timeout,
		nginx + "proxy-read-timeout":    timeout,
		nginx + "proxy-send-timeout":    timeout,
		nginx + "proxy-body-size":       {regexp.MustCompile(`^[0-9]{1,5}[kKmMgG]?$`), "a size such as 10m, or 0 for any"},
		nginx + "proxy-buffer-size":     {regexp.MustCompile(`^[1-9][0-9]{0,2}[kK]?$`), "a size of at most 999k, such as 16k"},
		nginx + "proxy-buffering":       {regexp.MustCompile(`^(on|off)$`), "on or off"},
		nginx + "backend-protocol":      {regexp.MustCompile(`^(HTTP|HTTPS|GRPC|GRPCS|AUTO_HTTP|FCGI)$`), "HTTP, or leave it out: TLS ends at the ingress controller"},
	}
}()

// clusterIssuers returns the ClusterIssuers that claims may name, sorted; nil for any.
func clusterIssuers(in v1alpha1.PlatformTLS) []string {
	if len(in.ClusterIssuers) == 0 {
		return nil
	}
	out := slices.Clone(in.ClusterIssuers)
	if in.Issuer.Name != "" && in.Issuer.Kind != "Issuer" {
		out = append(out, in.Issuer.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkOrders refuses annotations and an issuer of a claim that the host refuses, or that contradict what the function sets.
func checkOrders(g tenant.Given, spec v1alpha1.IngressSpec, issuers []string) error {
	var found []error
	for _, key := range slices.Sorted(maps.Keys(spec.Annotations)) {
		value, f := string(spec.Annotations[key]), forms[key]
		if sameAnnotation(g, key, value) {
			continue
		}
		if f.regexp != nil && !f.regexp.MatchString(value) {
			found = append(found, fmt.Errorf("%s.annotations[%s]: %.80q is not possible: write %s", ofIngress, key, value, f.example))
		} else if why := contradicts(key, value); why != "" {
			found = append(found, fmt.Errorf("%s.annotations[%s]: %.80q is not possible: %s", ofIngress, key, value, why))
		}
	}
	if issuers == nil {
		return mistakes.Join(found...)
	}
	named := map[string]string{}
	if value, ok := spec.Annotations[clusterIssuer]; ok {
		named["annotations["+clusterIssuer+"]"] = string(value)
	}
	if issuer := ptr.Deref(spec.TLS, v1alpha1.IngressTLS{}).Issuer; issuer != nil && issuer.Kind != "Issuer" {
		named["tls.issuer.name"] = issuer.Name
	}
	for _, field := range slices.Sorted(maps.Keys(named)) {
		if !slices.Contains(issuers, named[field]) {
			found = append(found, fmt.Errorf("%s.%s: %.80q is not one that this platform lets claims name: write one of %s", ofIngress, field, named[field], strings.Join(issuers, ", ")))
		}
	}
	return mistakes.Join(found...)
}
