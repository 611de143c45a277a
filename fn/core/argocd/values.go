package argocd

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Protected returns the values that win over everyone's.
func Protected() values.Values {
	return values.Values{"fullnameOverride": tenant.HelmArgoCD, "namespaceOverride": tenant.ArgoCDNamespace}
}

// Defaults returns the built-in values of the argo-cd chart.
func Defaults(p *tenant.Decision, in v1alpha1.Input) values.Values {
	// Argo CD's own idea of its URL, which links and sign-on go to.
	url := values.Values{"global": values.Values{"domain": p.Names.ArgoCDHostname}}
	return values.Merge(argocdProbes(), argocdImages(in), url, keepSecret(p.Names.Tenant))
}

// argocdProbes ask the workloads that the chart asks each ten seconds more
// often whether they are ready, since an installation ends no sooner. They are
// taken for unready after as long as with the chart's own values.
func argocdProbes() values.Values {
	out := values.Values{}
	for _, component := range []string{"controller", "repoServer", "server"} {
		out[component] = values.Values{"readinessProbe": values.Values{
			"initialDelaySeconds": 1., "periodSeconds": 3., "failureThreshold": 10.,
		}}
	}
	return out
}

// argocdImages send every image of the chart to the platform's registry, when
// there is one.
func argocdImages(in v1alpha1.Input) values.Values {
	r := strings.TrimSuffix(in.Images.Registry, "/")
	if r == "" {
		return values.Values{}
	}
	image := func(path string) values.Values {
		return values.Values{"image": values.Values{"repository": r + "/" + path}}
	}
	return values.Values{
		"global": image("argoproj/argocd"),
		"dex":    image("dexidp/dex"),
		"redis":  image("docker/library/redis"),
		"redis-ha": values.Values{
			"image":   values.Values{"repository": r + "/docker/library/redis"},
			"haproxy": image("docker/library/haproxy"),
		},
	}
}

// GeneratesPassword reports whether Argo CD makes an initial password of its own
// and keeps it in the Secret that the argo-cd Release publishes.
func GeneratesPassword(v values.Values) bool {
	if hash, ok := values.Lookup(v, "configs", "secret", "argocdServerAdminPassword"); ok && hash != "" && hash != nil {
		return false
	}
	return !AdminDisabled(v)
}

// AdminDisabled reports whether the local user admin is switched off.
func AdminDisabled(v values.Values) bool {
	admin, _ := values.Lookup(v, "configs", "cm", "admin.enabled")
	return admin == false || admin == "false"
}

// keepSecret has the chart write something into Argo CD's own Secret at all times.
// Argo CD keeps its signing key and the admin's password there, and Helm would
// take the Secret's data away as a whole with the last value of the chart's.
func keepSecret(tenant string) values.Values {
	return values.Values{"configs": values.Values{"secret": values.Values{"extra": values.Values{"virtualargocd.tenant": tenant}}}}
}
