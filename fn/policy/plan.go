package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// quotaNames are the limits of a ResourceQuota that have no slash in their names.
var quotaNames = []string{
	"configmaps", "cpu", "ephemeral-storage", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "memory", "persistentvolumeclaims", "pods",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory", "requests.storage", "secrets", "services", "services.loadbalancers", "services.nodeports",
}

// containerNames are the resources of a container without a slash in their names.
var containerNames = []string{"cpu", "ephemeral-storage", "memory"}

// planAmounts refuses resources that Kubernetes doesn't know, which Helm would only report when it
// changes a tenant.
func planAmounts(g tenant.Given) error {
	c := g.Plan
	var found []error
	for _, set := range slices.Concat(c.VClusterSettings(), c.ArgoCDSettings()) {
		if _, isAmount := set.Value.(string); !isAmount || set.Field == c.At("runtimeClass") {
			continue
		}
		known, name := containerNames, set.Path[len(set.Path)-1]
		if set.Path[1] == "resourceQuota" {
			known = quotaNames
		}
		if !slices.Contains(known, name) && (!strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0) {
			found = append(found, fmt.Errorf("%s: is no resource: write one of %s, or one with a slash in it", set.Field, strings.Join(known, ", ")))
		}
	}
	return mistakes.Join(found...)
}

// volumeSize refuses what no volume can have.
func volumeSize(field mistakes.Field, size string) error {
	if q, ok := values.ParseAmount(size); !ok || q.Sign() <= 0 {
		return field.Errorf("%q is not an amount: write one such as 2Gi", size)
	}
	return nil
}

func planIngress(g tenant.Given) error {
	c, i := g.Plan, g.Plan.Spec.Ingress
	found := []error{CheckDomain(c.At("ingress.domain").Path, i.Domain)}
	for _, key := range slices.Sorted(maps.Keys(i.Annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			found = append(found, fmt.Errorf("%s: %q is not the key of an annotation", c.At("ingress.annotations"), key))
		}
	}
	return mistakes.Join(found...)
}

// gateway refuses a Gateway that can't be named in an HTTPRoute.
func gateway(g tenant.Given) error {
	is := g.Platform.Ingress.Gateway
	if is == nil {
		return nil
	}
	field := mistakes.Field{Owner: mistakes.Input, Path: "input.ingress.gateway"}
	if g.Plan.Spec.Ingress.Gateway != nil {
		field = g.Plan.At("ingress.gateway")
	}
	var found []error
	if len(validation.IsDNS1123Label(is.Namespace)) > 0 {
		found = append(found, field.Below("namespace").Errorf("%q is not the name of a namespace: write that of the Gateway", is.Namespace))
	}
	if len(validation.IsDNS1123Subdomain(is.Name)) > 0 {
		found = append(found, field.Below("name").Errorf("%q is not the name of a Gateway: write one such as public", is.Name))
	}
	if is.SectionName != "" && len(validation.IsDNS1123Subdomain(is.SectionName)) > 0 {
		found = append(found, field.Below("sectionName").Errorf("%q is not the name of a listener: write one such as https", is.SectionName))
	}
	return mistakes.Join(found...)
}
