package sso

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const (
	ofOIDC = "spec.sso.oidc"
	// clientSecretKey is the key of the client secret in Argo CD's own Secret.
	clientSecretKey = "oidc.clientSecret"
)

// oidcConfig is Argo CD's oidc.config (3.6, util/settings/settings.go).
type oidcConfig struct {
	Name                                    string                           `json:"name"`
	Issuer                                  string                           `json:"issuer"`
	ClientID                                string                           `json:"clientID"`
	ClientSecret                            string                           `json:"clientSecret,omitempty"`
	CLIClientID                             string                           `json:"cliClientID,omitempty"`
	EnablePKCEAuthentication                bool                             `json:"enablePKCEAuthentication,omitempty"`
	RequestedScopes                         []string                         `json:"requestedScopes"`
	RequestedIDTokenClaims                  map[string]v1alpha1.IDTokenClaim `json:"requestedIDTokenClaims,omitempty"`
	EnableUserInfoGroups                    bool                             `json:"enableUserInfoGroups,omitempty"`
	UserInfoPath                            string                           `json:"userInfoPath,omitempty"`
	UserInfoBaseURL                         string                           `json:"userInfoBaseURL,omitempty"`
	UserInfoCacheExpiration                 string                           `json:"userInfoCacheExpiration,omitempty"`
	LogoutURL                               string                           `json:"logoutURL,omitempty"`
	RootCA                                  string                           `json:"rootCA,omitempty"`
	DomainHint                              string                           `json:"domainHint,omitempty"`
	RefreshTokenThreshold                   string                           `json:"refreshTokenThreshold,omitempty"`
	AllowedAudiences                        []string                         `json:"allowedAudiences,omitempty"`
	Azure                                   *v1alpha1.AzureOIDCSpec          `json:"azure,omitempty"`
	SkipAudienceCheckWhenTokenHasNoAudience *bool                            `json:"skipAudienceCheckWhenTokenHasNoAudience,omitempty"`
}

// setOIDC sets the values for an OpenID Connect provider.
func setOIDC(of part.Candidate, o v1alpha1.OIDCSpec, own values.Values) error {
	d, s := of.Decision, of.Sensitive
	var path []string
	found := []error{checkOIDC(inSpec, o), setGroups(of, ofOIDC, o.AdminGroups, o.ReadOnlyGroups, own), unlessAccepted(of, func() error {
		return mistakes.Join(checkEffect(inSpec, o), checkScopes(of, ofOIDC, o.AdminGroups, o.ReadOnlyGroups), checkRoles(of, o))
	})}
	if o.ClientSecretRef != nil {
		var err error
		path, err = of.ReserveSecretKey(ofOIDC, clientSecretKey)
		found = append(found, err)
	}
	if err := mistakes.Join(found...); err != nil {
		return err
	}
	d.SSO.Provider, d.SSO.Callback = cmp.Or(o.Name, "SSO"), "/auth/callback"
	for _, f := range []struct{ field, text, since string }{
		{"domainHint", o.DomainHint, "2.12"}, {"refreshTokenThreshold", o.RefreshTokenThreshold, "3.3"}, {"userInfoBaseURL", o.UserInfoBaseURL, "3.5"},
	} {
		if why := of.Ignored(f.since); f.text != "" && why != "" {
			d.NoEffect = append(d.NoEffect, ofOIDC+"."+f.field+": "+why)
		}
	}
	config := oidcConfig{
		Name: d.SSO.Provider, Issuer: o.Issuer, ClientID: o.ClientID, CLIClientID: o.CLIClientID, EnablePKCEAuthentication: o.EnablePKCEAuthentication,
		RequestedScopes: o.Scopes, RequestedIDTokenClaims: o.RequestedIDTokenClaims,
		EnableUserInfoGroups: o.EnableUserInfoGroups, UserInfoPath: o.UserInfoPath, UserInfoBaseURL: o.UserInfoBaseURL, UserInfoCacheExpiration: o.UserInfoCacheExpiration,
		LogoutURL: o.LogoutURL, RootCA: o.RootCA, DomainHint: o.DomainHint, RefreshTokenThreshold: o.RefreshTokenThreshold,
		AllowedAudiences: o.AllowedAudiences, SkipAudienceCheckWhenTokenHasNoAudience: o.SkipAudienceCheckWhenTokenHasNoAudience,
	}
	setDefaults(&config)
	d.SSO.Notes = notes(inSpec, o, config)
	if ref := o.ClientSecretRef; ref != nil {
		secret := credentials.Read(of.Given, ref.Name)
		value := secret.Need(cmp.Or(ref.Key, "clientSecret"), "write the client secret that the provider has for this Argo CD")
		d.SSO.Secrets = append(d.SSO.Secrets, s.Add(tenant.Connection{Kind: "Client secret", Name: ref.Name}, secret.Problem, value, path...))
		if _, there := values.Lookup(s.Values, path...); !there {
			// Without the client secret, logging in would only lead to an error.
			return nil
		}
		config.ClientSecret = "$" + clientSecretKey
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("%s: cannot be written as YAML: %w", ofOIDC, err)
	}
	values.Insert(own, string(text), "configs", "cm", "oidc.config")
	return nil
}

// setDefaults sets scopes and claims that the provider knows. Those that know no scope groups refuse it, and nobody could sign on.
func setDefaults(c *oidcConfig) {
	p := providerOf(c.Issuer)
	if len(c.RequestedScopes) == 0 {
		c.RequestedScopes = []string{"openid", "profile", "email"}
		if p == nil && !seemsGitLab(c.Issuer) {
			c.RequestedScopes = append(c.RequestedScopes, "groups")
		}
		if p == microsoft && len(c.RequestedIDTokenClaims) == 0 {
			c.RequestedIDTokenClaims = map[string]v1alpha1.IDTokenClaim{"groups": {Essential: true}}
		}
	}
}

// A form is where a provider is written.
type form struct {
	// at is the path of its fields; scopes and secret are what the scopes and the client secret are called there.
	at, scopes, secret string
}

var (
	inSpec   = form{ofOIDC, "scopes", "clientSecretRef"}
	inValues = form{valuesOIDC, "requestedScopes", "clientSecret"}
)

// refuser returns what adds a mistake in a field, if it is one.
func (f form) refuser(found *[]error) func(is bool, field, format string, args ...any) {
	return func(is bool, field, format string, args ...any) {
		if is {
			*found = append(*found, fmt.Errorf("%s.%s: %w", f.at, field, fmt.Errorf(format, args...)))
		}
	}
}

func checkOIDC(at form, o v1alpha1.OIDCSpec) error {
	var found []error
	refuse := at.refuser(&found)
	refuse(!credentials.APIServerURL.MatchString(o.Issuer), "issuer", "%q is not the URL of a provider: write one such as https://id.example.org/realms/acme", o.Issuer)
	refuse(o.ClientID == "" || strings.HasPrefix(o.ClientID, "$"), "clientID", "%q is not an id: write the one that the provider has for this Argo CD", o.ClientID)
	refuse(len(o.Scopes) > 0 && !slices.Contains(o.Scopes, "openid"), at.scopes, "openid is missing: write it, too")
	refuse(strings.HasPrefix(o.Name, "$"), "name", "%q begins with $, which Argo CD takes for the name of a secret: write another", o.Name)
	refuse(o.RootCA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(o.RootCA)), "rootCA", "is not a PEM certificate: write one that begins with -----BEGIN CERTIFICATE-----")
	refuse(ptr.Deref(o.Azure, v1alpha1.AzureOIDCSpec{}).UseWorkloadIdentity, "azure.useWorkloadIdentity", "is not possible: a pod of a virtual cluster has no identity in Azure: write %s", at.secret)
	refuse(o.ClientSecretRef == nil && !o.EnablePKCEAuthentication, at.secret, "is missing: write the Secret with the client secret, or enablePKCEAuthentication: true for a client without one")
	refuse(o.EnableUserInfoGroups && o.UserInfoPath == "", "userInfoPath", "is missing beside enableUserInfoGroups: write the path of the provider's userinfo endpoint, such as /userinfo")
	refuse(o.UserInfoPath != "" && !strings.HasPrefix(o.UserInfoPath, "/"), "userInfoPath", "%q is not a path: write one such as /userinfo", o.UserInfoPath)
	for _, f := range []struct {
		field string
		texts []string
	}{
		{at.scopes, o.Scopes}, {"adminGroups", o.AdminGroups}, {"readOnlyGroups", o.ReadOnlyGroups}, {"allowedAudiences", o.AllowedAudiences},
		{"cliClientID", set(o.CLIClientID)}, {"domainHint", set(o.DomainHint)}, {"logoutURL", set(o.LogoutURL)}, {"userInfoPath", set(o.UserInfoPath)},
	} {
		found = append(found, checkTexts(at.at+"."+f.field, f.texts))
	}
	for _, name := range slices.Sorted(maps.Keys(o.RequestedIDTokenClaims)) {
		c := o.RequestedIDTokenClaims[name]
		found = append(found, checkTexts(at.at+".requestedIDTokenClaims."+name, slices.Concat(set(c.Value), c.Values)))
	}
	for _, f := range []struct{ field, text string }{{"logoutURL", o.LogoutURL}, {"userInfoBaseURL", o.UserInfoBaseURL}} {
		// Braces are those of Argo CD's own templates.
		u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(f.text))
		refuse(f.text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == ""), f.field, "%q is not a URL: write one such as https://id.example.org/logout", f.text)
	}
	for _, f := range []struct{ field, text string }{{"userInfoCacheExpiration", o.UserInfoCacheExpiration}, {"refreshTokenThreshold", o.RefreshTokenThreshold}} {
		_, err := time.ParseDuration(f.text)
		refuse(f.text != "" && err != nil, f.field, "%q is not a time: write one such as 5m", f.text)
	}
	if o.ClientSecretRef != nil && at == inSpec {
		found = append(found, credentials.CheckSecretRef(ofOIDC+".clientSecretRef", v1alpha1.SecretReference{Name: o.ClientSecretRef.Name}))
	}
	return mistakes.Join(found...)
}

// discovery is where a provider has its discovery document, below its URL.
const discovery = "/.well-known/openid-configuration"

// checkEffect refuses what is well formed, and can't do what it is written for.
func checkEffect(at form, o v1alpha1.OIDCSpec) error {
	var found []error
	refuse := at.refuser(&found)
	issuer, ofDocument := strings.CutSuffix(o.Issuer, discovery)
	refuse(ofDocument, "issuer", "%q is the URL of the provider's discovery document: write %s", o.Issuer, issuer)
	p := providerOf(o.Issuer)
	refuse(slices.Contains(o.Scopes, "groups") && p != nil, at.scopes, "the provider knows no scope groups and would sign nobody on: leave it out")
	if !o.EnableUserInfoGroups {
		for _, f := range []struct{ field, text string }{{"userInfoPath", o.UserInfoPath}, {"userInfoBaseURL", o.UserInfoBaseURL}, {"userInfoCacheExpiration", o.UserInfoCacheExpiration}} {
			refuse(f.text != "", f.field, "has no effect without enableUserInfoGroups: true: write that, too, or leave it out")
		}
	}
	for _, f := range []struct{ field, text string }{{"userInfoCacheExpiration", o.UserInfoCacheExpiration}, {"refreshTokenThreshold", o.RefreshTokenThreshold}} {
		refuse(strings.HasPrefix(f.text, "-"), f.field, "%q is in the past: write a time such as 5m", f.text)
	}
	for _, f := range []struct {
		field string
		texts []string
	}{{"clientID", set(o.ClientID)}, {"cliClientID", set(o.CLIClientID)}, {at.scopes, o.Scopes}, {"allowedAudiences", o.AllowedAudiences}} {
		found = append(found, checkSpaces(at.at+"."+f.field, f.texts...))
	}
	for _, name := range []string{"token", "logoutRedirectURL"} {
		rest := strings.ReplaceAll(o.LogoutURL, "{{"+name+"}}", "")
		written := strings.ToLower(strings.ReplaceAll(rest, " ", ""))
		refuse(strings.Contains(written, "{"+strings.ToLower(name)+"}"), "logoutURL", "%.200q has %s written otherwise than Argo CD replaces it: write {{%[2]s}}", o.LogoutURL, name)
	}
	return mistakes.Join(append(found, checkGroups(at.at, o.AdminGroups, o.ReadOnlyGroups))...)
}

// set is a list of a text that is there.
func set(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
