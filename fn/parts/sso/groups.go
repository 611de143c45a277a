package sso

import (
	"encoding/csv"
	"fmt"
	"strings"

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
	for _, text := range texts {
		if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n") || strings.HasPrefix(text, "$") {
			return fmt.Errorf("%s: %q can't be used: write text of one line that doesn't begin with $", field, text)
		}
	}
	return nil
}
