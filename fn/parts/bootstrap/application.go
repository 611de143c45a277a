package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// applicationName is the name of the first Application.
const applicationName = "bootstrap"

// inClusterURL is the virtual cluster, as Argo CD in it calls it.
const inClusterURL = "https://kubernetes.default.svc"

// manifest returns the first Application; nil when the spec has none.
func manifest(b *v1alpha1.BootstrapSpec) (map[string]any, error) {
	const field = "spec.bootstrap"
	if b == nil {
		return nil, nil
	}
	if err := credentials.CheckRepositoryURL(field+".repoURL", b.RepoURL, v1alpha1.RepositoryGit); err != nil {
		return nil, err
	}
	if strings.HasPrefix(b.Path, "/") || slices.Contains(strings.Split(b.Path, "/"), "..") {
		return nil, fmt.Errorf("%s.path: %q is not a folder of the repository: write one below its root, such as customers/acme", field, b.Path)
	}
	if b.Project != "" && len(validation.IsDNS1123Subdomain(b.Project)) > 0 {
		return nil, fmt.Errorf("%s.project: %q is not the name of a project: write lower case letters, digits, dots and dashes", field, b.Project)
	}
	policy := v1alpha1.SyncPolicy{}
	if b.SyncPolicy != nil {
		policy = *b.SyncPolicy
	}
	for _, option := range policy.SyncOptions {
		if name, value, ok := strings.Cut(option, "="); !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%s.syncPolicy.syncOptions: %q is not an option: write one such as CreateNamespace=true", field, option)
		}
	}
	spec := map[string]any{
		"project": cmp.Or(b.Project, "default"),
		"source": map[string]any{
			"repoURL": b.RepoURL, "path": cmp.Or(b.Path, "."), "targetRevision": cmp.Or(b.TargetRevision, "HEAD"),
		},
		"destination": map[string]any{"server": inClusterURL, "namespace": tenant.ArgoCDNamespace},
	}
	if p := syncPolicy(policy); len(p) > 0 {
		spec["syncPolicy"] = p
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "Application",
		"metadata":   map[string]any{"name": applicationName, "namespace": tenant.ArgoCDNamespace},
		"spec":       spec,
	}, nil
}

func syncPolicy(p v1alpha1.SyncPolicy) map[string]any {
	out := map[string]any{}
	on := func(v *bool) bool { return v == nil || *v }
	automated := v1alpha1.AutomatedSync{}
	if p.Automated != nil {
		automated = *p.Automated
	}
	// Left out, and not switched off in Argo CD's own way, which is newer than
	// some of its versions.
	if on(automated.Enabled) {
		out["automated"] = map[string]any{"prune": on(automated.Prune), "selfHeal": on(automated.SelfHeal)}
	}
	if len(p.SyncOptions) > 0 {
		options := make([]any, 0, len(p.SyncOptions))
		for _, o := range p.SyncOptions {
			options = append(options, o)
		}
		out["syncOptions"] = options
	}
	return out
}
