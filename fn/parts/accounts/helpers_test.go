package accounts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const (
	accountsSpec = `{"argocd":{"accounts":[{"name":"ci","role":"readonly","tokens":[{"name":"deploy","expiresIn":"2h"}]}]}}`
	// tokenKey is the key of the connection Secret with that token.
	tokenKey = "token.ci.deploy"
)

// accountsEngine has a tenant whose Release has generations.
func accountsEngine(t *testing.T, spec string) *crossplanetest.Engine {
	e := crossplanetest.New(t, spec, "")
	e.Generations = true
	crossplanetest.Field(e.XR(), "spec").Fields["writeConnectionSecretToRef"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"namespace": structpb.NewStringValue("crossplane-system"), "name": structpb.NewStringValue("1f0d7d2c"),
	}})
	return e
}

// roll lets a change reach Argo CD, and the connection Secret.
func roll(e *crossplanetest.Engine) { e.Cycle(6) }

// detail is what the connection Secret has at a key.
func detail(e *crossplanetest.Engine, key string) string {
	return string(e.Request.GetObserved().GetComposite().GetConnectionDetails()[key])
}

// argocdSecret is what the values that Helm has deployed say at a path below configs.secret.
func argocdSecret(e *crossplanetest.Engine, path ...string) string {
	at := any(e.DeployedAccounts)
	for _, key := range append([]string{"configs", "secret"}, path...) {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	text, _ := at.(string)
	return text
}

// keptOf is what the function keeps.
func keptOf(e *crossplanetest.Engine) localaccount.Kept {
	e.T.Helper()
	kept := localaccount.Kept{}
	if err := json.Unmarshal(e.SecretKey(tenant.AccountsSecret, localaccount.KeptKey), &kept); err != nil {
		e.T.Fatal(err)
	}
	return kept
}

// keep replaces what the function keeps.
func keep(e *crossplanetest.Engine, kept localaccount.Kept) {
	raw, err := json.Marshal(kept)
	if err != nil {
		e.T.Fatal(err)
	}
	crossplanetest.Field(e.Observed(tenant.AccountsSecret), "data").Fields[localaccount.KeptKey] = structpb.NewStringValue(crossplanetest.Base64(string(raw)))
}

// validTokens are those that Argo CD has for an account.
func validTokens(t *testing.T, e *crossplanetest.Engine, account string) []localaccount.Issued {
	t.Helper()
	var out []localaccount.Issued
	if text := argocdSecret(e, "extra", "accounts."+account+".tokens"); text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// accepts does what Argo CD does with a token (3.6, util/session/sessionmanager.go).
func accepts(t *testing.T, e *crossplanetest.Engine, token string) (account string, err error) {
	t.Helper()
	claims := jwt.RegisteredClaims{}
	_, err = jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return []byte(argocdSecret(e, "extra", "server.secretkey")), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithTimeFunc(e.Now), jwt.WithIssuer("argocd"), jwt.WithIssuedAt())
	if err != nil {
		return "", err
	}
	account, isToken := strings.CutSuffix(claims.Subject, ":apiKey")
	if !isToken {
		return "", fmt.Errorf("subject %s", claims.Subject)
	}
	for _, valid := range validTokens(t, e, account) {
		if valid.ID == claims.ID && valid.At == claims.IssuedAt.Unix() && valid.ExpiresAt == claims.ExpiresAt.Unix() {
			return account, nil
		}
	}
	return "", fmt.Errorf("token %s is unknown", claims.ID)
}
