package argocd

import (
	_ "embed"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Protected returns the values that win over everyone's.
func Protected() values.Values {
	return values.Values{"fullnameOverride": tenant.HelmArgoCD, "namespaceOverride": tenant.ArgoCDNamespace}
}

//go:embed defaults.yaml
var defaultsYAML string

var defaults = resource.FromYAML[values.Values](defaultsYAML)

// Defaults returns the built-in values of the argo-cd chart.
func Defaults(d *tenant.Decision, in v1alpha1.Input) values.Values {
	out := values.Merge(defaults, values.Values{
		// Argo CD's own idea of its URL, which links and sign-on go to.
		"global": values.Values{"domain": d.Names.ArgoCDHostname},
		// Has the chart write something into Argo CD's own Secret at all times. Argo CD keeps
		// its signing key and the admin's password there, and Helm would take the Secret's
		// data away as a whole with the last value of the chart's.
		"configs": values.Values{"secret": values.Values{"extra": values.Values{"virtualargocd.tenant": d.Names.Tenant}}},
	})
	if registry := strings.TrimSuffix(in.Images.Registry, "/"); registry != "" {
		for key, image := range map[string]string{
			"global": "argoproj/argocd", "dex": "dexidp/dex", "redis": "docker/library/redis",
			"redis-ha": "docker/library/redis", "redis-ha.haproxy": "docker/library/haproxy",
		} {
			values.Insert(out, registry+"/"+image, append(strings.Split(key, "."), "image", "repository")...)
		}
	}
	return out
}

// GeneratesPassword reports whether Argo CD makes an initial password of its own
// and keeps it in the Secret that the argo-cd Release publishes.
func GeneratesPassword(v values.Values) bool {
	hash, _ := values.Lookup(v, "configs", "secret", "argocdServerAdminPassword")
	return (hash == nil || hash == "") && !AdminDisabled(v)
}

// AdminDisabled reports whether the local user admin is switched off.
func AdminDisabled(v values.Values) bool {
	admin, _ := values.Lookup(v, "configs", "cm", "admin.enabled")
	return admin == false || admin == "false"
}
