package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/virtual-argocd/virtual-argocd/tools/signing/rekortest"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/signingtest"
)

// world is a registry and a transparency log.
type world struct {
	registry string
	rekor    *httptest.Server
	log      []byte
}

func newWorld(t *testing.T) world {
	t.Helper()
	images := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(images.Close)
	entries, err := rekortest.New()
	if err != nil {
		t.Fatal(err)
	}
	w := world{registry: strings.TrimPrefix(images.URL, "http://"), rekor: httptest.NewServer(entries)}
	t.Cleanup(w.rekor.Close)
	if w.log, err = entries.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return w
}

// trust is what somebody trusts who knows the log and a key.
func (w world) trust(key signingtest.KeyPair) signingtest.Trust {
	return signingtest.Trust{Key: key.Public, Log: w.log}
}

func (w world) signer(t *testing.T, key signingtest.KeyPair) *Signer {
	t.Helper()
	s, err := New(t.Context(), Options{Key: key.File, Password: []byte(signingtest.Password), Rekor: w.rekor.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// push pushes an index with one image to a tag.
func (w world) push(t *testing.T, tag string) name.Digest {
	t.Helper()
	index, err := random.Index(64, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(w.registry + "/acme/function:" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return ref.Digest(digest.String())
}

func TestVerification(t *testing.T) {
	w, ours, theirs := newWorld(t), signingtest.NewKey(t), signingtest.NewKey(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason string
		// sign gets a package that was pushed, and returns the one to verify.
		sign      func(ref name.Digest) name.Digest
		predicate string
		want      string
	}{
		"Signed": {
			"What is signed with the key is accepted.",
			func(ref name.Digest) name.Digest { must(w.signer(t, ours).Sign(t.Context(), ref)); return ref }, "", "",
		},
		"Unsigned": {
			"What nobody signed isn't.",
			func(ref name.Digest) name.Digest { return ref }, "", "no signatures found",
		},
		"OtherKey": {
			"Nor what somebody else signed.",
			func(ref name.Digest) name.Digest { must(w.signer(t, theirs).Sign(t.Context(), ref)); return ref }, "", "comparing public key PEMs",
		},
		"SignedByBoth": {
			"One signature by the key is enough.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, theirs).Sign(t.Context(), ref))
				must(w.signer(t, ours).Sign(t.Context(), ref))
				return ref
			}, "", "",
		},
		"MovedTag": {
			"A signature is for a digest: the tag that now means something else has none.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, ours).Sign(t.Context(), ref))
				return w.push(t, "v1.0.0")
			}, "", "no signatures found",
		},
		"CopiedSignature": {
			"The signature of another package is none of this one.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, ours).Sign(t.Context(), ref))
				other := w.push(t, "v1.0.0")
				w.copy(t, ref, other, "sig")
				return other
			}, "", "invalid or missing digest in claim",
		},
		"OtherLog": {
			"Without an entry in the log that Crossplane trusts, a signature is none.",
			func(ref name.Digest) name.Digest {
				elsewhere := newWorld(t)
				s := w.signer(t, ours)
				s.log = elsewhere.signer(t, ours).log
				must(s.Sign(t.Context(), ref))
				return ref
			}, "", "rekor log public key not found",
		},
		"Attested": {
			"An attestation by the key is found by its type.",
			func(ref name.Digest) name.Digest {
				s := w.signer(t, ours)
				must(s.Attest(t.Context(), ref, CycloneDX, []byte(`{"bomFormat": "CycloneDX"}`)))
				must(s.Attest(t.Context(), ref, Provenance, []byte(`{"buildDefinition": {}}`)))
				return ref
			}, Provenance, "",
		},
		"OtherPredicate": {
			"Another attestation is none of that type.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, ours).Attest(t.Context(), ref, CycloneDX, []byte(`{"bomFormat": "CycloneDX"}`)))
				return ref
			}, Provenance, "no attestation of type",
		},
		"AttestedByOther": {
			"Nor is one that somebody else signed.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, theirs).Attest(t.Context(), ref, Provenance, []byte(`{}`)))
				return ref
			}, Provenance, "no matching attestations",
		},
		"CopiedAttestation": {
			"The attestation of another package is none of this one.",
			func(ref name.Digest) name.Digest {
				must(w.signer(t, ours).Attest(t.Context(), ref, Provenance, []byte(`{}`)))
				other := w.push(t, "v1.0.0")
				w.copy(t, ref, other, "att")
				return other
			}, Provenance, "no matching subject",
		},
		"AttestedPart": {
			"An attestation of an index is also about an image in it.",
			func(ref name.Digest) name.Digest {
				part := w.push(t, "part")
				must(w.signer(t, ours).Attest(t.Context(), ref, Provenance, []byte(`{}`), part))
				w.copy(t, ref, part, "att")
				return part
			}, Provenance, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref := tc.sign(w.push(t, "v1.0.0"))
			err := w.trust(ours).Verify(t.Context(), ref, tc.predicate)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("\n%s\nVerify(...): want error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// copy gives a package the signatures or attestations of another.
func (w world) copy(t *testing.T, from, to name.Digest, kind string) {
	t.Helper()
	tag := func(d name.Digest) name.Tag {
		return d.Context().Tag(strings.Replace(d.DigestStr(), ":", "-", 1) + "." + kind)
	}
	img, err := remote.Image(tag(from))
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag(to), img); err != nil {
		t.Fatal(err)
	}
}

func TestKeys(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := cryptoutils.MarshalPrivateKeyToPEM(private)
	if err != nil {
		t.Fatal(err)
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	encrypted := signingtest.NewKey(t)
	cases := map[string]struct {
		reason  string
		o       Options
		public  []byte
		wantErr string
	}{
		"Encrypted":     {"A key of cosign.", Options{Key: encrypted.File, Password: []byte(signingtest.Password)}, encrypted.Public, ""},
		"WrongPassword": {"It is of no use without its password.", Options{Key: encrypted.File, Password: []byte("other")}, nil, "is COSIGN_PASSWORD its password?"},
		"Plain":         {"A key of openssl.", Options{Key: writeFile(t, plain)}, public, ""},
		"NoKey":         {"Another file.", Options{Key: writeFile(t, []byte("no key"))}, nil, "cannot read key"},
		"Missing":       {"No file.", Options{Key: "/missing.key"}, nil, "cannot read the key"},
		"Both":          {"Whoever signs is one.", Options{Key: encrypted.File, IDToken: "x"}, nil, "choose one"},
		"Neither":       {"Nobody signs nothing.", Options{}, nil, "neither a key nor"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := New(t.Context(), tc.o)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("\n%s\nNew(...): want error with %q, got %v", tc.reason, tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("\n%s\nNew(...): %v", tc.reason, err)
			}
			if got, err := s.public(); err != nil || string(got) != string(tc.public) {
				t.Errorf("\n%s\nNew(...): want public key\n%sgot\n%s(%v)", tc.reason, tc.public, got, err)
			}
		})
	}
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
