package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// check refuses a plan that no tenant can have.
func (c Chosen) check() error {
	d := c.Data
	if err := c.checkNamespaces(); err != nil {
		return err
	}
	if err := c.checkNames(); err != nil {
		return err
	}
	for _, set := range slices.Concat(c.vclusterSettings(), c.argocdSettings()) {
		if text, ok := set.Value.(string); ok && set.Field != c.at("runtimeClass") {
			if q, ok := parseAmount(text); !ok || q.Sign() < 0 {
				return fmt.Errorf("%s: %q is not an amount: write one such as 500m or 2Gi", set.Field, text)
			}
		}
	}
	if s := d.VCluster.Storage; s.Size != "" {
		if q, ok := parseAmount(string(s.Size)); !ok || q.Sign() <= 0 {
			return fmt.Errorf("%s: %q is not an amount: write one such as 2Gi", c.at("vcluster.storage.size"), s.Size)
		}
	}
	for _, n := range []struct{ field, name string }{
		{"vcluster.storage.storageClass", d.VCluster.Storage.StorageClass},
		{"runtimeClass", d.RuntimeClass},
		{"ingress.className", d.Ingress.ClassName},
		{"ingress.tls.issuer.name", d.Ingress.TLS.Issuer.Name},
	} {
		if n.name != "" && len(validation.IsDNS1123Subdomain(n.name)) > 0 {
			return fmt.Errorf("%s: %q is not the name of an object: write one such as standard", c.at(n.field), n.name)
		}
	}
	for _, w := range c.workloads() {
		if err := c.checkReplicas("argocd."+w.key+".replicas", w.size.Replicas, 50); err != nil {
			return err
		}
	}
	if err := c.checkReplicas("vcluster.replicas", d.VCluster.Replicas, 7); err != nil {
		return err
	}
	if n := d.LoadBalancers; n < 0 || n > 100 {
		return fmt.Errorf("%s: %d is not possible: write a number from 0 to 100", c.at("loadBalancers"), n)
	}
	if levels := []string{"", PodSecurityBaseline, PodSecurityRestricted}; !slices.Contains(levels, d.PodSecurity) {
		return fmt.Errorf("%s: %q is unknown: write %s or %s", c.at("podSecurity"), d.PodSecurity, PodSecurityBaseline, PodSecurityRestricted)
	}
	if stores := []string{"", StoreSQLite, StoreEtcd}; !slices.Contains(stores, d.VCluster.BackingStore) {
		return fmt.Errorf("%s: %q is unknown: write %s or %s", c.at("vcluster.backingStore"), d.VCluster.BackingStore, StoreSQLite, StoreEtcd)
	}
	if d.VCluster.Replicas > 1 && d.VCluster.BackingStore != StoreEtcd {
		return fmt.Errorf("%s: is %d, and several replicas need a store that they share: write vcluster.backingStore: %s", c.at("vcluster.replicas"), d.VCluster.Replicas, StoreEtcd)
	}
	return c.checkIngress()
}

// checkReplicas refuses a number that no workload can have; 0 is none that is written.
func (c Chosen) checkReplicas(field string, n, most int64) error {
	if n < 0 || n > most {
		return fmt.Errorf("%s: %d is not possible: write a number from 1 to %d", c.at(field), n, most)
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

// checkNames refuses resources that Kubernetes doesn't know: Helm would only say so
// once it changes a tenant.
func (c Chosen) checkNames() error {
	check := func(field string, of map[string]v1alpha1.Quantity, known []string) error {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !slices.Contains(known, name) && (!strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0) {
				return fmt.Errorf("%s.%s: is no resource: write one of %s, or one with a slash in it", c.at(field), name, strings.Join(known, ", "))
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
	for _, w := range c.workloads() {
		all = append(all, named{"argocd." + w.key + ".resources.requests", w.size.Resources.Requests}, named{"argocd." + w.key + ".resources.limits", w.size.Resources.Limits})
	}
	for _, of := range all {
		if err := check(of.field, of.names, containerNames); err != nil {
			return err
		}
	}
	return nil
}

func (c Chosen) checkIngress() error {
	i := c.Data.Ingress
	if err := checkDomain(c.at("ingress.domain"), i.Domain); err != nil {
		return err
	}
	if kind := i.TLS.Issuer.Kind; !slices.Contains([]string{"", "ClusterIssuer", "Issuer"}, kind) {
		return fmt.Errorf("%s: %q is unknown: write ClusterIssuer or Issuer", c.at("ingress.tls.issuer.kind"), kind)
	}
	if i.TLS.Issuer != (v1alpha1.Issuer{}) && i.TLS.Issuer.Name == "" {
		return fmt.Errorf("%s: is missing: write the name of an issuer, such as letsencrypt", c.at("ingress.tls.issuer.name"))
	}
	for _, key := range slices.Sorted(maps.Keys(i.Annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return fmt.Errorf("%s: %q is not the key of an annotation", c.at("ingress.annotations"), key)
		}
	}
	return nil
}
