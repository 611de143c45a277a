package accounts

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestHash: the hashes are bcrypt's, and follow from password and salt.
func TestHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		salt, raw := make([]byte, saltBytes), make([]byte, r.IntN(48))
		for _, b := range [][]byte{salt, raw} {
			for i := range b {
				b[i] = byte(1 + r.IntN(255))
			}
		}
		password := hex.EncodeToString(raw[:min(len(raw), 36)])
		is := hash(password, salt)
		if err := bcrypt.CompareHashAndPassword([]byte(is), []byte(password)); err != nil || is != hash(password, salt) {
			t.Fatalf("%q, %x: %s: %v", password, salt, is, err)
		}
		if bcrypt.CompareHashAndPassword([]byte(is), []byte(password+"x")) == nil && len(password) < 72 {
			t.Fatalf("%s is a hash of another password, too", is)
		}
	}
}

// TestKeysOfTwoTenants: what one tenant can read tells nothing of another's keys, nor of the key that its own are derived from.
func TestKeysOfTwoTenants(t *testing.T) {
	a, b := keyOf(tenant.Given{Token: []byte("token-a")}), keyOf(tenant.Given{Token: []byte("token-b")})
	if bytes.Equal(a, b) || len(a) != 32 {
		t.Errorf("keys %x and %x", a, b)
	}
	if kept := keyOf(tenant.Given{Token: []byte("token-b"), Kept: tenant.Kept{Key: a}}); !bytes.Equal(kept, a) {
		t.Error("a key that is kept isn't used")
	}
	if keyOf(tenant.Given{}) != nil {
		t.Error("without a token there is a key, which everybody knows")
	}
	for _, seen := range []string{signingKeyOf(tenant.Kept{Key: a}), passwordOf(a, "1")} {
		if strings.Contains(seen, hex.EncodeToString(a)) || seen == signingKeyOf(tenant.Kept{Key: b}) || seen == passwordOf(b, "1") || seen == passwordOf(a, "2") {
			t.Errorf("%q is seen", seen)
		}
	}
}

// TestIssue: at each time there is a token with half of its time left at least, once it was looked at, and at most one more.
func TestIssue(t *testing.T) {
	at := func(hours int64) tenant.Issued {
		return tenant.Issued{ID: "a-" + time.Duration(hours).String(), At: hours * 3600, ExpiresAt: (hours + 4) * 3600}
	}
	now := func(hours int64) time.Time { return time.Unix(hours*3600, 0) }
	ids := func(all []tenant.Issued) (out []int64) {
		for _, i := range all {
			out = append(out, i.At/3600)
		}
		return out
	}
	for name, tc := range map[string]struct {
		was  []tenant.Issued
		now  int64
		in   v1alpha1.Duration
		want []int64
	}{
		"First":         {nil, 5, "4h", []int64{5}},
		"Fresh":         {[]tenant.Issued{at(5)}, 6, "4h", []int64{5}},
		"Half":          {[]tenant.Issued{at(5)}, 7, "4h", []int64{5, 7}},
		"BothStay":      {[]tenant.Issued{at(5), at(7)}, 8, "4h", []int64{5, 7}},
		"OldestGoes":    {[]tenant.Issued{at(5), at(7)}, 9, "4h", []int64{7, 9}},
		"Late":          {[]tenant.Issued{at(5), at(7)}, 30, "4h", []int64{30}},
		"OtherTime":     {[]tenant.Issued{at(5)}, 6, "8h", []int64{5, 6}},
		"ClockGoesBack": {[]tenant.Issued{at(5)}, 1, "4h", []int64{5}},
	} {
		t.Run(name, func(t *testing.T) {
			got := issue(tc.was, v1alpha1.AccountTokenSpec{Name: "a", ExpiresIn: tc.in}, now(tc.now))
			if diff := cmp.Diff(tc.want, ids(got)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
