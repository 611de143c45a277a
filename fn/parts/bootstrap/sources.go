package bootstrap

import (
	"cmp"
	"fmt"
	"maps"
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
	var found []error
	if len(given) > 1 {
		found = append(found, fmt.Errorf("%s: has %s: write one of repoURL, source and sources, with all fields of a source in it", field, strings.Join(given, " and ")))
	}
	if b.Source != nil {
		found = append(found, checkSource(field+".source", *b.Source, nil))
	}
	// Fields of one source beside others are a mistake already.
	if len(given) == 0 || len(given) == 1 && given[0] == "repoURL" {
		found = append(found, checkSource(field, short(b.ApplicationSource), nil))
	}
	refs := []string{}
	for i, s := range b.Sources {
		at := fmt.Sprintf("%s.sources[%d]", field, i)
		switch {
		case s.Ref == "":
		case !isRef.MatchString(s.Ref):
			found = append(found, fmt.Errorf("%s.ref: %q is not a name: write letters, digits, dashes and underscores", at, s.Ref))
		case slices.Contains(refs, s.Ref):
			found = append(found, fmt.Errorf("%s.ref: %q is that of another source, too: write another", at, s.Ref))
		}
		if s.Ref != "" {
			refs = append(refs, s.Ref)
		}
	}
	for i, s := range b.Sources {
		found = append(found, checkSource(fmt.Sprintf("%s.sources[%d]", field, i), s, refs))
	}
	return mistakes.Join(found...)
}

var isRef = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkSource checks a source. refs are the names of sources, nil where there is one source only.
func checkSource(at string, s v1alpha1.ApplicationSource, refs []string) error {
	found := []error{checkURL(at, s)}
	refuse := func(is bool, format string, args ...any) {
		if is {
			found = append(found, fmt.Errorf("%s"+format, append([]any{at}, args...)...))
		}
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
	refuse(strings.HasPrefix(s.Path, "/") || slices.Contains(strings.Split(s.Path, "/"), ".."), ".path: %q is not a folder of the repository: write one below its root, such as customers/acme", s.Path)
	refuse(refs == nil && s.Ref != "", ".ref: no other source can refer to it: write it in %s.sources, or leave it out", field)
	refuse(s.Path == "" && s.Chart == "" && s.Ref == "", ".path: is missing: write a folder of the repository, such as . for its root, or a chart")
	refuse(s.Path != "" && s.Chart != "", ".chart: a source with a chart has no path: leave one of the two out")
	refuse(s.Chart != "" && s.TargetRevision == "", ".targetRevision: is missing: write the version of chart %s, or a range such as 1.x", s.Chart)
	refuse(refs != nil && s.Chart != "" && s.Ref != "", ".ref: other sources can't refer to files of a chart: leave it out, or write a source of a Git repository")
	refuse(len(tools) > 1, ": has %s, of which Argo CD takes one: leave the others out", strings.Join(tools, ", "))
	refuse(s.Directory != nil && s.Directory.Jsonnet != nil && s.Chart != "", ".directory: a chart has no manifests: leave it out")
	if s.Helm != nil {
		found = append(found, checkHelm(at+".helm", *s.Helm, refs))
	}
	return mistakes.Join(found...)
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
	var found []error
	if h.ValuesObject != nil && h.Values != "" {
		found = append(found, fmt.Errorf("%s.values: valuesObject wins over it: write one of the two", at))
	}
	for i, file := range h.ValueFiles {
		ref, _, _ := strings.Cut(file, "/")
		if name, ok := strings.CutPrefix(ref, "$"); ok && !slices.Contains(refs, name) {
			found = append(found, fmt.Errorf("%s.valueFiles[%d]: there is no source with the ref %q: write one in %s.sources, or the path of a file in this source", at, i, name, field))
		}
	}
	return mistakes.Join(found...)
}

// checkPolicy finds what Argo CD refuses of a syncPolicy.
func checkPolicy(p *v1alpha1.SyncPolicy) error {
	if p == nil {
		return nil
	}
	var found []error
	for _, option := range p.SyncOptions {
		if name, value, ok := strings.Cut(option, "="); !ok || name == "" || value == "" {
			found = append(found, fmt.Errorf("%s.syncPolicy.syncOptions: %q is not an option: write one such as CreateNamespace=true", field, option))
		}
	}
	if p.ManagedNamespaceMetadata != nil && !slices.Contains(p.SyncOptions, "CreateNamespace=true") {
		found = append(found, fmt.Errorf("%s.syncPolicy.managedNamespaceMetadata: has no effect without the sync option CreateNamespace=true: write that, too", field))
	}
	if p.Retry != nil && p.Retry.Backoff != nil {
		found = append(found, checkDuration("duration", p.Retry.Backoff.Duration), checkDuration("maxDuration", p.Retry.Backoff.MaxDuration))
	}
	return mistakes.Join(found...)
}

// checkDuration checks a time as Argo CD reads it: a duration, or a number of seconds.
func checkDuration(name, value string) error {
	_, err := time.ParseDuration(value)
	if _, number := strconv.ParseInt(value, 10, 32); value == "" || err == nil || number == nil {
		return nil
	}
	return fmt.Errorf("%s.syncPolicy.retry.backoff.%s: %q is not a time: write one such as 5s or 3m", field, name, value)
}

// onOff are the values of most sync options.
var onOff = []string{"true", "false"}

// syncOptions are those of Argo CD, with their values (3.6, docs/user-guide/sync-options.md, controller/sync.go, gitops-engine's pkg/sync/common). It compares
// an option as a whole, and ignores others.
var syncOptions = map[string][]string{
	"ApplyOutOfSyncOnly": onOff, "ClientSideApplyMigration": onOff, "CreateNamespace": onOff, "Delete": {"true", "false", "confirm"}, "FailOnSharedResource": onOff, "Force": onOff,
	"Prune": {"true", "false", "confirm"}, "PruneLast": onOff, "PrunePropagationPolicy": {"foreground", "background", "orphan"}, "Replace": onOff, "RespectIgnoreDifferences": onOff,
	"ServerSideApply": onOff, "SkipDryRunOnMissingResource": onOff, "Validate": onOff,
}

// misdocumented is an option that Argo CD's documentation has (3.2), and its code doesn't.
const misdocumented = "DisableClientSideApplyMigration"

// checkOptions refuses sync options that are written otherwise than Argo CD reads them. Ones that are like none of those that are known may be
// new.
func checkOptions(p *v1alpha1.SyncPolicy) error {
	if p == nil {
		return nil
	}
	var found []error
	for _, option := range p.SyncOptions {
		name, value, _ := strings.Cut(option, "=")
		is := named(strings.TrimSpace(name))
		if name == misdocumented {
			found = append(found, fmt.Errorf("%s.syncPolicy.syncOptions: Argo CD ignores %q: write ClientSideApplyMigration=false", field, option))
		}
		values, known := syncOptions[is]
		if !known || is == name && slices.Contains(values, value) {
			continue
		}
		found = append(found, fmt.Errorf("%s.syncPolicy.syncOptions: %q is none of Argo CD's: %s", field, option, instead(is, strings.ToLower(strings.TrimSpace(value)), values)))
	}
	return mistakes.Join(found...)
}

// named returns the option that is meant by a name; the name itself for none.
func named(name string) string {
	names := slices.Sorted(maps.Keys(syncOptions))
	if i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) }); i >= 0 {
		return names[i]
	}
	if i := slices.IndexFunc(names, func(other string) bool { return known.Like(name, other) }); i >= 0 {
		return names[i]
	}
	return name
}

// instead returns what to write in place of an option with a value.
func instead(name, value string, values []string) string {
	if near := known.Nearest(value, values); near != "" || slices.Contains(values, value) {
		return fmt.Sprintf("did you mean %s=%s?", name, cmp.Or(near, value))
	}
	var all []string
	for _, value := range values {
		all = append(all, name+"="+value)
	}
	return "write " + strings.Join(all, " or ")
}
