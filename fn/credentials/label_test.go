package credentials_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestSecretsOfClaimsAreLabelled: a claim gets nothing of a Secret without the label,
// whichever part names it, and keeps what the Secret gave before.
func TestSecretsOfClaimsAreLabelled(t *testing.T) {
	const ignored = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","credentials":{"label":"Ignored"}}`
	cert, key := crossplanetest.KeyPair()
	const text = "n33dle-in-a-haystack"
	cases := map[string]struct {
		spec, condition string
		// secret is what stands at key.
		key, secret string
		data        map[string]string
	}{
		"Cluster": {`{"clusters":[{"name":"prod","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionClustersConnected, "config", text,
			map[string]string{"server": "https://a.b", "config": `{"bearerToken":"` + text + `"}`}},
		"Repository": {`{"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionRepositoriesConnected, "password", text,
			map[string]string{"username": "u", "password": text}},
		"CredentialTemplate": {`{"credentialTemplates":[{"name":"apps","url":"https://git.example.org","secretRef":{"name":"s"}}]}`, v1alpha1.ConditionRepositoriesConnected, "password", text,
			map[string]string{"username": "u", "password": text}},
		"Certificate": {`{"ingress":{"host":"argocd.example.org","tls":{"secretName":"s"}}}`, v1alpha1.ConditionIngressReady, "tls.key", strings.TrimSpace(key),
			map[string]string{"tls.crt": cert, "tls.key": key}},
		"ClientSecret": {`{"sso":{"oidc":{"issuer":"https://id.example.org","clientID":"a","clientSecretRef":{"name":"s","key":"any"}}}}`, v1alpha1.ConditionSSOReady, "any", text,
			map[string]string{"any": text}},
		"SecretKey": {`{"argocd":{"secretKeys":[{"key":"any","secretRef":{"name":"s"}}]}}`, v1alpha1.ConditionSecretKeysReady, "any", text,
			map[string]string{"any": text}},
		"Dex": {`{"sso":{"dex":{"connectors":[{"type":"ldap","id":"a","name":"A","config":{"host":"ldap.example.org","userSearch":{"baseDN":"ou=people","username":"uid"},"bindPW":"$s:any"}}]}}}`, v1alpha1.ConditionSSOReady, "any", text,
			map[string]string{"any": text}},
	}
	const want = `Secret s in namespace team-a: doesn't have the label virtualargocd.io/credentials: "true", without which a claim can't use it: kubectl -n team-a label secret s virtualargocd.io/credentials=true`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for value, usable := range map[any]bool{nil: false, "false": false, "": false, "True": false, "true": true} {
				e := crossplanetest.New(t, tc.spec, "")
				e.AddSecret("s", "Opaque", tc.data)
				e.LabelSecret("s", value)
				e.Install()
				c := e.Condition(tc.condition)
				_, written := e.Request.GetObserved().GetResources()[tenant.ValuesSecret]
				all := ""
				if written {
					all = fmt.Sprint(crossplanetest.ValuesOf(t, e.Observed(tenant.ValuesSecret)))
				}
				if used := strings.Contains(all, tc.secret) || strings.Contains(all, crossplanetest.Base64(tc.secret)); used != usable {
					t.Errorf("label %v: used: %t", value, used)
				}
				if !usable && (c.GetReason() != v1alpha1.ReasonSecretInvalid || !strings.Contains(c.GetMessage(), want)) {
					t.Errorf("label %v: want SecretInvalid, %q, got %v", value, want, c)
				}
				if usable && c.GetStatus() == fnv1.Status_STATUS_CONDITION_FALSE {
					t.Errorf("label %v: %v", value, c)
				}
			}
			// The label goes, and what the Secret has is changed: what it gave before stays.
			e := crossplanetest.New(t, tc.spec, "")
			e.AddSecret("s", "Opaque", tc.data)
			e.Install()
			used := e.SecretValues()
			changed := maps.Clone(tc.data)
			changed[tc.key] = "changed"
			e.AddSecret("s", "Opaque", changed)
			e.LabelSecret("s", nil)
			e.Reconcile()
			if diff := cmp.Diff(used, e.SecretValues()); diff != "" {
				t.Errorf("the label is gone: the values changed: -want, +got:\n%s", diff)
			}
			if msg := e.Condition(tc.condition).GetMessage(); !strings.Contains(msg, want+"; what it gave before stays in use") {
				t.Errorf("the label is gone: %q", msg)
			}
			// A platform may do without.
			e = crossplanetest.New(t, tc.spec, ignored)
			e.AddSecret("s", "Opaque", tc.data)
			e.LabelSecret("s", nil)
			if e.Install(); e.Condition(tc.condition).GetStatus() == fnv1.Status_STATUS_CONDITION_FALSE {
				t.Errorf("the label is ignored: %v", e.Condition(tc.condition))
			}
		})
	}
}

// TestUnlabelledSecretTellsNothing: what is wrong with a Secret that a claim can't use
// is not told, and neither are its known hosts used.
func TestUnlabelledSecretTellsNothing(t *testing.T) {
	keys, host := crossplanetest.SSHKey()
	for name, data := range map[string]map[string]string{
		"KnownHosts": {"sshPrivateKey": keys[0], "knownHosts": host}, "KeyUnknown": {"no-such-key-n33dle": "x"}, "TooLarge": {"password": strings.Repeat("x", 300<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"repositories":[{"name":"apps","url":"git@git.example.org:apps","secretRef":{"name":"s"}}]}`, "")
			e.AddSecret("s", "Opaque", data)
			e.LabelSecret("s", nil)
			e.Install()
			if diff := cmp.Diff(map[string]any{}, e.SecretValues()); diff != "" {
				t.Errorf("values: -want, +got:\n%s", diff)
			}
			if msg := e.Condition(v1alpha1.ConditionRepositoriesConnected).GetMessage(); strings.Contains(msg, "n33dle") || strings.Contains(msg, "too large") || !strings.Contains(msg, "doesn't have the label") {
				t.Errorf("the condition says %q", msg)
			}
		})
	}
}
