package connectors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
)

// ignored refuses what Dex has a field for, and does nothing with beside the other fields: restrictions, without which more people may sign on
// than was meant (Dex 2.45, connector/*).
func ignored(at, name string, config map[string]any) error {
	var found []error
	refuse := func(is bool, field, format string, args ...any) {
		if key, v := Get(config, field); is && !isEmpty(v) {
			found = append(found, fmt.Errorf("%s.%s: "+format, append([]any{at, key}, args...)...))
		}
	}
	switch name {
	case "authproxy":
		found = append(found, fmt.Errorf("%s: Dex believes the header X-Remote-User of anybody who calls Argo CD, so a connector of type authproxy lets everybody sign on as anybody: use another type", at))
	case "google":
		refuse(!givesGroups(name, config), "groups", "Dex ignores it, and lets everybody sign on, without domainToAdminEmail: write that, too")
	case "microsoft":
		_, tenant := Get(config, "tenant")
		refuse(!givesGroups(name, config), "groups", "Dex ignores it, and lets everybody sign on, where tenant is %q: write the ID of your tenant in tenant", tenant)
	case "oidc":
		_, groups := Get(config, "insecureEnableGroups")
		refuse(groups != true, "allowedGroups", "Dex ignores it, and lets everybody sign on, without insecureEnableGroups: true: write that, too")
		refuse(true, "hostedDomains", "Dex doesn't start with it in a connector of type oidc any more: write one of type google")
	}
	return mistakes.Join(found...)
}

// personal are tenants of Microsoft's that are none of a company, of whose members Dex reads no groups.
var personal = []any{nil, "", "common", "consumers", "organizations"}

// givesGroups reports whether a connector of Dex gives Argo CD groups of those who sign on. Of a type that isn't known, it may.
func givesGroups(name string, config map[string]any) bool {
	has := func(field string, below ...string) bool {
		_, v := Get(config, field)
		for _, key := range below {
			of, _ := v.(map[string]any)
			_, v = Get(of, key)
		}
		return !isEmpty(v) && v != false
	}
	switch name {
	case "github":
		return has("orgs") || has("org") || has("loadAllGroups")
	case "gitea":
		return has("orgs") || has("loadAllGroups")
	case "google":
		return has("domainToAdminEmail") || has("adminEmail")
	case "ldap":
		return has("groupSearch", "baseDN")
	case "linkedin", "mockPassword":
		return false
	case "microsoft":
		_, tenant := Get(config, "tenant")
		return !slices.Contains(personal, tenant)
	case "oidc":
		return has("insecureEnableGroups") || has("claimModifications", "newGroupFromClaims")
	case "saml", "samlExperimental":
		return has("groupsAttr")
	}
	return true
}

// forGroups is what a connector needs to give groups.
var forGroups = map[string]string{
	"github": "orgs, or loadAllGroups: true", "gitea": "orgs, or loadAllGroups: true", "google": "domainToAdminEmail, and serviceAccountFilePath", "ldap": "groupSearch",
	"microsoft": "tenant, with the ID of your tenant", "oidc": "insecureEnableGroups: true", "saml": "groupsAttr", "samlExperimental": "groupsAttr",
}

// LacksGroups returns what a connector needs to give groups, which it doesn't give. It reports false for one that may give some.
func LacksGroups(name string, config map[string]any) (instead string, lacks bool) {
	if givesGroups(name, config) {
		return "", false
	}
	if of := forGroups[name]; of != "" {
		return "for a connector of type " + name + ", write " + of, true
	}
	return "a connector of type " + name + " has none", true
}

// NotAGroup returns what groups of a connector are like, if it never gives Argo CD a certain one; "" for one that it may give. GitHub's teams are those
// of the organizations (Dex 2.45, connector/github, groupsForOrgs): the names of these aren't groups then.
func NotAGroup(name string, config map[string]any, group string) string {
	_, v := Get(config, "orgs")
	list, _ := v.([]any)
	if name != "github" || len(list) == 0 {
		return ""
	}
	var all []string
	for _, item := range list {
		of, _ := item.(map[string]any)
		_, v := Get(of, "name")
		org, _ := v.(string)
		_, v = Get(of, "teams")
		teams, _ := v.([]any)
		if len(teams) == 0 {
			teams = []any{"<team>"}
		}
		for _, team := range teams {
			is := fmt.Sprintf("%s:%v", org, team)
			begin, open := strings.CutSuffix(is, "<team>")
			// What refers to a secret may be anything.
			if is == group || open && strings.HasPrefix(group, begin) && group != begin || strings.HasPrefix(org, "$") || strings.Contains(is, ":$") {
				return ""
			}
			all = append(all, is)
		}
	}
	return strings.Join(all, " or ")
}

// isEmpty reports whether a value is the same as none.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
