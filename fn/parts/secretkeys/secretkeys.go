// Package secretkeys is the part of a claim with keys of Argo CD's own Secret.
package secretkeys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/settings"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

const field = "spec.argocd.secretKeys"

// Part is spec.argocd.secretKeys.
var Part = part.Part{
	Field: field, Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionSecretKeysReady,
	Has:       func(t tenant.Tenant) bool { return len(t.SecretKeys) > 0 },
	Observe: func(t tenant.Tenant, is condition.Of) condition.Condition {
		return argocd.Passed(t, is, t.SecretKeys, "key of argocd-secret")
	},
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, k := range s.ArgoCDSecretKeys {
		names = append(names, k.SecretRef.Name)
	}
	return names
}

// of are the keys of argocd-secret that something else sets, and what to write instead; a key that ends with a dot is a prefix.
var of = []struct{ key, instead string }{
	{"server.secretkey", "Argo CD makes it, and all sessions depend on it"},
	{"admin.", "write spec.argocd.values.configs.secret.argocdServerAdminPassword, or the annotation " + localaccount.RotatePassword},
	{"oidc.clientSecret", "write spec.sso.oidc.clientSecretRef, or another key"},
	{"virtualargocd.", "write another key"},
}

func resolve(c part.Candidate) error {
	seen := map[string]bool{}
	var found []error
	for i, k := range c.Spec.ArgoCDSecretKeys {
		at := fmt.Sprintf("%s[%d]", field, i)
		err := check(at, k)
		accepted := slices.ContainsFunc(c.WasAsked().ArgoCDSecretKeys, func(was v1alpha1.SecretKeySpec) bool { return was.Key == k.Key })
		if message := settings.Unread(k.Key); message != "" && !accepted {
			err = mistakes.Join(err, fmt.Errorf("%s.key: %.80q: %s", at, k.Key, message))
		}
		if seen[k.Key] {
			err = mistakes.Join(err, fmt.Errorf("%s.key: %q is the key of another entry, too: leave one of the two out", at, k.Key))
		}
		seen[k.Key] = true
		path, taken := c.ReserveSecretKey(at, k.Key)
		if err = mistakes.Join(err, taken); err != nil {
			found = append(found, err)
			continue
		}
		secret := credentials.Read(c.Given, k.SecretRef.Name)
		value := secret.Need(cmp.Or(k.SecretKey, k.Key), "write the text that argocd-secret is to have at "+k.Key)
		c.Decision.SecretKeys = append(c.Decision.SecretKeys, c.Sensitive.Add(tenant.Connection{Kind: "Key", Name: k.Key}, secret.Problem, value, path...))
	}
	return mistakes.Join(found...)
}

// check checks an entry as the schema does, and for keys that something else sets.
func check(at string, k v1alpha1.SecretKeySpec) error {
	var found []error
	if len(validation.IsConfigMapKey(k.Key)) > 0 {
		found = append(found, fmt.Errorf("%s.key: %q is not a key of a Secret: write letters, digits, dots, dashes and underscores", at, k.Key))
	}
	if i := slices.IndexFunc(of, func(o struct{ key, instead string }) bool {
		return k.Key == o.key || strings.HasSuffix(o.key, ".") && strings.HasPrefix(k.Key, o.key)
	}); i >= 0 {
		found = append(found, fmt.Errorf("%s.key: %q can't be set here: %s", at, k.Key, of[i].instead))
	}
	if k.SecretKey != "" && len(validation.IsConfigMapKey(k.SecretKey)) > 0 {
		found = append(found, fmt.Errorf("%s.secretKey: %q is not a key of a Secret: write letters, digits, dots, dashes and underscores", at, k.SecretKey))
	}
	return mistakes.Join(append(found, credentials.CheckSecretRef(at, k.SecretRef))...)
}
