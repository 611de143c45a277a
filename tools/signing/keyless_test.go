package signing

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/tools/signing/fulciotest"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/signingtest"
)

// The workflow that signs, and what its token has for a subject.
const (
	workflow = "virtual-argocd/virtual-argocd/.github/workflows/release.yaml@refs/tags/v1.0.0"
	subject  = "repo:virtual-argocd/virtual-argocd:ref:refs/tags/v1.0.0"
)

func newFulcio(t *testing.T) (*fulciotest.Authority, string) {
	t.Helper()
	a, err := fulciotest.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server.URL
}

// identity trusts an identity that an authority certifies.
func (w world) identity(t *testing.T, a *fulciotest.Authority, subject string) signingtest.Trust {
	t.Helper()
	certificates, err := a.LogKey()
	if err != nil {
		t.Fatal(err)
	}
	return signingtest.Trust{Log: w.log, Identity: signingtest.Identity{
		Subject: subject, Issuer: fulciotest.Issuer, Fulcio: a.Root(), Certificates: certificates,
	}}
}

func token(t *testing.T, a *fulciotest.Authority, c fulciotest.Claims) string {
	t.Helper()
	out, err := a.Token(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKeyless: what is signed with a token is accepted from whoever the token is of, and from nobody else.
func TestKeyless(t *testing.T) {
	w := newWorld(t)
	ours, server := newFulcio(t)
	theirs, _ := newFulcio(t)
	person := fulciotest.Claims{Subject: "1", Email: "release@example.org", Verified: true}
	cases := map[string]struct {
		reason string
		claims fulciotest.Claims
		trust  func(*signingtest.Trust)
		want   string
	}{
		"Workflow":          {"GitHub's token is of a workflow, and its subject is of the repository.", fulciotest.Claims{Subject: subject, Workflow: workflow}, func(trust *signingtest.Trust) { trust.Subject = "https://github.com/" + workflow }, ""},
		"Person":            {"Other tokens are of an email address.", person, func(*signingtest.Trust) {}, ""},
		"OtherPerson":       {"The certificate says who.", person, func(trust *signingtest.Trust) { trust.Subject = "other@example.org" }, "none of the expected identities matched"},
		"OtherIssuer":       {"And who says so.", person, func(trust *signingtest.Trust) { trust.Issuer = "https://other.example.org" }, "none of the expected identities matched"},
		"OtherAuthority":    {"Anybody can write certificates.", person, func(trust *signingtest.Trust) { trust.Fulcio = theirs.Root() }, "certificate signed by unknown authority"},
		"OtherCertificates": {"The authority has to publish its certificates.", person, func(trust *signingtest.Trust) { trust.Certificates = w.identity(t, theirs, "").Certificates }, "ctfe public key not found"},
		"OtherLog":          {"And the signer the signature.", person, func(trust *signingtest.Trust) { trust.Log = newWorld(t).log }, "rekor log public key not found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := New(t.Context(), Options{IDToken: token(t, ours, tc.claims), Fulcio: server, Rekor: w.rekor.URL})
			if err != nil {
				t.Fatal(err)
			}
			ref := w.push(t, "v1.0.0")
			if err := s.Sign(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			if err := s.Attest(t.Context(), ref, Provenance, []byte(`{"buildDefinition": {}}`)); err != nil {
				t.Fatal(err)
			}
			trust := w.identity(t, ours, person.Email)
			tc.trust(&trust)
			for _, predicate := range []string{"", Provenance} {
				err := trust.Verify(t.Context(), ref, predicate)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("\n%s\nVerify(..., %q): want error with %q, got %v", tc.reason, predicate, tc.want, err)
				}
			}
		})
	}
}

// TestTokens: a token that isn't for Sigstore is found before anything is pushed.
func TestTokens(t *testing.T) {
	ours, server := newFulcio(t)
	theirs, _ := newFulcio(t)
	for name, tc := range map[string]struct{ token, want string }{
		"OtherAudience": {token(t, ours, fulciotest.Claims{Audience: "github", Subject: subject, Workflow: workflow}), "cannot get a certificate from " + server},
		"OtherIssuer":   {token(t, theirs, fulciotest.Claims{Subject: subject, Workflow: workflow}), "cannot get a certificate from " + server},
		"NotVerified":   {token(t, ours, fulciotest.Claims{Subject: "1", Email: "release@example.org"}), "cannot read the identity token: not verified"},
		"NoToken":       {"secret", "cannot read the identity token"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(t.Context(), Options{IDToken: tc.token, Fulcio: server}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New(...): want error with %q, got %v", tc.want, err)
			}
		})
	}
}

// TestLateSignature: who pushes for longer than a certificate is valid hears of it. Nobody would accept the signature.
func TestLateSignature(t *testing.T) {
	w := newWorld(t)
	a, server := newFulcio(t)
	a.Lifetime = time.Second
	s, err := New(t.Context(), Options{IDToken: token(t, a, fulciotest.Claims{Subject: subject, Workflow: workflow}), Fulcio: server, Rekor: w.rekor.URL})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	ref := w.push(t, "v1.0.0")
	for name, err := range map[string]error{"Sign": s.Sign(t.Context(), ref), "Attest": s.Attest(t.Context(), ref, Provenance, []byte(`{}`))} {
		if err == nil || !strings.Contains(err.Error(), "was valid until") {
			t.Errorf("%s(...): want an error for a certificate that isn't valid any more, got %v", name, err)
		}
	}
}
