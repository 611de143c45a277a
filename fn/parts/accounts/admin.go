package accounts

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/blowfish" //nolint:staticcheck // bcrypt is made of it, and Argo CD takes nothing else.

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Where the argo-cd chart has the admin's password, and when it was changed.
var (
	passwordPath = []string{"configs", "secret", "argocdServerAdminPassword"}
	changedPath  = []string{"configs", "secret", "argocdServerAdminPasswordMtime"}
)

// rotate decides on the admin's password. What keeps it from being rotated is no mistake of the spec: the tenant goes on without.
func rotate(c part.Candidate) {
	a, v := &c.Decision.Accounts, c.Decision.ArgoCD.Values
	a.Asked = c.Rotation != ""
	is := a.Kept.Admin
	id := idOf(c.Rotation)
	if !a.Asked && is != nil {
		id = is.ID
	}
	switch problem := setElsewhere(c); {
	case id == "":
		return
	case problem != "":
		if a.Kept.Admin = nil; a.Asked {
			a.Problem = problem
		}
		return
	case argocd.AdminDisabled(v) && (is == nil || is.ID != id):
		a.Problem = "the local user admin is switched off: remove the annotation, or switch admin on"
		if is == nil {
			return
		}
	case len(a.Kept.Key) == 0:
		return
	case is == nil || is.ID != id:
		is = &tenant.AdminPassword{ID: id, ChangedAt: c.Now.UTC().Format(time.RFC3339)}
		is.Hash = hash(passwordOf(a.Kept.Key, id), derive(a.Kept.Key, "salt of admin/"+id)[:saltBytes])
	}
	// Both are small.
	if put(c, is.Hash, passwordPath...) == nil && put(c, is.ChangedAt, changedPath...) == nil {
		a.Kept.Admin = is
	}
}

// setElsewhere says what keeps the function from setting the password; "" for nothing.
func setElsewhere(c part.Candidate) string {
	v := c.Decision.ArgoCD.Values
	if set, _ := values.Lookup(v, passwordPath...); set != nil && set != "" {
		by, _ := c.ArgoCD.Field(passwordPath...)
		return "the password of admin is set by " + by + ": remove that, or the annotation"
	}
	if path := []string{"configs", "secret", "createSecret"}; !values.Enabled(v, true, path...) {
		by, _ := c.ArgoCD.Field(path...)
		return "Argo CD's own Secret isn't written, because of " + by + ": remove that, or the annotation"
	}
	return ""
}

// idOf returns the ID of the password for the value of an annotation; "" for no value.
func idOf(rotation string) string {
	if rotation == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(rotation))
	return hex.EncodeToString(sum[:8])
}

// passwordOf returns the password with an ID: 24 characters of 144 bits.
func passwordOf(key []byte, id string) string {
	return base64.RawURLEncoding.EncodeToString(derive(key, "admin/"+id)[:18])
}

const (
	saltBytes = 16
	// cost is the lowest of bcrypt: a password of 144 random bits can't be guessed at any cost, and whoever changes a claim again and
	// again must not keep the function busy for others.
	cost = bcrypt.MinCost
)

// encoding is bcrypt's own form of base64.
var encoding = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

// hash returns the bcrypt hash of a password. golang.org/x/crypto/bcrypt takes no salt, but a random one, with which the same request
// would not have the same answer. The algorithm is that of Provos and Mazières, A Future-Adaptable Password Scheme (USENIX 1999).
func hash(password string, salt []byte) string {
	key := append([]byte(password), 0)
	// It can't fail: the key has 1 to 72 bytes.
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return ""
	}
	for range 1 << cost {
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	text := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(text); i += blowfish.BlockSize {
		for range 64 {
			c.Encrypt(text[i:], text[i:])
		}
	}
	// The last byte is left out, as in the first implementations.
	return fmt.Sprintf("$2a$%02d$%s%s", cost, encoding.EncodeToString(salt), encoding.EncodeToString(text[:len(text)-1]))
}

// Password returns the admin's password once Argo CD has it; nil until then, or if it isn't rotated.
func Password(t tenant.Tenant) []byte {
	if t.Accounts.Kept.Admin == nil || !inPlace(t) {
		return nil
	}
	return []byte(passwordOf(t.Accounts.Kept.Key, t.Accounts.Kept.Admin.ID))
}
