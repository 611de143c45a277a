package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
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

// planAmounts refuses resources that Kubernetes doesn't know, and amounts that no resource
// can have: Helm would only report them when it changes a tenant.
func planAmounts(g tenant.Given) error {
	c := g.Plan
	for _, set := range slices.Concat(c.VClusterSettings(), c.ArgoCDSettings()) {
		text, ok := set.Value.(string)
		if !ok || set.Field == c.At("runtimeClass") {
			continue
		}
		known, name := containerNames, set.Path[len(set.Path)-1]
		if set.Path[1] == "resourceQuota" {
			known = quotaNames
		}
		if !slices.Contains(known, name) && (!strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0) {
			return fmt.Errorf("%s: is no resource: write one of %s, or one with a slash in it", set.Field, strings.Join(known, ", "))
		}
		if q, ok := values.ParseAmount(text); !ok || q.Sign() < 0 {
			return fmt.Errorf("%s: %q is not an amount: write one such as 500m or 2Gi", set.Field, text)
		}
	}
	if size := string(c.Data.VCluster.Storage.Size); size != "" {
		return volumeSize(c.At("vcluster.storage.size"), size)
	}
	return nil
}

// volumeSize refuses what no volume can have.
func volumeSize(field, size string) error {
	if q, ok := values.ParseAmount(size); !ok || q.Sign() <= 0 {
		return fmt.Errorf("%s: %q is not an amount: write one such as 2Gi", field, size)
	}
	return nil
}

func planObjectNames(g tenant.Given) error {
	d := g.Plan.Data
	for _, n := range []struct{ field, name string }{
		{"vcluster.storage.storageClass", d.VCluster.Storage.StorageClass},
		{"runtimeClass", d.RuntimeClass},
		{"ingress.className", d.Ingress.ClassName},
		{"ingress.tls.issuer.name", d.Ingress.TLS.Issuer.Name},
	} {
		if n.name != "" && len(validation.IsDNS1123Subdomain(n.name)) > 0 {
			return fmt.Errorf("%s: %q is not the name of an object: write one such as standard", g.Plan.At(n.field), n.name)
		}
	}
	return nil
}

// planNumbers refuses numbers of replicas and of LoadBalancers that are out of range. 0
// replicas are none that are set.
func planNumbers(g tenant.Given) error {
	type number struct {
		field          string
		is, from, most int64
	}
	at, d := g.Plan.At, g.Plan.Data
	all := []number{{at("vcluster.replicas"), d.VCluster.Replicas, 1, 7}, {at("loadBalancers"), d.LoadBalancers, 0, 100}}
	for _, set := range g.Plan.ArgoCDSettings() {
		if replicas, ok := set.Value.(float64); ok {
			all = append(all, number{set.Field, int64(replicas), 1, 50})
		}
	}
	for _, n := range all {
		if n.is < 0 || n.is > n.most {
			return fmt.Errorf("%s: %d is not possible: write a number from %d to %d", n.field, n.is, n.from, n.most)
		}
	}
	return nil
}

func planChoices(g tenant.Given) error {
	at, d := g.Plan.At, g.Plan.Data
	if err := cmp.Or(
		oneOf(at("podSecurity"), d.PodSecurity, tenant.PodSecurityBaseline, tenant.PodSecurityRestricted),
		oneOf(at("vcluster.backingStore"), d.VCluster.BackingStore, plan.StoreSQLite, plan.StoreEtcd),
	); err != nil {
		return err
	}
	if v := d.VCluster; v.Replicas > 1 && v.BackingStore != plan.StoreEtcd {
		return fmt.Errorf("%s: is %d, and several replicas need a store that they share: write vcluster.backingStore: %s", at("vcluster.replicas"), v.Replicas, plan.StoreEtcd)
	}
	return nil
}

// oneOf refuses text that is neither empty nor known.
func oneOf(field, is string, known ...string) error {
	if is != "" && !slices.Contains(known, is) {
		return fmt.Errorf("%s: %q is unknown: write %s", field, is, strings.Join(known, " or "))
	}
	return nil
}

func planIngress(g tenant.Given) error {
	c, i := g.Plan, g.Plan.Data.Ingress
	if err := cmp.Or(CheckDomain(c.At("ingress.domain"), i.Domain), oneOf(c.At("ingress.tls.issuer.kind"), i.TLS.Issuer.Kind, "ClusterIssuer", "Issuer")); err != nil {
		return err
	}
	if i.TLS.Issuer != (v1alpha1.Issuer{}) && i.TLS.Issuer.Name == "" {
		return fmt.Errorf("%s: is missing: write the name of an issuer, such as letsencrypt", c.At("ingress.tls.issuer.name"))
	}
	for _, key := range slices.Sorted(maps.Keys(i.Annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return fmt.Errorf("%s: %q is not the key of an annotation", c.At("ingress.annotations"), key)
		}
	}
	return nil
}
