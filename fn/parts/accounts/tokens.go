package accounts

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// signingKey is the key of argocd-secret with which Argo CD signs its tokens.
const signingKey = "server.secretkey"

// tokensKey is the key of argocd-secret with the tokens of an account that are valid.
func tokensKey(account string) string { return "accounts." + account + ".tokens" }

// keyOf returns the key that credentials are derived from: the one that is kept, or the first one, from the token of the tenant's
// account on the host, which nobody can guess, so that the same request has the same answer. It returns nil while there is neither.
func keyOf(g tenant.Given) []byte {
	switch {
	case len(g.Kept.Key) > 0:
		return g.Kept.Key
	case len(g.Token) > 0:
		return derive(g.Token, "accounts")
	}
	return nil
}

// derive returns a key of its own for a purpose.
func derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// signingKeyOf returns Argo CD's signing key.
func signingKeyOf(k tenant.Kept) string { return hex.EncodeToString(derive(k.Key, signingKey)) }

// setTokens decides which tokens are valid, and sets the values with them and with the key that signs them.
func setTokens(c part.Candidate) error {
	a := &c.Decision.Accounts
	for i, account := range c.Spec.ArgoCDAccounts {
		var valid []tenant.Issued
		for j, token := range account.Tokens {
			name, at := account.Name+"/"+token.Name, fmt.Sprintf("%s[%d].tokens[%d]", field, i, j)
			is := tenant.AccountToken{Field: at, Account: account.Name, Token: token.Name, SecretName: secretName(c, account, token)}
			if c.Delivery != nil {
				is.Delivery = c.Delivery(is.SecretName)
			}
			if !is.Delivery.Composed && a.LooksFor == "" {
				a.LooksFor = is.SecretName
			}
			a.Tokens = append(a.Tokens, is)
			if len(a.Kept.Key) == 0 {
				continue
			}
			issued := issue(c.Kept.Issued[name], token, c.Now)
			if a.Kept.Issued == nil {
				a.Kept.Issued = map[string][]tenant.Issued{}
			}
			a.Kept.Issued[name] = issued
			if again := issued[len(issued)-1].RotatesAt(); a.Again.IsZero() || again.Before(a.Again) {
				a.Again = again
			}
			valid = append(valid, issued...)
		}
		if err := setValid(c, account, valid); err != nil {
			return err
		}
	}
	a.Kept.Signs = a.Kept.Signs || len(a.Kept.Issued) > 0
	if a.Kept.Signs && len(a.Kept.Key) > 0 {
		return put(c, signingKeyOf(a.Kept), append(slices.Clone(extra), signingKey)...)
	}
	return nil
}

// setValid sets the value with the valid tokens of an account.
func setValid(c part.Candidate, account v1alpha1.AccountSpec, valid []tenant.Issued) error {
	if len(valid) == 0 {
		return nil
	}
	text, err := json.Marshal(valid)
	if err != nil {
		return err
	}
	return put(c, string(text), append(slices.Clone(extra), tokensKey(account.Name))...)
}

// put sets a value that is only in the Secret of values.
func put(c part.Candidate, value any, path ...string) error {
	if !c.Sensitive.Put(value, path) {
		return fmt.Errorf("%s: the credentials of this claim are too large together for Helm, which keeps them in one Secret: use fewer or smaller ones", field)
	}
	return nil
}

// issue returns the tokens of an entry that are valid now: the newest one, and the one before. It issues another once half of the
// newest one's time is over, or the entry says another time. Only then does it leave out what has expired: each change is one of Helm's.
func issue(was []tenant.Issued, token v1alpha1.AccountTokenSpec, now time.Time) []tenant.Issued {
	at, seconds := now.Unix(), int64(expiresIn(token)/time.Second)
	if n := len(was); n > 0 {
		if newest := was[n-1]; now.Before(newest.RotatesAt()) && newest.ExpiresAt-newest.At == seconds {
			return was
		}
	}
	valid := slices.DeleteFunc(slices.Clone(was), func(i tenant.Issued) bool { return i.ExpiresAt <= at })
	valid = append(valid, tenant.Issued{ID: fmt.Sprintf("%s-%d", token.Name, at), At: at, ExpiresAt: at + seconds})
	return valid[max(0, len(valid)-2):]
}

// sign returns a token as Argo CD issues them (3.6, util/session/sessionmanager.go).
func sign(k tenant.Kept, account string, i tenant.Issued) (string, error) {
	at := jwt.NewNumericDate(time.Unix(i.At, 0))
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: "argocd", Subject: account + ":apiKey", ID: i.ID, IssuedAt: at, NotBefore: at, ExpiresAt: jwt.NewNumericDate(time.Unix(i.ExpiresAt, 0)),
	}).SignedString([]byte(signingKeyOf(k)))
}
