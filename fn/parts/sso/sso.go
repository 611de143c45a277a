// Package sso is the part of a claim that says how people sign on.
package sso

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Part is spec.sso.
var Part = part.Part{
	Field: "spec.sso", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionSSOReady, Has: func(t tenant.Tenant) bool { return t.SSO.On }, Observe: observe,
}

func secrets(s tenant.Ask) []string {
	var names []string
	if s.SSO != nil && s.SSO.OIDC != nil && s.SSO.OIDC.ClientSecretRef != nil {
		names = append(names, s.SSO.OIDC.ClientSecretRef.Name)
	}
	if s.SSO != nil && s.SSO.Dex != nil {
		for _, c := range s.SSO.Dex.Connectors {
			// What is no configuration is refused later.
			config, _ := decodeConfig(c)
			names = append(names, slices.Collect(maps.Keys(referencesIn(config)))...)
		}
	}
	return names
}

// groupPolicies is the key of our policies in Argo CD's RBAC settings. Argo CD
// reads every policy.*.csv beside policy.csv, which is the claim's own.
const groupPolicies = "policy.virtualargocd.csv"

// resolve sets the values for signing on.
func resolve(of part.Candidate) error {
	d, argocd := of.Decision, of.ArgoCD
	spec := of.Spec.SSO
	if spec == nil || spec.OIDC == nil && spec.Dex == nil && !spec.DisableAdmin {
		return ofValues(of)
	}
	var found []error
	if spec.OIDC != nil && spec.Dex != nil {
		found = append(found, fmt.Errorf("spec.sso.dex: Argo CD ignores Dex beside spec.sso.oidc: write one of the two; Dex has a connector of type oidc"))
	}
	d.SSO.On = true
	own := values.Values{}
	if spec.DisableAdmin {
		values.Insert(own, "false", "configs", "cm", "admin.enabled")
	}
	if spec.OIDC != nil {
		found = append(found, setOIDC(of, *spec.OIDC, own))
	}
	if spec.Dex != nil {
		found = append(found, setDex(of, *spec.Dex, own))
	}
	if spec.OIDC == nil && spec.Dex == nil {
		found = append(found, ofValues(of))
	}
	rules := []values.Rule{values.Be(true, "configs", "cm", "create")}
	for _, path := range values.Leaves(own) {
		is, _ := values.Lookup(own, path...)
		rules = append(rules, values.Be(is, path...))
	}
	if err := mistakes.Join(append(found, argocd.Reserve(values.Claim, "spec.sso", rules...))...); err != nil {
		return err
	}
	d.ArgoCD.Values = values.Merge(d.ArgoCD.Values, own)
	return nil
}

// unlessAccepted runs a check of a later version of the function, unless spec.sso is as it was accepted before.
func unlessAccepted(of part.Candidate, check func() error) error {
	if wasAccepted(of) {
		return nil
	}
	return check()
}

func wasAccepted(of part.Candidate) bool { return values.Same(of.WasAsked().SSO, of.Spec.SSO) }

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	state := release.StateOf(t.Composed(tenant.ArgoCDRelease))
	for _, secret := range t.SSO.Secrets {
		if secret.State != v1alpha1.StateConfigured {
			return is.No(string(secret.State), secret.Kind, secret.Message)
		}
	}
	switch {
	case state == release.Absent || !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "Signing on waits for Argo CD", "")
	case state.RollsOut():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out how people sign on", "")
	case t.SSO.Provider == "":
		return is.Yes("The local user admin is switched off")
	}
	more := "; " + strings.Join(append(slices.Clone(t.SSO.Notes), redirects(t)), "; ")
	switch c := argocd.SignOn(t); {
	case c.State == v1alpha1.StateFailed:
		return is.No(v1alpha1.ReasonConnectionFailed, "Argo CD can't send people to "+t.SSO.Provider, c.Message)
	case c.State != v1alpha1.StateConnected:
		return is.NotYet(v1alpha1.ReasonConfigured, "Argo CD is to sign people on with "+t.SSO.Provider+", and hasn't been seen to send somebody there yet"+more)
	case t.SSO.Dex:
		return is.NotYet(v1alpha1.ReasonConfigured, "Dex runs, and Argo CD sends people there; whether "+t.SSO.Provider+" answers isn't looked at"+more)
	}
	// See signOn in package connections of the proxy.
	return is.Yes("Argo CD sends people to " + t.SSO.Provider + ", whose discovery document it read when it started or its settings changed; it doesn't look there again" + more)
}

// manyURLs is the first version of the argo-cd chart whose Argo CD knows additionalUrls: 2.13.
var manyURLs = semver.New(7, 7, 0, "", "")

// isBefore reports whether a version of the chart is an earlier one.
func isBefore(version string, than *semver.Version) bool {
	v, err := semver.NewVersion(version)
	return err == nil && v.LessThan(than)
}

// redirects says which URLs the provider must send people back to. Argo CD compares the path of a request without its own path
// with that of each URL (3.6, util/settings/settings.go, ArgoURLForRequest), so below a path it finds none but the first, and the cookie
// of who began elsewhere is missing there: https://github.com/argoproj/argo-cd/issues/26233.
func redirects(t tenant.Tenant) string {
	urls := tenant.URLs(t.Decision)
	first, version := urls[0]+t.SSO.Callback, t.Decision.ArgoCD.Version
	const onlyThere = " signs people on only at that hostname: at the others, they can log in only as local users"
	switch {
	case len(t.Ingress.InUse()) == 0:
		return "its redirect URL is " + first + ", which is a Service of the host: for browsers elsewhere, write spec.ingress.host"
	case len(urls) == 1:
		return "its redirect URL is " + first
	case isBefore(version, manyURLs):
		return "its redirect URL is " + first + "; Argo CD before 2.13, as in version " + version + " of its chart," + onlyThere
	case t.Decision.RootPath != "":
		return "its redirect URL is " + first + "; below a path, Argo CD" + onlyThere
	case t.SSO.Dex:
		return "its redirect URL is " + first + ", at all hostnames"
	}
	for n := range urls {
		urls[n] += t.SSO.Callback
	}
	return "its redirect URLs are " + strings.Join(urls, ", ")
}
