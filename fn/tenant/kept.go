package tenant

import (
	"encoding/json"
	"time"
)

// AnnotationRotatePassword of a claim: each new value of it gives the local user admin a new password.
const AnnotationRotatePassword = "virtualargocd.io/rotate-admin-password"

// Kept is what the credentials of local accounts are derived from. It is in the Secret of values, under KeptKey, and read back:
// without it they would change with the token of the tenant's installer.
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
	// Revision of the Helm release of Argo CD when this changed last: later ones have it.
	Revision int64 `json:"revision,omitempty"`
}

// Issued is an API token, without its signature. The times are in seconds since 1970, as in the token.
type Issued struct {
	ID        string `json:"id"`
	At        int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// RotatesAt returns when half of the token's time is over.
func (i Issued) RotatesAt() time.Time { return time.Unix(i.At+(i.ExpiresAt-i.At)/2, 0) }

// AdminPassword is a password of the local user admin, which is derived from its ID.
type AdminPassword struct {
	ID string `json:"id"`
	// Hash of the password, by bcrypt.
	Hash string `json:"hash"`
	// ChangedAt is in the form of RFC 3339. Argo CD accepts no older sessions.
	ChangedAt string `json:"changedAt"`
}

// Kept returns what is kept; the zero value for nothing that can be read.
func (o Observed) Kept() Kept {
	k := Kept{}
	if json.Unmarshal(o.Composed[ValuesSecret].SecretValue(KeptKey), &k) != nil {
		return Kept{}
	}
	return k
}

// Delivery is what is known of the Secret in the claim's namespace that a token is to be delivered in.
type Delivery struct {
	// Composed reports whether it exists, as the tenant's own.
	Composed bool
	// Read reports whether Crossplane has looked for another Secret of that name, and Taken whether there is one. Holder is the
	// claim that has composed it; "" for none.
	Read, Taken bool
	Holder      string
}

// Accounts are the local accounts of an Argo CD, as decided.
type Accounts struct {
	// Names of the accounts of the spec.
	Names []string
	// Tokens of the spec.
	Tokens []AccountToken
	// LooksFor is the Secret in the claim's namespace to look for; "" for none. Of a Secret that is asked for by name, nothing is
	// known before it was read, so that it is one at a time.
	LooksFor string
	// Kept is what is to be kept.
	Kept Kept
	// Problem says why the admin's password isn't rotated; "" for nothing.
	Problem string
	// Asked reports whether the claim asks for a rotation.
	Asked bool
	// Again is when a token is to be rotated; the zero time for never.
	Again time.Time
}

// AccountToken is a token that is to be delivered.
type AccountToken struct {
	// Field of the claim that has it.
	Field          string
	Account, Token string
	SecretName     string
	Delivery       Delivery
}

// TokenResource returns the name in the composition of the Secret with a token.
func TokenResource(secretName string) string { return TokenPrefix + hashOf(secretName) }
