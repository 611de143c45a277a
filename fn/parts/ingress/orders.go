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
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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

// signs are those that the host allows in the value of an annotation that it lists.
var signs = regexp.MustCompile(`^[A-Za-z0-9 ,./:_-]*$`)

// wrongValue says why the host refuses an Ingress with a value of an annotation, and what to write; "" if it doesn't.
func wrongValue(h tenant.HostPolicies, key, value string) string {
	switch f, listed := forms[key], h.IngressAnnotations; {
	case f.regexp != nil && !f.regexp.MatchString(value):
		return "write " + f.example
	case listed != nil && slices.Contains(listed.Names, key) && !signs.MatchString(value):
		return "the host refuses signs other than letters, digits, spaces and , . / : _ -"
	}
	return ""
}

// checkOthers refuses annotations of an Ingress of the chart other than Argo CD's own that the host refuses for their values, and paths and
// rules that it refuses.
func checkOthers(g tenant.Given, at string, ingress values.Values, issuers []string) error {
	var found []error
	annotations := values.At[values.Values](ingress, "annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if value := fmt.Sprint(annotations[key]); annotations[key] != nil {
			if why := wrongValue(g.HostPolicies, key, value); why != "" {
				found = append(found, fmt.Errorf("%s.annotations[%s]: %.80q is not possible: %s", at, key, value, why))
			} else if key == clusterIssuer && issuers != nil && !slices.Contains(issuers, value) {
				found = append(found, notListed(fmt.Sprintf("%s.annotations[%s]", at, key), value, issuers))
			}
		}
	}
	if path := values.At[string](ingress, "path"); !urlPath.MatchString(path) {
		found = append(found, fmt.Errorf("%s.path: %.80q is not possible: write one that begins with / and has letters, digits, and no other signs than / . _ ~ %% -", at, path))
	}
	for _, of := range []struct{ list, key string }{{"extraRules", "host"}, {"extraTls", "hosts"}} {
		for n, entry := range values.At[[]any](ingress, of.list) {
			if rule, _ := entry.(values.Values); rule[of.key] == nil {
				found = append(found, fmt.Errorf("%s.%s[%d].%s: is missing: the host refuses an Ingress for any hostname; write one of the claim's", at, of.list, n, of.key))
			}
		}
	}
	return mistakes.Join(found...)
}

// urlPath is what the host allows as the path of an Ingress.
var urlPath = regexp.MustCompile(`^(/[A-Za-z0-9/._~%-]*)?$`)

func notListed(field, issuer string, issuers []string) error {
	return fmt.Errorf("%s: %.80q is not one that this platform lets claims name: write one of %s", field, issuer, strings.Join(issuers, ", "))
}

// checkOrders refuses annotations and an issuer of a claim that the host refuses, or that contradict what the function sets.
func checkOrders(g tenant.Given, spec v1alpha1.IngressSpec, issuers []string) error {
	var found []error
	for _, key := range slices.Sorted(maps.Keys(spec.Annotations)) {
		value := string(spec.Annotations[key])
		if sameAnnotation(g, key, value) {
			continue
		}
		if why := wrongValue(g.HostPolicies, key, value); why != "" {
			found = append(found, fmt.Errorf("%s.annotations[%s]: %.80q is not possible: %s", ofIngress, key, value, why))
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
			found = append(found, notListed(ofIngress+"."+field, named[field], issuers))
		}
	}
	return mistakes.Join(found...)
}
