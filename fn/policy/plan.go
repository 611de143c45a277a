package policy

import (
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

func planAmounts(c plan.Plan) error {
	for _, set := range slices.Concat(c.VClusterSettings(), c.ArgoCDSettings()) {
		if text, ok := set.Value.(string); ok && set.Field != c.At("runtimeClass") {
			if q, ok := values.ParseAmount(text); !ok || q.Sign() < 0 {
				return fmt.Errorf("%s: %q is not an amount: write one such as 500m or 2Gi", set.Field, text)
			}
		}
	}
	return nil
}

func planStorageSize(c plan.Plan) error {
	size := string(c.Data.VCluster.Storage.Size)
	if q, ok := values.ParseAmount(size); size != "" && (!ok || q.Sign() <= 0) {
		return fmt.Errorf("%s: %q is not an amount: write one such as 2Gi", c.At("vcluster.storage.size"), size)
	}
	return nil
}

func planObjectNames(c plan.Plan) error {
	d := c.Data
	for _, n := range []struct{ field, name string }{
		{"vcluster.storage.storageClass", d.VCluster.Storage.StorageClass},
		{"runtimeClass", d.RuntimeClass},
		{"ingress.className", d.Ingress.ClassName},
		{"ingress.tls.issuer.name", d.Ingress.TLS.Issuer.Name},
	} {
		if n.name != "" && len(validation.IsDNS1123Subdomain(n.name)) > 0 {
			return fmt.Errorf("%s: %q is not the name of an object: write one such as standard", c.At(n.field), n.name)
		}
	}
	return nil
}

// planReplicas refuses numbers that no workload can have; 0 is none that is written.
func planReplicas(c plan.Plan) error {
	check := func(field string, n, most int64) error {
		if n < 0 || n > most {
			return fmt.Errorf("%s: %d is not possible: write a number from 1 to %d", c.At(field), n, most)
		}
		return nil
	}
	for _, w := range c.Workloads() {
		if err := check("argocd."+w.Key+".replicas", w.Size.Replicas, 50); err != nil {
			return err
		}
	}
	return check("vcluster.replicas", c.Data.VCluster.Replicas, 7)
}

func planLoadBalancers(c plan.Plan) error {
	if n := c.Data.LoadBalancers; n < 0 || n > 100 {
		return fmt.Errorf("%s: %d is not possible: write a number from 0 to 100", c.At("loadBalancers"), n)
	}
	return nil
}

func planPodSecurity(c plan.Plan) error {
	return oneOf(c.At("podSecurity"), c.Data.PodSecurity, tenant.PodSecurityBaseline, tenant.PodSecurityRestricted)
}

func planStore(c plan.Plan) error {
	v := c.Data.VCluster
	if err := oneOf(c.At("vcluster.backingStore"), v.BackingStore, plan.StoreSQLite, plan.StoreEtcd); err != nil {
		return err
	}
	if v.Replicas > 1 && v.BackingStore != plan.StoreEtcd {
		return fmt.Errorf("%s: is %d, and several replicas need a store that they share: write vcluster.backingStore: %s", c.At("vcluster.replicas"), v.Replicas, plan.StoreEtcd)
	}
	return nil
}

// oneOf refuses text that is set, and none of those that are known.
func oneOf(field, is string, known ...string) error {
	if is != "" && !slices.Contains(known, is) {
		return fmt.Errorf("%s: %q is unknown: write %s", field, is, strings.Join(known, " or "))
	}
	return nil
}

// quotaNames are the limits that a ResourceQuota may have without a slash in their
// names.
var quotaNames = []string{
	"configmaps", "cpu", "ephemeral-storage", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "memory", "persistentvolumeclaims", "pods",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory", "requests.storage", "secrets", "services", "services.loadbalancers", "services.nodeports",
}

// containerNames are the resources of a container without a slash in their names.
var containerNames = []string{"cpu", "ephemeral-storage", "memory"}

// planResourceNames refuses resources that Kubernetes doesn't know: Helm would only say so
// once it changes a tenant.
func planResourceNames(c plan.Plan) error {
	check := func(field string, of map[string]v1alpha1.Quantity, known []string) error {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !slices.Contains(known, name) && (!strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0) {
				return fmt.Errorf("%s.%s: is no resource: write one of %s, or one with a slash in it", c.At(field), name, strings.Join(known, ", "))
			}
		}
		return nil
	}
	d := c.Data
	if err := check("quota", d.Quota, quotaNames); err != nil {
		return err
	}
	type named struct {
		field string
		names map[string]v1alpha1.Quantity
	}
	all := []named{{"limits.default", d.Limits.Default}, {"limits.defaultRequest", d.Limits.DefaultRequest}, {"limits.max", d.Limits.Max},
		{"vcluster.resources.requests", d.VCluster.Resources.Requests}, {"vcluster.resources.limits", d.VCluster.Resources.Limits}}
	for _, w := range c.Workloads() {
		all = append(all, named{"argocd." + w.Key + ".resources.requests", w.Size.Resources.Requests}, named{"argocd." + w.Key + ".resources.limits", w.Size.Resources.Limits})
	}
	for _, of := range all {
		if err := check(of.field, of.names, containerNames); err != nil {
			return err
		}
	}
	return nil
}

func planIngress(c plan.Plan) error {
	i := c.Data.Ingress
	if err := CheckDomain(c.At("ingress.domain"), i.Domain); err != nil {
		return err
	}
	if err := oneOf(c.At("ingress.tls.issuer.kind"), i.TLS.Issuer.Kind, "ClusterIssuer", "Issuer"); err != nil {
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
