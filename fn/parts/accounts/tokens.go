package accounts

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// signingKey is the key of argocd-secret with which Argo CD signs its tokens.
const signingKey = "server.secretkey"

// tokensKey is the key of argocd-secret with the tokens of an account that are valid.
func tokensKey(account string) string { return "accounts." + account + ".tokens" }

// signingKeyOf returns Argo CD's signing key.
func signingKeyOf(k localaccount.Kept) string {
	return hex.EncodeToString(localaccount.Derive(k.Key, signingKey))
}

// setTokens decides which tokens are valid, and sets the values with them and with the key that signs them.
func setTokens(c part.Candidate, own values.Values) error {
	a := &c.Decision.Accounts
	for _, account := range c.Spec.ArgoCDAccounts {
		var valid []localaccount.Issued
		for _, token := range account.Tokens {
			if len(a.Kept.Key) == 0 {
				continue
			}
			name, key := account.Name+"/"+token.Name, localaccount.TokenKey(account.Name, token.Name)
			issued, newest, err := issue(c, account.Name, token)
			if err != nil {
				return fmt.Errorf("cannot sign a token: %w", err)
			}
			if a.Kept.Issued == nil {
				a.Kept.Issued = map[string][]localaccount.Issued{}
			}
			a.Kept.Issued[name] = issued
			a.Tokens = append(a.Tokens, localaccount.Token{Key: key, Issued: issued[len(issued)-1], Signed: newest})
			valid = append(valid, issued...)
		}
		if len(valid) == 0 {
			continue
		}
		text, err := json.Marshal(valid)
		if err != nil {
			return err
		}
		values.Insert(own, string(text), "configs", "secret", "extra", tokensKey(account.Name))
	}
	a.Kept.Signs = a.Kept.Signs || len(a.Kept.Issued) > 0
	if a.Kept.Signs && len(a.Kept.Key) > 0 {
		values.Insert(own, signingKeyOf(a.Kept), "configs", "secret", "extra", signingKey)
	}
	return nil
}

const (
	// mostValid is how many tokens of an entry are valid at once: the newest one, and those before it until they expire.
	mostValid = 4
	// skew is how far the clocks of two replicas of the function may be apart.
	skew = 5 * time.Minute
)

// issue returns the tokens of an entry that are valid now, oldest first, and the newest one as it is delivered. It issues another once half
// of the newest one's time is over, or the entry says another time, but never before the newest one was delivered: so none is revoked
// that somebody uses. Only then does it leave out what has expired, since each change is one of Helm's.
func issue(c part.Candidate, account string, token v1alpha1.AccountTokenSpec) (valid []localaccount.Issued, newest string, err error) {
	k, was := c.Decision.Accounts.Kept, sane(c.Kept.Issued[account+"/"+token.Name], c.Now)
	at, seconds := c.Now.Unix(), int64(expiresIn(token)/time.Second)
	if n := len(was); n > 0 && was[n-1].ExpiresAt > at {
		newest, err = sign(k, account, was[n-1])
		delivered := string(c.Details[localaccount.TokenKey(account, token.Name)]) == newest
		asWanted := c.Now.Before(was[n-1].RotatesAt()) && was[n-1].ExpiresAt-was[n-1].At == seconds
		if err != nil || asWanted || !delivered {
			return was, newest, err
		}
	}
	valid = slices.DeleteFunc(was, func(i localaccount.Issued) bool { return i.ExpiresAt <= at })
	valid = append(valid, localaccount.Issued{ID: fmt.Sprintf("%s.%d", token.Name, at), At: at, ExpiresAt: at + seconds})
	valid = valid[max(0, len(valid)-mostValid):]
	newest, err = sign(k, account, valid[len(valid)-1])
	return valid, newest, err
}

// sane returns a copy of the tokens, without those that the function can't have issued: from the future, or for longer than it does.
func sane(issued []localaccount.Issued, now time.Time) []localaccount.Issued {
	return slices.DeleteFunc(slices.Clone(issued), func(i localaccount.Issued) bool {
		lasts := time.Duration(i.ExpiresAt-i.At) * time.Second
		return time.Unix(i.At, 0).After(now.Add(skew)) || lasts < minExpiry || lasts > maxExpiry
	})
}

// sign returns a token as Argo CD issues them (3.6, util/session/sessionmanager.go).
func sign(k localaccount.Kept, account string, i localaccount.Issued) (string, error) {
	at := jwt.NewNumericDate(time.Unix(i.At, 0))
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: "argocd", Subject: account + ":apiKey", ID: i.ID, IssuedAt: at, NotBefore: at, ExpiresAt: jwt.NewNumericDate(time.Unix(i.ExpiresAt, 0)),
	}).SignedString([]byte(signingKeyOf(k)))
}
