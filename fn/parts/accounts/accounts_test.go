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
	"github.com/virtual-argocd/virtual-argocd/fn/localaccount"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
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
	a, b := localaccount.KeyOf(localaccount.Kept{}, []byte("token-a")), localaccount.KeyOf(localaccount.Kept{}, []byte("token-b"))
	if bytes.Equal(a, b) || len(a) != 32 {
		t.Errorf("keys %x and %x", a, b)
	}
	if kept := localaccount.KeyOf(localaccount.Kept{Key: a}, []byte("token-b")); !bytes.Equal(kept, a) {
		t.Error("a key that is kept isn't used")
	}
	if localaccount.KeyOf(localaccount.Kept{}, nil) != nil {
		t.Error("without a token there is a key, which everybody knows")
	}
	one := localaccount.AdminPassword{ID: "1", AskedAt: "now"}
	for _, seen := range []string{signingKeyOf(localaccount.Kept{Key: a}), passwordOf(a, one)} {
		if strings.Contains(seen, hex.EncodeToString(a)) || seen == signingKeyOf(localaccount.Kept{Key: b}) || seen == passwordOf(b, one) || seen == passwordOf(a, localaccount.AdminPassword{ID: "1", AskedAt: "later"}) {
			t.Errorf("%q is seen", seen)
		}
	}
}

// TestIssue: another token is issued at half of the time of the newest one, once that is delivered, and earlier ones stay until they expire.
func TestIssue(t *testing.T) {
	at := func(hours int64) localaccount.Issued {
		return localaccount.Issued{ID: "a", At: hours * 3600, ExpiresAt: (hours + 4) * 3600}
	}
	kept := localaccount.Kept{Key: []byte("key")}
	for name, tc := range map[string]struct {
		was []localaccount.Issued
		// delivered is the index of the token in the connection Secret; -1 for none.
		delivered int
		now       int64
		in        v1alpha1.Duration
		want      []int64
	}{
		"First":             {nil, -1, 5, "4h", []int64{5}},
		"Fresh":             {[]localaccount.Issued{at(5)}, 0, 6, "4h", []int64{5}},
		"Half":              {[]localaccount.Issued{at(5)}, 0, 7, "4h", []int64{5, 7}},
		"Undelivered":       {[]localaccount.Issued{at(5)}, -1, 7, "4h", []int64{5}},
		"UndeliveredOther":  {[]localaccount.Issued{at(5), at(6)}, 0, 7, "8h", []int64{5, 6}},
		"UndeliveredIsOver": {[]localaccount.Issued{at(5), at(6)}, 0, 10, "8h", []int64{10}},
		"BothStay":          {[]localaccount.Issued{at(5), at(7)}, 1, 8, "4h", []int64{5, 7}},
		"ExpiredStays":      {[]localaccount.Issued{at(1), at(7)}, 1, 8, "4h", []int64{1, 7}},
		"ExpiredGoes":       {[]localaccount.Issued{at(5), at(7)}, 1, 9, "4h", []int64{7, 9}},
		"Late":              {[]localaccount.Issued{at(5), at(7)}, 1, 30, "4h", []int64{30}},
		"OtherTime":         {[]localaccount.Issued{at(5)}, 0, 6, "8h", []int64{5, 6}},
		"Most":              {[]localaccount.Issued{at(5), at(6), at(7), at(8)}, 3, 8, "8h", []int64{6, 7, 8, 8}},
		"Future":            {[]localaccount.Issued{at(5), at(7)}, 1, 6, "4h", []int64{5}},
		"FutureAlone":       {[]localaccount.Issued{at(7)}, 0, 6, "4h", []int64{6}},
	} {
		t.Run(name, func(t *testing.T) {
			c := part.Candidate{Given: tenant.Given{Now: time.Unix(tc.now*3600, 0), Kept: kept, Details: map[string][]byte{}}, Decision: &tenant.Decision{}}
			c.Decision.Accounts.Kept, c.Kept.Issued = kept, map[string][]localaccount.Issued{"ci/a": tc.was}
			if tc.delivered >= 0 {
				token, err := sign(kept, "ci", tc.was[tc.delivered])
				if err != nil {
					t.Fatal(err)
				}
				c.Details["token.ci.a"] = []byte(token)
			}
			got, newest, err := issue(c, "ci", v1alpha1.AccountTokenSpec{Name: "a", ExpiresIn: tc.in})
			if err != nil {
				t.Fatal(err)
			}
			var hours []int64
			for _, i := range got {
				hours = append(hours, i.At/3600)
			}
			if diff := cmp.Diff(tc.want, hours); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if want, _ := sign(kept, "ci", got[len(got)-1]); newest != want {
				t.Error("the newest token isn't the last one")
			}
		})
	}
}
