package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// argocdProtectedValues are the values that win over everyone's.
func argocdProtectedValues() values.Values {
	return values.Values{"fullnameOverride": ArgoCDRelease, "namespaceOverride": ArgoCDNamespace}
}

// argocdDefaults are the built-in values of the argo-cd chart.
func argocdDefaults(p *Plan, in v1alpha1.Input) values.Values {
	// Argo CD's own idea of its URL, which links and sign-on go to.
	url := values.Values{"global": values.Values{"domain": p.Names.ArgoCDHost}}
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

// argocdUntemplated are the values of the argo-cd chart that it never takes for
// templates: those with Argo CD's own settings, which may be templates of Argo CD's.
var argocdUntemplated = [][]string{
	{"configs"}, {"notifications", "context"}, {"notifications", "notifiers"},
	{"notifications", "secret"}, {"notifications", "subscriptions"}, {"notifications", "templates"}, {"notifications", "triggers"},
}

// checkTemplates refuses a claim's values with templates of Helm's. provider-helm
// renders them for all tenants in one process: a template can take all of its memory.
func checkTemplates(field string, v values.Values) error {
	for _, path := range values.Leaves(v) {
		if slices.ContainsFunc(argocdUntemplated, func(free []string) bool { return values.Below(path, free) }) {
			continue
		}
		value, _ := values.Lookup(v, path...)
		if slices.ContainsFunc(path, isTemplate) || hasTemplate(value) {
			return fmt.Errorf("%s.%s: templates ({{ }}) aren't rendered for claims: write what it is to be, or have spec.bootstrap bring the object", field, strings.Join(path, "."))
		}
	}
	return nil
}

// maxReplicas is more than a tenant's quota has pods.
const maxReplicas = 200

// checkReplicas refuses a claim's numbers of replicas that are too large, and switches
// that Helm and the function would read differently. Charts render an object for each
// replica of some workloads, in the one process that renders for all tenants.
func checkReplicas(field string, v values.Values) error {
	for _, path := range values.Leaves(v) {
		if slices.ContainsFunc(argocdUntemplated, func(free []string) bool { return values.Below(path, free) }) {
			continue
		}
		value, _ := values.Lookup(v, path...)
		at := field + "." + strings.Join(path, ".")
		if path[0] == "redis-ha" && path[len(path)-1] == "enabled" {
			if _, is := value.(bool); !is {
				return fmt.Errorf("%s: %.40q is neither true nor false: write one of them", at, fmt.Sprint(value))
			}
		}
		if !strings.Contains(strings.ToLower(path[len(path)-1]), "replicas") {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(amountText(value)), 64)
		if value != nil && (err != nil || n < 0 || n > maxReplicas) {
			return fmt.Errorf("%s: %.40q is not possible: write a number from 0 to %d", at, fmt.Sprint(value), maxReplicas)
		}
	}
	return nil
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

// hasTemplate looks for a template in a value that isn't a map of the chart's own.
func hasTemplate(value any) bool {
	switch value := value.(type) {
	case string:
		return isTemplate(value)
	case []any:
		return slices.ContainsFunc(value, hasTemplate)
	case values.Values:
		for key, at := range value {
			if isTemplate(key) || hasTemplate(at) {
				return true
			}
		}
	}
	return false
}

// generatesPassword tells whether Argo CD makes an initial password of its own
// and keeps it in the Secret that the argo-cd Release publishes.
func generatesPassword(v values.Values) bool {
	if hash, ok := values.Lookup(v, "configs", "secret", "argocdServerAdminPassword"); ok && hash != "" && hash != nil {
		return false
	}
	return !adminDisabled(v)
}

// adminDisabled tells whether the local user admin is switched off.
func adminDisabled(v values.Values) bool {
	admin, _ := values.Lookup(v, "configs", "cm", "admin.enabled")
	return admin == false || admin == "false"
}
