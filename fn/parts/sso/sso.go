// Package sso is the part of a claim that says how people sign on.
package sso

import (
	"cmp"
	"crypto/x509"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
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
	if s.SSO == nil || s.SSO.OIDC == nil {
		return nil
	}
	return []string{s.SSO.OIDC.ClientSecretRef.Name}
}

const (
	ofOIDC = "spec.sso.oidc"
	// clientSecretKey is the key of the client secret in Argo CD's own Secret.
	clientSecretKey = "oidc.clientSecret"
	// groupPolicies is the key of our policies in Argo CD's RBAC settings. Argo CD
	// reads every policy.*.csv beside policy.csv, which is the claim's own.
	groupPolicies = "policy.virtualargocd.csv"
)

// resolve sets the values for signing on.
func resolve(of part.Candidate) error {
	p, argocd := of.Decision, of.ArgoCD
	spec := of.Spec.SSO
	if spec == nil || spec.OIDC == nil && !spec.DisableAdmin {
		return nil
	}
	p.SSO.On = true
	own := values.Values{}
	if spec.DisableAdmin {
		values.Insert(own, "false", "configs", "cm", "admin.enabled")
	}
	if spec.OIDC != nil {
		if err := setOIDC(of, *spec.OIDC, own); err != nil {
			return err
		}
	}
	rules := []values.Rule{values.Be(true, "configs", "cm", "create")}
	for _, path := range values.Leaves(own) {
		is, _ := values.Lookup(own, path...)
		rules = append(rules, values.Be(is, path...))
	}
	if err := argocd.Reserve(values.Claim, "spec.sso", rules...); err != nil {
		return err
	}
	p.ArgoCD.Values = values.Merge(p.ArgoCD.Values, own)
	return nil
}

// setOIDC sets the values for an OpenID Connect provider.
func setOIDC(of part.Candidate, o v1alpha1.OIDCSpec, own values.Values) error {
	p, s, argocd := of.Decision, of.Sensitive, of.ArgoCD
	if err := checkOIDC(o); err != nil {
		return err
	}
	p.SSO.Provider = cmp.Or(o.Name, "SSO")
	path := []string{"configs", "secret", "extra", clientSecretKey}
	if err := argocd.Reserve(values.Input, ofOIDC, values.Not(path...)); err != nil {
		return err
	}
	if err := argocd.Reserve(values.Claim, ofOIDC, values.Be(true, "configs", "secret", "createSecret"), values.Be(true, "configs", "rbac", "create")); err != nil {
		return err
	}
	secret := credentials.Read(of.Given, o.ClientSecretRef.Name)
	key := cmp.Or(o.ClientSecretRef.Key, "clientSecret")
	value := secret.Need(key, "write the client secret that the provider has for this Argo CD")
	c := s.Add(tenant.Connection{Name: o.ClientSecretRef.Name}, secret.Problem, value, path...)
	p.SSO.ClientSecret = &c

	if policy := groupPolicy(o); policy != "" {
		values.Insert(own, policy, "configs", "rbac", groupPolicies)
	}
	if _, there := values.Lookup(s.Values, path...); !there {
		// Without the client secret, logging in would only lead to an error.
		return nil
	}
	config := map[string]any{
		"name": p.SSO.Provider, "issuer": o.Issuer, "clientID": o.ClientID, "clientSecret": "$" + clientSecretKey,
		"requestedScopes": o.Scopes,
	}
	if len(o.Scopes) == 0 {
		config["requestedScopes"] = []string{"openid", "profile", "email", "groups"}
	}
	if o.RootCA != "" {
		config["rootCA"] = o.RootCA
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("%s: cannot be written as YAML: %w", ofOIDC, err)
	}
	values.Insert(own, string(text), "configs", "cm", "oidc.config")
	return nil
}

func checkOIDC(o v1alpha1.OIDCSpec) error {
	switch {
	case !credentials.APIServerURL.MatchString(o.Issuer):
		return fmt.Errorf("%s.issuer: %q is not the URL of a provider: write one such as https://id.example.org/realms/acme", ofOIDC, o.Issuer)
	case o.ClientID == "" || strings.HasPrefix(o.ClientID, "$"):
		return fmt.Errorf("%s.clientID: %q is not an id: write the one that the provider has for this Argo CD", ofOIDC, o.ClientID)
	case len(o.Scopes) > 0 && !slices.Contains(o.Scopes, "openid"):
		return fmt.Errorf("%s.scopes: openid is missing: write it, too", ofOIDC)
	case strings.HasPrefix(o.Name, "$"):
		return fmt.Errorf("%s.name: %q begins with $, which Argo CD takes for the name of a secret: write another", ofOIDC, o.Name)
	case o.RootCA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(o.RootCA)):
		return fmt.Errorf("%s.rootCA: is not a PEM certificate: write one that begins with -----BEGIN CERTIFICATE-----", ofOIDC)
	}
	for _, list := range []struct {
		field string
		texts []string
	}{{"scopes", o.Scopes}, {"adminGroups", o.AdminGroups}, {"readOnlyGroups", o.ReadOnlyGroups}} {
		for _, text := range list.texts {
			if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n") || strings.HasPrefix(text, "$") {
				return fmt.Errorf("%s.%s: %q can't be used: write text of one line that doesn't begin with $", ofOIDC, list.field, text)
			}
		}
	}
	return credentials.CheckSecretRef(ofOIDC+".clientSecretRef", v1alpha1.SecretReference{Name: o.ClientSecretRef.Name})
}

// groupPolicy gives groups their roles.
func groupPolicy(o v1alpha1.OIDCSpec) string {
	b := &strings.Builder{}
	w := csv.NewWriter(b)
	for _, g := range []struct {
		role   string
		groups []string
	}{{"role:admin", o.AdminGroups}, {"role:readonly", o.ReadOnlyGroups}} {
		for _, group := range g.groups {
			// Writing to memory can't fail.
			_ = w.Write([]string{"g", group, g.role})
		}
	}
	w.Flush()
	return b.String()
}

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	release, secret := t.Composed(tenant.ArgoCDRelease), t.SSO.ClientSecret
	switch {
	case secret != nil && secret.State != v1alpha1.StateConnected:
		return is.No(string(secret.State), "Client secret", secret.Message)
	case !release.Exists() || !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "Signing on waits for Argo CD", "")
	case !release.Current():
		return is.No(v1alpha1.ReasonInstalling, "Rolling out how people sign on", "")
	case t.SSO.Provider == "":
		return is.Yes("The local user admin is switched off")
	}
	return is.Yes("People sign on with " + t.SSO.Provider + "; its redirect URL is " + tenant.URL(t.Decision) + "/auth/callback")
}
