package sso

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// setGroups gives groups their roles.
func setGroups(of part.Candidate, field string, admins, readers []string, own values.Values) error {
	if err := of.ArgoCD.Reserve(values.Claim, field, values.Be(true, "configs", "rbac", "create")); err != nil {
		return err
	}
	if policy := groupPolicy(admins, readers); policy != "" {
		values.Insert(own, policy, "configs", "rbac", groupPolicies)
	}
	return nil
}

// checkScopes refuses groups that have roles, where Argo CD is told to look elsewhere for what people are.
func checkScopes(of part.Candidate, field string, admins, readers []string) error {
	at := of.ArgoCD.Last("configs", "rbac", "scopes")
	scopes, _ := at.Value.(string)
	if len(admins)+len(readers) == 0 || strings.TrimSpace(scopes) == "" || strings.Contains(scopes, "groups") {
		return nil
	}
	return at.Field.Errorf("is %q, so that Argo CD doesn't look at groups, and %s has some with roles: write groups there, too, such as [groups, email]", scopes, field)
}

func groupPolicy(admins, readers []string) string {
	b := &strings.Builder{}
	w := csv.NewWriter(b)
	for _, g := range []struct {
		role   string
		groups []string
	}{{"role:admin", admins}, {"role:readonly", readers}} {
		for _, group := range g.groups {
			// Writing to memory can't fail.
			_ = w.Write([]string{"g", group, g.role})
		}
	}
	w.Flush()
	return b.String()
}

// checkTexts refuses texts that are none of one line, or that Argo CD takes for the name of a secret.
func checkTexts(field string, texts []string) error {
	var found []error
	for _, text := range texts {
		if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n") || strings.HasPrefix(text, "$") {
			found = append(found, fmt.Errorf("%s: %q can't be used: write text of one line that doesn't begin with $", field, text))
		}
	}
	return mistakes.Join(found...)
}

// checkSpaces refuses space around texts: it would be part of them, and nobody sees it.
func checkSpaces(field string, texts ...string) error {
	var found []error
	for _, text := range texts {
		if is := strings.TrimSpace(text); is != "" && is != text {
			found = append(found, fmt.Errorf("%s: %q has space around it: write it without", field, text))
		}
	}
	return mistakes.Join(found...)
}

// checkGroups refuses what is no group: Argo CD compares groups as they are, and gives nobody a role for one that is a pattern.
func checkGroups(field string, admins, readers []string) error {
	var found []error
	for _, of := range []struct {
		field  string
		groups []string
	}{{field + ".adminGroups", admins}, {field + ".readOnlyGroups", readers}} {
		found = append(found, checkSpaces(of.field, of.groups...))
		for _, group := range of.groups {
			switch {
			case group == "*":
				found = append(found, fmt.Errorf(`%s: "*" is no group, and not everybody either: write groups; spec.argocd.values.configs.rbac."policy.default" is the role of everybody`, of.field))
			case strings.HasPrefix(group, "role:"):
				found = append(found, fmt.Errorf("%s: %q is a role: write the groups that have it", of.field, group))
			}
		}
	}
	return mistakes.Join(found...)
}
