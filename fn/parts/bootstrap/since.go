package bootstrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// A later thing is one that only later versions of Argo CD read (pkg/apis/application/v1alpha1/types.go at each version, and
// docs/user-guide/sync-options.md), with the first one that does.
type later struct{ what, since string }

var (
	laterInSources = []later{
		{"helm.apiVersions", "2.13"}, {"helm.kubeVersion", "2.13"}, {"helm.namespace", "2.13"}, {"helm.skipSchemaValidation", "2.14"}, {"helm.skipTests", "2.14"},
		{"kustomize.apiVersions", "2.13"}, {"kustomize.kubeVersion", "2.13"}, {"kustomize.ignoreMissingComponents", "3.0"}, {"kustomize.labelIncludeTemplates", "3.0"},
		{"name", "2.14"}, {"tagPrefix", "3.5"},
	}
	laterInPolicies = []later{{"retry.refresh", "3.2"}}
	laterOptions    = []later{{"ClientSideApplyMigration", "3.3"}, {"DisableClientSideApplyMigration", "3.1"}}
)

// ignored returns messages about what the tenant's Argo CD is too old for. It isn't refused: a later version of the chart has it applied.
func ignored(g tenant.Given) []string {
	b := *g.Spec.Bootstrap
	var out []string
	note := func(at string, of any, fields []later) {
		is := object(of)
		for _, f := range fields {
			_, has := values.Lookup(is, strings.Split(f.what, ".")...)
			if why := g.Ignored(f.since); has && why != "" {
				out = append(out, at+"."+f.what+": "+why)
			}
		}
	}
	note(field, b.ApplicationSource, laterInSources)
	if b.Source != nil {
		note(field+".source", b.Source, laterInSources)
	}
	for i, s := range b.Sources {
		note(fmt.Sprintf("%s.sources[%d]", field, i), s, laterInSources)
	}
	if b.SyncPolicy == nil {
		return out
	}
	note(field+".syncPolicy", b.SyncPolicy, laterInPolicies)
	for _, o := range laterOptions {
		why := g.Ignored(o.since)
		if why != "" && slices.ContainsFunc(b.SyncPolicy.SyncOptions, func(option string) bool { return strings.HasPrefix(option, o.what+"=") }) {
			out = append(out, fmt.Sprintf("%s.syncPolicy.syncOptions: %s: %s", field, o.what, why))
		}
	}
	return out
}
