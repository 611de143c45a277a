// Package bootstrap is the part of a claim with the first Application of its Argo CD.
package bootstrap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Part is spec.bootstrap.
var Part = part.Part{
	Field: "spec.bootstrap", Resolve: resolve, Rows: rows,
	Condition: v1alpha1.ConditionBootstrapSynced, Has: has, Observe: observe, Report: report,
}

func resolve(of part.Candidate) (err error) {
	of.Decision.Application, err = manifest(of.Spec.Bootstrap)
	if of.Spec.Bootstrap != nil && !values.Same(of.WasAsked().Bootstrap, of.Spec.Bootstrap) {
		err = mistakes.Join(err, checkMeaning(*of.Spec.Bootstrap))
	}
	if err != nil || of.Spec.Bootstrap == nil {
		return err
	}
	of.Decision.NoEffect = append(of.Decision.NoEffect, ignored(of.Given)...)
	if was := earlier(*of.Spec.Bootstrap, of.Decision.Application); was != nil && reflect.DeepEqual(was["spec"], any(of.EarlierApplication)) {
		of.Decision.Application, of.Decision.KeepsEarlierPolicy = was, true
	}
	return nil
}

// checkMeaning refuses what a later version of the function has found, of a bootstrap that wasn't accepted before.
func checkMeaning(b v1alpha1.BootstrapSpec) error {
	found := []error{credentials.CheckMeaning(field+".repoURL", b.RepoURL), checkOptions(b.SyncPolicy)}
	if b.Source != nil {
		found = append(found, credentials.CheckMeaning(field+".source.repoURL", b.Source.RepoURL))
	}
	for i, s := range b.Sources {
		found = append(found, credentials.CheckMeaning(fmt.Sprintf("%s.sources[%d].repoURL", field, i), s.RepoURL))
	}
	return mistakes.Join(found...)
}

func has(t tenant.Tenant) bool { return t.Application != nil }

func rows(t tenant.Tenant) []resource.Row {
	return []resource.Row{{Name: tenant.Bootstrap, Has: has(t), Waits: !argocd.Deployed(t), Ready: true, Build: application}}
}

const (
	applicationName = "bootstrap"
	field           = "spec.bootstrap"
)

// manifest returns the first Application; nil when the spec has none.
func manifest(b *v1alpha1.BootstrapSpec) (map[string]any, error) {
	if b == nil {
		return nil, nil
	}
	if err := mistakes.Join(checkSources(*b), credentials.CheckProject(field, b.Project), checkPolicy(b.SyncPolicy)); err != nil {
		return nil, err
	}
	spec := map[string]any{
		"project": cmp.Or(b.Project, "default"),
		// The virtual cluster, as Argo CD in it calls it.
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": tenant.ArgoCDNamespace},
	}
	switch {
	case b.Source != nil:
		spec["source"] = object(b.Source)
	case len(b.Sources) > 0:
		var all []any
		for _, s := range b.Sources {
			all = append(all, object(s))
		}
		spec["sources"] = all
	default:
		spec["source"] = object(short(b.ApplicationSource))
	}
	if p := syncPolicy(b.SyncPolicy); len(p) > 0 {
		spec["syncPolicy"] = p
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "Application",
		"metadata":   map[string]any{"name": applicationName, "namespace": tenant.ArgoCDNamespace},
		"spec":       spec,
	}, nil
}

// short completes the source whose fields are beside the claim's others.
func short(s v1alpha1.ApplicationSource) v1alpha1.ApplicationSource {
	if s.Chart == "" {
		s.Path, s.TargetRevision = cmp.Or(s.Path, "."), cmp.Or(s.TargetRevision, "HEAD")
	}
	return s
}

// object returns what is in JSON the same. What was decoded from JSON can be encoded.
func object(v any) map[string]any {
	out := map[string]any{}
	raw, _ := json.Marshal(v)
	_ = json.Unmarshal(raw, &out)
	return out
}

// syncPolicy is the spec's, in Argo CD's own meaning. Without one, the Application is synced automatically.
func syncPolicy(p *v1alpha1.SyncPolicy) map[string]any {
	if p == nil {
		return map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}}
	}
	out := object(p)
	automated, on := out["automated"].(map[string]any)
	// Not by automated.enabled, which older versions of Argo CD don't have.
	delete(automated, "enabled")
	if on && !ptr.Deref(p.Automated.Enabled, true) {
		delete(out, "automated")
	}
	return out
}

// earlier returns the Application as version 0.2 made it of a spec with a syncPolicy: with automated sync, prune and selfHeal where that
// says nothing of them. An Application that is as it was made then stays so until the claim's bootstrap is changed: an upgrade of the
// function doesn't switch off what a claim relies on. It returns nil for a spec that version 0.2 read as Argo CD does.
func earlier(b v1alpha1.BootstrapSpec, now map[string]any) map[string]any {
	if b.SyncPolicy == nil || b.Source != nil || len(b.Sources) > 0 {
		return nil
	}
	automated := ptr.Deref(b.SyncPolicy.Automated, v1alpha1.AutomatedSync{})
	if !ptr.Deref(automated.Enabled, true) {
		return nil
	}
	was := runtime.DeepCopyJSON(now)
	values.Insert(was, map[string]any{"prune": ptr.Deref(automated.Prune, true), "selfHeal": ptr.Deref(automated.SelfHeal, true)}, "spec", "syncPolicy", "automated")
	return was
}

// applicationReady is the readiness of the first Application, in CEL: until then
// provider-kubernetes looks again each half minute.
const applicationReady = `has(object.status) && has(object.status.sync) && object.status.sync.status == 'Synced'
 && has(object.status.health) && has(object.status.health.status) && object.status.health.status == 'Healthy'`

// application composes the first Application in the virtual cluster.
func application(t tenant.Tenant) (resource.Object, error) {
	o := resource.NewObject(t, "bootstrap", t.Names.ProviderConfig, resource.ReadyBy(applicationReady))
	o.Spec.ManagementPolicies = resource.WithoutDelete
	if !t.KeepsEarlierPolicy {
		meta.AddAnnotations(o, map[string]string{tenant.AnnotationSyncPolicy: "argocd"})
	}
	return resource.Watched(resource.Object{Typed: o, Raw: t.Application, RawAt: resource.ManifestPath}), nil
}

// What Argo CD says of an Application.
const (
	synced  = "Synced"
	healthy = "Healthy"
)

// errorConditions are the types of an Application's conditions that are errors.
var errorConditions = []string{"ComparisonError", "InvalidSpecError", "SyncError", "UnknownError", "DeletionError"}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	o := t.Composed(tenant.Bootstrap)
	s := applicationStatus(t)
	what := "Application " + applicationName
	switch {
	case !o.Exists():
		return is.No(v1alpha1.ReasonWaitingForArgoCD, what+" waits for Argo CD", "")
	case condition.Waits(o) != "" && s.Sync == "":
		return is.No(v1alpha1.ReasonWaitingForArgoCD, what+" cannot be applied yet", condition.Waits(o))
	case o.Condition("Synced").False():
		return is.No(v1alpha1.ReasonApplicationFailed, what+" cannot be applied or observed", condition.Problem(o))
	case s.Sync == synced && s.Health == healthy:
		return is.Yes(what + " is synced and healthy")
	case s.Message != "":
		return is.No(v1alpha1.ReasonApplicationFailed, what+" has failed", s.Message)
	case s.Sync == "":
		return is.No(v1alpha1.ReasonWaitingForArgoCD, what+" waits for Argo CD to compare it with Git", "")
	case s.Sync != synced:
		by := "Argo CD is to do that automatically"
		if _, automated := values.Lookup(t.Application, "spec", "syncPolicy", "automated"); !automated {
			by = "spec.bootstrap.syncPolicy leaves that to people, in Argo CD"
		}
		return is.No(v1alpha1.ReasonOutOfSync, what+" is not synced ("+s.Sync+"): "+by, "")
	case s.Health == "Progressing" || s.Health == "":
		return is.No(v1alpha1.ReasonProgressing, what+" is synced, and not healthy yet", "")
	case s.Health == "Suspended":
		return is.No(v1alpha1.ReasonSuspended, what+" is synced, and something in it is suspended until somebody resumes it", "")
	}
	return is.No(v1alpha1.ReasonUnhealthy, what+" is synced, and its health is "+s.Health+": Argo CD shows what in it", "")
}

// report writes what Argo CD says of the first Application, once it has said anything.
func report(t tenant.Tenant, to *v1alpha1.Status) {
	if !has(t) {
		return
	}
	s := applicationStatus(t)
	if automated, on := values.Lookup(t.Application, "spec", "syncPolicy", "automated"); on {
		at, _ := automated.(map[string]any)
		s.Automated = &v1alpha1.AutomatedStatus{Prune: at["prune"] == true, SelfHeal: at["selfHeal"] == true}
	}
	if s != (v1alpha1.BootstrapStatus{}) {
		to.Bootstrap = &s
	}
}

func applicationStatus(t tenant.Tenant) v1alpha1.BootstrapStatus {
	app := t.Composed(tenant.Bootstrap).Get("status", "atProvider", "manifest", "status")
	s := v1alpha1.BootstrapStatus{
		Health:   word(app.String("health", "status")),
		Sync:     word(app.String("sync", "status")),
		Revision: word(app.String("sync", "revision")),
	}
	if s.Sync != synced || s.Health != healthy {
		s.Message = t.Observed.Redact(applicationError(app))
	}
	return s
}

// maxWord bounds what Argo CD says in one word, in bytes. The longest are versions of charts.
const maxWord = 128

// word returns a state or a revision; "" for what is none. Whoever administers the virtual cluster can write any text there.
func word(s string) string {
	if len(s) > maxWord || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return ""
	}
	return s
}

// applicationError is what Argo CD says is wrong, "" when it says nothing.
func applicationError(app wire.Struct) string {
	for _, c := range app.List("conditions") {
		if slices.Contains(errorConditions, c.String("type")) {
			return c.String("message")
		}
	}
	switch app.String("operationState", "phase") {
	case "Failed", "Error":
		return app.String("operationState", "message")
	}
	return ""
}
