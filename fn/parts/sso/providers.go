package sso

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
)

// A provider is an identity provider that has no scope groups: it refuses who asks for it.
type provider struct {
	name string
	// hostnames of issuers, or what is below those that begin with a dot.
	hostnames []string
	// hasGroups reports whether it may write the claim groups into ID tokens.
	hasGroups bool
	// userInfo is the path of a userinfo endpoint that says groups; "" for none.
	userInfo string
	// instead is what to write for roles of groups, if the claim groups never comes.
	instead string
}

const byEmail = `, or give roles to email addresses, with spec.argocd.values.configs.rbac.scopes: "[groups, email]"`

var (
	microsoft = &provider{name: "Microsoft Entra ID", hasGroups: true, hostnames: []string{
		"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "login.chinacloudapi.cn", "sts.windows.net", ".b2clogin.com", ".ciamlogin.com",
	}}
	gitLab = &provider{name: "GitLab", userInfo: "/oauth/userinfo", hostnames: []string{"gitlab.com"}, instead: "write enableUserInfoGroups: true and userInfoPath: /oauth/userinfo"}
	// See Argo CD's pages about user management, GitLab's integration/openid_connect_provider, and argoproj/argo-cd#1195, #1471.
	providers = []*provider{
		microsoft, gitLab,
		{name: "Google", hostnames: []string{"accounts.google.com"}, instead: "write spec.sso.dex with a connector of type google" + byEmail},
		{name: "Amazon Cognito", hostnames: []string{".amazonaws.com"}, instead: `write spec.argocd.values.configs.rbac.scopes: "[cognito:groups]"`},
		{name: "LinkedIn", hostnames: []string{"www.linkedin.com"}, instead: "write the groups of another provider" + byEmail},
		{name: "Slack", hostnames: []string{"slack.com"}, instead: "write the groups of another provider" + byEmail},
		{name: "Apple", hostnames: []string{"appleid.apple.com"}, instead: "write the groups of another provider" + byEmail},
	}
)

// providerOf returns the provider with an issuer; nil for one that isn't known.
func providerOf(issuer string) *provider {
	for _, p := range providers {
		if isOf(issuer, p.hostnames...) {
			return p
		}
	}
	return nil
}

// seemsGitLab reports whether an issuer is probably a GitLab of somebody's own: it has no path, and a hostname such as gitlab.example.org.
func seemsGitLab(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && strings.Trim(u.Path, "/") == "" && strings.HasPrefix(strings.ToLower(u.Hostname()), "gitlab.") && providerOf(issuer) == nil
}

// isOf reports whether an issuer has one of the hostnames, or one below those that begin with a dot.
func isOf(issuer string, hostnames ...string) bool {
	u, err := url.Parse(issuer)
	return err == nil && slices.ContainsFunc(hostnames, func(h string) bool {
		return strings.EqualFold(u.Hostname(), h) || strings.HasPrefix(h, ".") && strings.HasSuffix(strings.ToLower(u.Hostname()), h)
	})
}

// looksOnlyAtGroups reports whether Argo CD compares roles with the claim groups, and with no other.
func looksOnlyAtGroups(of part.Candidate) bool {
	scopes, _ := of.ArgoCD.Last("configs", "rbac", "scopes").Value.(string)
	words := strings.FieldsFunc(scopes, func(r rune) bool { return strings.ContainsRune("[],'\" \r\n\t", r) })
	return !slices.ContainsFunc(words, func(word string) bool { return word != "groups" && word != "-" })
}

// checkRoles refuses roles of groups where the provider never tells Argo CD groups.
func checkRoles(of part.Candidate, o v1alpha1.OIDCSpec) error {
	p := providerOf(o.Issuer)
	if p == nil || p.hasGroups || o.EnableUserInfoGroups && p.userInfo != "" || !looksOnlyAtGroups(of) || of.Unassigned {
		return nil
	}
	if field := withRoles(o.AdminGroups, o.ReadOnlyGroups); field != "" {
		return fmt.Errorf(ofOIDC+".%s: nobody would have these roles, because the ID tokens of %s have no claim groups: %s", field, p.name, p.instead)
	}
	return nil
}

// withRoles returns the first field that gives groups a role; "" for none.
func withRoles(adminGroups, readOnlyGroups []string) string {
	switch {
	case len(adminGroups) > 0:
		return "adminGroups"
	case len(readOnlyGroups) > 0:
		return "readOnlyGroups"
	}
	return ""
}

// objectID is how Entra ID writes a group, unless it is told otherwise.
var objectID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// notes are what may keep people from signing on, or from having a role, and can be seen nowhere. c is the configuration that Argo CD gets.
func notes(at form, o v1alpha1.OIDCSpec, c oidcConfig) []string {
	var out []string
	groups, p := slices.Concat(o.AdminGroups, o.ReadOnlyGroups), providerOf(o.Issuer)
	named := slices.IndexFunc(groups, func(g string) bool { return !objectID.MatchString(g) })
	switch {
	case p == microsoft && named >= 0:
		out = append(out, fmt.Sprintf("%s sends the object IDs of groups unless its token configuration says otherwise, and %q is none", p.name, groups[named]))
	case seemsGitLab(o.Issuer) && len(o.Scopes) == 0 && !slices.Contains(c.RequestedScopes, "groups"):
		out = append(out, "it doesn't ask for the scope groups, which GitLab refuses; another provider may need it in "+at.at+"."+at.scopes)
	case len(o.Scopes) == 0 && slices.Contains(c.RequestedScopes, "groups"):
		out = append(out, "it asks for the scope groups: if signing on fails with invalid_scope, add that scope at the provider, or write "+at.at+"."+at.scopes+" without it")
	}
	if seemsGitLab(o.Issuer) && len(groups) > 0 && !o.EnableUserInfoGroups {
		out = append(out, "GitLab tells groups only at its userinfo endpoint: "+gitLab.instead)
	}
	return out
}
