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
	SkipAudienceCheckWhenTokenHasNoAudience *bool                            `json:"skipAudienceCheckWhenTokenHasNoAudience,omitempty"`
}

// setOIDC sets the values for an OpenID Connect provider.
func setOIDC(of part.Candidate, o v1alpha1.OIDCSpec, own values.Values) error {
	p, s := of.Decision, of.Sensitive
	if err := checkOIDC(o); err != nil {
		return err
	}
	p.SSO.Provider, p.SSO.Callback = cmp.Or(o.Name, "SSO"), "/auth/callback"
	if err := setGroups(of, ofOIDC, o.AdminGroups, o.ReadOnlyGroups, own); err != nil {
		return err
	}
	config := oidcConfig{
		Name: p.SSO.Provider, Issuer: o.Issuer, ClientID: o.ClientID, CLIClientID: o.CLIClientID, EnablePKCEAuthentication: o.EnablePKCEAuthentication,
		RequestedScopes: o.Scopes, RequestedIDTokenClaims: o.RequestedIDTokenClaims,
		EnableUserInfoGroups: o.EnableUserInfoGroups, UserInfoPath: o.UserInfoPath, UserInfoBaseURL: o.UserInfoBaseURL, UserInfoCacheExpiration: o.UserInfoCacheExpiration,
		LogoutURL: o.LogoutURL, RootCA: o.RootCA, DomainHint: o.DomainHint, RefreshTokenThreshold: o.RefreshTokenThreshold,
		AllowedAudiences: o.AllowedAudiences, SkipAudienceCheckWhenTokenHasNoAudience: o.SkipAudienceCheckWhenTokenHasNoAudience,
	}
	setDefaults(&config)
	if ref := o.ClientSecretRef; ref != nil {
		path, err := of.ReserveSecretKey(ofOIDC, clientSecretKey)
		if err != nil {
			return err
		}
		secret := credentials.Read(of.Given, ref.Name)
		value := secret.Need(cmp.Or(ref.Key, "clientSecret"), "write the client secret that the provider has for this Argo CD")
		p.SSO.Secrets = append(p.SSO.Secrets, s.Add(tenant.Connection{Kind: "Client secret", Name: ref.Name}, secret.Problem, value, path...))
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
	microsoft := isOf(c.Issuer, "login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "login.chinacloudapi.cn", "sts.windows.net", ".b2clogin.com", ".ciamlogin.com")
	if len(c.RequestedScopes) == 0 {
		c.RequestedScopes = []string{"openid", "profile", "email"}
		if !microsoft && !isOf(c.Issuer, "accounts.google.com", "gitlab.com", ".amazonaws.com") {
			c.RequestedScopes = append(c.RequestedScopes, "groups")
		}
		if microsoft && len(c.RequestedIDTokenClaims) == 0 {
			c.RequestedIDTokenClaims = map[string]v1alpha1.IDTokenClaim{"groups": {Essential: true}}
		}
	}
}

// isOf reports whether an issuer has one of the hostnames, or one below those that begin with a dot.
func isOf(issuer string, hostnames ...string) bool {
	u, err := url.Parse(issuer)
	return err == nil && slices.ContainsFunc(hostnames, func(h string) bool {
		return strings.EqualFold(u.Hostname(), h) || strings.HasPrefix(h, ".") && strings.HasSuffix(strings.ToLower(u.Hostname()), h)
	})
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
	case ptr.Deref(o.Azure, v1alpha1.AzureOIDCSpec{}).UseWorkloadIdentity:
		return fmt.Errorf("%s.azure.useWorkloadIdentity: is not possible: a pod of a virtual cluster has no identity in Azure: write clientSecretRef", ofOIDC)
	case o.ClientSecretRef == nil && !o.EnablePKCEAuthentication:
		return fmt.Errorf("%s.clientSecretRef: is missing: write the Secret with the client secret, or enablePKCEAuthentication: true for a client without one", ofOIDC)
	case o.EnableUserInfoGroups && o.UserInfoPath == "":
		return fmt.Errorf("%s.userInfoPath: is missing beside enableUserInfoGroups: write the path of the provider's userinfo endpoint, such as /userinfo", ofOIDC)
	case o.UserInfoPath != "" && !strings.HasPrefix(o.UserInfoPath, "/"):
		return fmt.Errorf("%s.userInfoPath: %q is not a path: write one such as /userinfo", ofOIDC, o.UserInfoPath)
	}
	for _, f := range []struct {
		field string
		texts []string
	}{
		{"scopes", o.Scopes}, {"adminGroups", o.AdminGroups}, {"readOnlyGroups", o.ReadOnlyGroups}, {"allowedAudiences", o.AllowedAudiences},
		{"cliClientID", set(o.CLIClientID)}, {"domainHint", set(o.DomainHint)}, {"logoutURL", set(o.LogoutURL)}, {"userInfoPath", set(o.UserInfoPath)},
	} {
		if err := checkTexts(ofOIDC+"."+f.field, f.texts); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.RequestedIDTokenClaims)) {
		c := o.RequestedIDTokenClaims[name]
		if err := checkTexts(ofOIDC+".requestedIDTokenClaims."+name, slices.Concat(set(c.Value), c.Values)); err != nil {
			return err
		}
	}
	for _, f := range []struct{ field, text string }{{"logoutURL", o.LogoutURL}, {"userInfoBaseURL", o.UserInfoBaseURL}} {
		// Braces are those of Argo CD's own templates.
		if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(f.text)); f.text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			return fmt.Errorf("%s.%s: %q is not a URL: write one such as https://id.example.org/logout", ofOIDC, f.field, f.text)
		}
	}
	for _, f := range []struct{ field, text string }{{"userInfoCacheExpiration", o.UserInfoCacheExpiration}, {"refreshTokenThreshold", o.RefreshTokenThreshold}} {
		if _, err := time.ParseDuration(f.text); f.text != "" && err != nil {
			return fmt.Errorf("%s.%s: %q is not a time: write one such as 5m", ofOIDC, f.field, f.text)
		}
	}
	if o.ClientSecretRef == nil {
		return nil
	}
	return credentials.CheckSecretRef(ofOIDC+".clientSecretRef", v1alpha1.SecretReference{Name: o.ClientSecretRef.Name})
}

// set is a list of a text that is there.
func set(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
