package decode

import "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"

const maxSyncOptions = 20

// bootstrap reads the first Application; nil when the spec has none.
func (r *reader) bootstrap(spec Struct) *v1alpha1.BootstrapSpec {
	const field = "spec.bootstrap"
	o := r.object(spec, field, "bootstrap")
	if len(o.s.GetFields()) == 0 {
		return nil
	}
	policy := r.object(o, field+".syncPolicy", "syncPolicy")
	automated := r.object(policy, field+".syncPolicy.automated", "automated")
	return &v1alpha1.BootstrapSpec{
		RepoURL:        r.text(o, field+".repoURL", "repoURL"),
		Path:           r.text(o, field+".path", "path"),
		TargetRevision: r.text(o, field+".targetRevision", "targetRevision"),
		Project:        r.text(o, field+".project", "project"),
		SyncPolicy: &v1alpha1.SyncPolicy{
			Automated: &v1alpha1.AutomatedSync{
				Enabled:  r.optionalFlag(automated, field+".syncPolicy.automated.enabled", "enabled"),
				Prune:    r.optionalFlag(automated, field+".syncPolicy.automated.prune", "prune"),
				SelfHeal: r.optionalFlag(automated, field+".syncPolicy.automated.selfHeal", "selfHeal"),
			},
			SyncOptions: r.texts(policy, field+".syncPolicy.syncOptions", "syncOptions", maxSyncOptions),
		},
	}
}
