package plan

import (
	"fmt"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// argocdProtected are the values of the argo-cd chart that decide names the
// function relies on. A claim that sets one gets an error.
var argocdProtected = [][]string{
	{"fullnameOverride"}, {"nameOverride"}, {"namespaceOverride"},
	{"applicationSet", "name"}, {"commitServer", "name"}, {"controller", "name"}, {"dex", "name"},
	{"notifications", "name"}, {"redis", "name"}, {"repoServer", "name"}, {"server", "name"},
	{"redis-ha", "fullnameOverride"}, {"redis-ha", "nameOverride"},
}

// argocdProtectedValues are the values that win over everyone's.
func argocdProtectedValues() Values {
	return Values{"fullnameOverride": ArgoCDRelease, "namespaceOverride": ArgoCDNamespace}
}

// argocdDefaults are the built-in values of the argo-cd chart.
func argocdDefaults(p *Plan, in v1alpha1.Input) Values {
	// Argo CD's own idea of its URL, which links and sign-on go to.
	url := Values{"global": Values{"domain": p.Names.ArgoCDHost}}
	return Merge(argocdProbes(), argocdImages(in), url, keepSecret(p.Names.Tenant))
}

// argocdProbes ask the workloads that the chart asks each ten seconds more
// often whether they are ready, since an installation ends no sooner. They are
// taken for unready after as long as with the chart's own values.
func argocdProbes() Values {
	values := Values{}
	for _, component := range []string{"controller", "repoServer", "server"} {
		values[component] = Values{"readinessProbe": Values{
			"initialDelaySeconds": 1., "periodSeconds": 3., "failureThreshold": 10.,
		}}
	}
	return values
}

// argocdImages send every image of the chart to the platform's registry, when
// there is one.
func argocdImages(in v1alpha1.Input) Values {
	r := strings.TrimSuffix(in.Images.Registry, "/")
	if r == "" {
		return Values{}
	}
	image := func(path string) Values { return Values{"image": Values{"repository": r + "/" + path}} }
	return Values{
		"global": image("argoproj/argocd"),
		"dex":    image("dexidp/dex"),
		"redis":  image("docker/library/redis"),
		"redis-ha": Values{
			"image":   Values{"repository": r + "/docker/library/redis"},
			"haproxy": image("docker/library/haproxy"),
		},
	}
}

// checkArgoCDValues refuses values that are the platform's to set.
func checkArgoCDValues(field string, v Values) error {
	for _, path := range argocdProtected {
		if _, set := lookup(v, path...); set {
			return fmt.Errorf("%s.%s is the platform's to set: leave it out", field, strings.Join(path, "."))
		}
	}
	return nil
}

// generatesPassword tells whether Argo CD makes an initial password of its own
// and keeps it in the Secret that the argo-cd Release publishes.
func generatesPassword(v Values) bool {
	if hash, ok := lookup(v, "configs", "secret", "argocdServerAdminPassword"); ok && hash != "" && hash != nil {
		return false
	}
	return !adminDisabled(v)
}

// adminDisabled tells whether the local user admin is switched off.
func adminDisabled(v Values) bool {
	admin, _ := lookup(v, "configs", "cm", "admin.enabled")
	return admin == false || admin == "false"
}
