package bootstrap

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// checkSources finds what Argo CD refuses of the sources, or leaves out.
func checkSources(b v1alpha1.BootstrapSpec) error {
	var given []string
	for _, of := range []struct {
		name string
		is   bool
	}{{"repoURL", !reflect.ValueOf(b.ApplicationSource).IsZero()}, {"source", b.Source != nil}, {"sources", len(b.Sources) > 0}} {
		if of.is {
			given = append(given, of.name)
		}
	}
	switch {
	case len(given) > 1:
		return fmt.Errorf("%s: has %s: write one of repoURL, source and sources, with all fields of a source in it", field, strings.Join(given, " and "))
	case b.Source != nil:
		return checkSource(field+".source", *b.Source, nil)
	case len(b.Sources) == 0:
		return checkSource(field, short(b.ApplicationSource), nil)
	}
	refs := []string{}
	for i, s := range b.Sources {
		at := fmt.Sprintf("%s.sources[%d]", field, i)
		switch {
		case s.Ref == "":
		case !isRef.MatchString(s.Ref):
			return fmt.Errorf("%s.ref: %q is not a name: write letters, digits, dashes and underscores", at, s.Ref)
		case slices.Contains(refs, s.Ref):
			return fmt.Errorf("%s.ref: %q is that of another source, too: write another", at, s.Ref)
		default:
			refs = append(refs, s.Ref)
		}
	}
	for i, s := range b.Sources {
		if err := checkSource(fmt.Sprintf("%s.sources[%d]", field, i), s, refs); err != nil {
			return err
		}
	}
	return nil
}

var isRef = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkSource checks a source. refs are the names of sources, nil where there is one source only.
func checkSource(at string, s v1alpha1.ApplicationSource, refs []string) error {
	if err := checkURL(at, s); err != nil {
		return err
	}
	if strings.HasPrefix(s.Path, "/") || slices.Contains(strings.Split(s.Path, "/"), "..") {
		return fmt.Errorf("%s.path: %q is not a folder of the repository: write one below its root, such as customers/acme", at, s.Path)
	}
	var tools []string
	for _, tool := range []struct {
		name string
		is   bool
	}{{"directory", s.Directory != nil}, {"helm", s.Helm != nil}, {"kustomize", s.Kustomize != nil}, {"plugin", s.Plugin != nil}} {
		if tool.is {
			tools = append(tools, tool.name)
		}
	}
	switch {
	case refs == nil && s.Ref != "":
		return fmt.Errorf("%s.ref: no other source can refer to it: write it in %s.sources, or leave it out", at, field)
	case s.Path == "" && s.Chart == "" && s.Ref == "":
		return fmt.Errorf("%s.path: is missing: write a folder of the repository, such as . for its root, or a chart", at)
	case s.Path != "" && s.Chart != "":
		return fmt.Errorf("%s.chart: a source with a chart has no path: leave one of the two out", at)
	case s.Chart != "" && s.TargetRevision == "":
		return fmt.Errorf("%s.targetRevision: is missing: write the version of chart %s, or a range such as 1.x", at, s.Chart)
	case s.Chart != "" && s.Ref != "":
		return fmt.Errorf("%s.ref: other sources can't refer to files of a chart: leave it out, or write a source of a Git repository", at)
	case len(tools) > 1:
		return fmt.Errorf("%s: has %s, of which Argo CD takes one: leave the others out", at, strings.Join(tools, ", "))
	case s.Helm != nil:
		return checkHelm(at+".helm", *s.Helm, refs)
	case s.Directory != nil && s.Directory.Jsonnet != nil && s.Chart != "":
		return fmt.Errorf("%s.directory: a chart has no manifests: leave it out", at)
	}
	return nil
}

func checkURL(at string, s v1alpha1.ApplicationSource) error {
	typ := v1alpha1.RepositoryGit
	switch {
	case s.Chart != "" && !strings.Contains(s.RepoURL, "://") && s.RepoURL != "":
		// Argo CD has Helm charts in OCI registries without a scheme.
		return credentials.CheckRepositoryURL(at+".repoURL", "oci://"+s.RepoURL, v1alpha1.RepositoryHelm)
	case s.Chart != "":
		typ = v1alpha1.RepositoryHelm
	case strings.HasPrefix(s.RepoURL, "oci://"):
		typ = v1alpha1.RepositoryOCI
	}
	return credentials.CheckRepositoryURL(at+".repoURL", s.RepoURL, typ)
}

func checkHelm(at string, h v1alpha1.ApplicationSourceHelm, refs []string) error {
	if h.ValuesObject != nil && h.Values != "" {
		return fmt.Errorf("%s.values: valuesObject wins over it: write one of the two", at)
	}
	for i, file := range h.ValueFiles {
		ref, _, _ := strings.Cut(file, "/")
		if name, ok := strings.CutPrefix(ref, "$"); ok && !slices.Contains(refs, name) {
			return fmt.Errorf("%s.valueFiles[%d]: there is no source with the ref %q: write one in %s.sources, or the path of a file in this source", at, i, name, field)
		}
	}
	return nil
}

// checkPolicy finds what Argo CD refuses of a syncPolicy.
func checkPolicy(p *v1alpha1.SyncPolicy) error {
	if p == nil {
		return nil
	}
	for _, option := range p.SyncOptions {
		if name, value, ok := strings.Cut(option, "="); !ok || name == "" || value == "" {
			return fmt.Errorf("%s.syncPolicy.syncOptions: %q is not an option: write one such as CreateNamespace=true", field, option)
		}
	}
	if p.ManagedNamespaceMetadata != nil && !slices.Contains(p.SyncOptions, "CreateNamespace=true") {
		return fmt.Errorf("%s.syncPolicy.managedNamespaceMetadata: has no effect without the sync option CreateNamespace=true: write that, too", field)
	}
	if p.Retry == nil || p.Retry.Backoff == nil {
		return nil
	}
	b := *p.Retry.Backoff
	return cmp.Or(checkDuration("duration", b.Duration), checkDuration("maxDuration", b.MaxDuration))
}

// checkDuration checks a time as Argo CD reads it: a duration, or a number of seconds.
func checkDuration(name, value string) error {
	_, err := time.ParseDuration(value)
	if _, number := strconv.ParseInt(value, 10, 32); value == "" || err == nil || number == nil {
		return nil
	}
	return fmt.Errorf("%s.syncPolicy.retry.backoff.%s: %q is not a time: write one such as 5s or 3m", field, name, value)
}

// syncOptions are those of Argo CD (3.6, docs/user-guide/sync-options.md). It compares an option as a whole, and ignores others.
var syncOptions = []string{
	"ApplyOutOfSyncOnly", "ClientSideApplyMigration", "CreateNamespace", "Delete", "DisableClientSideApplyMigration", "FailOnSharedResource", "Force", "Prune", "PruneLast",
	"PrunePropagationPolicy", "Replace", "RespectIgnoreDifferences", "ServerSideApply", "SkipDryRunOnMissingResource", "Validate",
}

// checkOptions refuses sync options that are written otherwise than Argo CD reads them. Ones that are like none of those that are known may be
// new.
func checkOptions(p *v1alpha1.SyncPolicy) error {
	if p == nil {
		return nil
	}
	var found []error
	for _, option := range p.SyncOptions {
		name, value, _ := strings.Cut(option, "=")
		is := name
		if i := slices.IndexFunc(syncOptions, func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(name)) }); i >= 0 {
			is = syncOptions[i]
		} else if i := slices.IndexFunc(syncOptions, func(other string) bool { return known.Like(name, other) }); i >= 0 {
			is = syncOptions[i]
		}
		if right := is + "=" + strings.ToLower(strings.TrimSpace(value)); right != option && slices.Contains(syncOptions, is) {
			found = append(found, fmt.Errorf("%s.syncPolicy.syncOptions: %q is none of Argo CD's: did you mean %s?", field, option, right))
		}
	}
	return mistakes.Join(found...)
}
