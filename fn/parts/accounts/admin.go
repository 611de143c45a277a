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
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Where the argo-cd chart has the admin's password, and when it was changed.
var (
	passwordPath = []string{"configs", "secret", "argocdServerAdminPassword"}
	changedPath  = []string{"configs", "secret", "argocdServerAdminPasswordMtime"}
)

// taken are all places where values may set one of the two.
var taken = [][]string{passwordPath, changedPath, {"configs", "secret", "extra", "admin.password"}, {"configs", "secret", "extra", "admin.passwordMtime"}}

// firstID is the ID of a password that no annotation has asked for. That of an annotation is a digest.
const firstID = "first"

func isRotated(p *localaccount.AdminPassword) bool { return p != nil && p.ID != firstID }

// setsFirst reports whether the admin's first password isn't left to Argo CD. Each of several API servers makes one when it starts, and the Secret
// that is published may have one that another server has replaced (argo-cd, issue 6797). That of an Argo CD that runs already stays as it is,
// and so does that of a backup.
func setsFirst(c part.Candidate) bool {
	v := c.Decision.ArgoCD.Values
	return c.Running.ArgoCDWanted == "" && c.Spec.RestoreFrom == nil && argocd.SeveralServers(v) && !argocd.AdminDisabled(v)
}

// rotate decides on the admin's password. What keeps it from being rotated is no mistake of the spec: the tenant goes on without.
func rotate(c part.Candidate) {
	a, v := &c.Decision.Accounts, c.Decision.ArgoCD.Values
	a.Asked = c.Rotation != ""
	is := a.Kept.Admin
	id := idOf(c.Rotation)
	switch {
	case a.Asked:
	case is != nil:
		id = is.ID
	case setsFirst(c):
		id = firstID
	}
	if is != nil && !isPast(is.ChangedAt, c.Now) {
		// Somebody has edited it, and Argo CD would accept no session.
		is = nil
	}
	switch problem := setElsewhere(c); {
	case id == "" || len(a.Kept.Key) == 0:
		a.Kept.Admin = nil
		return
	case problem != "":
		if a.Kept.Admin = nil; a.Asked {
			a.Problem = problem
		}
		return
	case argocd.AdminDisabled(v) && (is == nil || is.ID != id):
		a.Problem = "the local user admin is switched off: remove the annotation, or switch admin on"
		if is == nil {
			a.Kept.Admin = nil
			return
		}
	case is == nil || is.ID != id:
		at, first := c.Now, id == firstID
		if first && !c.Created.IsZero() {
			at = c.Created
		}
		asked := at.UTC().Format(time.RFC3339)
		// No session has begun with a password before the first.
		is = &localaccount.AdminPassword{ID: id, AskedAt: asked, ChangedAt: asked, Settled: first}
		is.Hash = hash(passwordOf(a.Kept.Key, *is), localaccount.Derive(a.Kept.Key, "salt of "+purposeOf(*is))[:saltBytes])
	}
	a.Kept.Admin = is
}

// settle ends the sessions that somebody began with the password of before while Argo CD didn't have the new one, once it has: it reports
// whether it has changed anything. Argo CD knows the time of a session in whole seconds.
func settle(c part.Candidate) bool {
	a := &c.Decision.Accounts
	if a.Kept.Admin == nil || a.Kept.Admin.Settled || a.ValuesKey != c.DeployedAccounts {
		return false
	}
	settled := *a.Kept.Admin
	settled.ChangedAt, settled.Settled = c.Now.Add(time.Second).UTC().Format(time.RFC3339), true
	a.Kept.Admin = &settled
	return true
}

// isPast reports whether a text is a time that isn't in the future.
func isPast(at string, now time.Time) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && !t.After(now.Add(skew))
}

// setElsewhere says what keeps the function from setting the password; "" for nothing.
func setElsewhere(c part.Candidate) string {
	v := c.Decision.ArgoCD.Values
	for _, path := range taken {
		if set, _ := values.Lookup(v, path...); set != nil && set != "" {
			by := c.ArgoCD.Field(path...).Path
			return "the password of admin is set by " + by + ": remove that, or the annotation"
		}
	}
	if path := []string{"configs", "secret", "createSecret"}; !values.Enabled(v, true, path...) {
		by := c.ArgoCD.Field(path...).Path
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

// purposeOf returns what a password is derived for: a value of the annotation that comes back gives another one.
func purposeOf(p localaccount.AdminPassword) string { return "admin/" + p.ID + "/" + p.AskedAt }

// passwordOf returns a password: 24 characters of 144 bits.
func passwordOf(key []byte, p localaccount.AdminPassword) string {
	return base64.RawURLEncoding.EncodeToString(localaccount.Derive(key, purposeOf(p))[:18])
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
