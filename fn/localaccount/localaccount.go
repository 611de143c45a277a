// Package localaccount has what is kept and decided of the local accounts of a tenant's Argo CD: see package parts/accounts, which decides it.
// The keys of tunnels are derived from what is kept, too.
package localaccount

import (
	"crypto/hmac"
	"crypto/sha256"
	"time"
)

// RotatePassword is an annotation of a claim: each new value of it gives the local user admin a new password.
const RotatePassword = "virtualargocd.io/rotate-admin-password"

// KeptKey is the key of the Secret of accounts with Kept. TokenPrefix is that of keys with tokens in a connection Secret.
const (
	KeptKey     = "kept.json"
	TokenPrefix = "token."
)

// Kept is what the credentials of local accounts are derived from. It is in the tenant's Secret of accounts, which is the platform's,
// and read back: without it they would change with the token of the tenant's installer.
type Kept struct {
	// Key from which all of them are derived; empty for none yet.
	Key []byte `json:"key,omitempty"`
	// Signs reports whether Argo CD's signing key is derived from Key. It stays so: without a signing key, a running Argo CD
	// accepts nobody until it is restarted.
	Signs bool `json:"signs,omitempty"`
	// Issued are the tokens that are valid, oldest first, by account and token, with a slash between them.
	Issued map[string][]Issued `json:"issued,omitempty"`
	// Admin is the admin's password; nil while Argo CD or the claim's values set it.
	Admin *AdminPassword `json:"admin,omitempty"`
}

// KeyOf returns the key that a tenant's credentials are derived from: the one that is kept, or the first one, from the token of the tenant's
// account on the host, which nobody can guess, so that the same request has the same answer. It returns nil while there is neither.
func KeyOf(k Kept, token []byte) []byte {
	switch {
	case len(k.Key) > 0:
		return k.Key
	case len(token) > 0:
		return Derive(token, "accounts")
	}
	return nil
}

// Derive returns a key of its own for a purpose.
func Derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// Issued is an API token, without its signature. The times are in seconds since 1970, as in the token.
type Issued struct {
	ID        string `json:"id"`
	At        int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// RotatesAt returns when half of the token's time is over.
func (i Issued) RotatesAt() time.Time { return time.Unix(i.At+(i.ExpiresAt-i.At)/2, 0) }

// AdminPassword is a password of the local user admin, which is derived from its ID and AskedAt.
type AdminPassword struct {
	// ID is a digest of the annotation that asked for it; another text for the first password of a tenant.
	ID string `json:"id"`
	// AskedAt is when it was made, in the form of RFC 3339.
	AskedAt string `json:"askedAt"`
	// Hash of the password, by bcrypt.
	Hash string `json:"hash"`
	// ChangedAt is in the form of RFC 3339. Argo CD accepts no older sessions.
	ChangedAt string `json:"changedAt"`
	// Settled reports whether ChangedAt is later than Argo CD got the password: until then, the one before opened sessions.
	Settled bool `json:"settled,omitempty"`
}

// Decision is what was decided about the local accounts of an Argo CD.
type Decision struct {
	// Names of the accounts of the spec.
	Names []string
	// Tokens of the spec; none while Waits.
	Tokens []Token
	// Kept is what is to be kept.
	Kept Kept
	// Values of the argo-cd chart that are only in the Secret of accounts, in YAML, and ValuesKey their key there, which is a digest
	// of them; both empty for none.
	Values    []byte
	ValuesKey string
	// Problem says why the admin's password isn't rotated; "" for nothing.
	Problem string
	// Asked reports whether the claim asks for a rotation.
	Asked bool
	// Waits reports whether there is nothing yet that credentials can be derived from.
	Waits bool
}

// Token is the newest token of an entry.
type Token struct {
	// Key of the claim's connection Secret that it is delivered in.
	Key    string
	Issued Issued
	// Signed is the token.
	Signed string
}

// TokenKey returns the key of the claim's connection Secret that a token is delivered in. Neither name has a dot in it.
func TokenKey(account, token string) string { return TokenPrefix + account + "." + token }
