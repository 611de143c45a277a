package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/virtual-argocd/virtual-argocd/tools/signing"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/fulciotest"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/rekortest"
	"github.com/virtual-argocd/virtual-argocd/tools/signing/signingtest"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// newRegistry returns a host and an organisation to push to.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/acme"
}

// build builds the packages of a small project that has our chart, and goes there.
func build(t *testing.T) xpkg.Project {
	t.Helper()
	sources, err := xpkg.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	p := signingtest.NewProject(t)
	for _, dir := range []string{"charts", "examples/install"} {
		if err := os.CopyFS(filepath.Join(p.Root, dir), os.DirFS(filepath.Join(sources, dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"VERSION", "Makefile"} {
		text, err := os.ReadFile(filepath.Join(sources, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Root, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Build(t.Context(), runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	t.Chdir(p.Root)
	return p
}

// makes returns the arguments with which `make push` runs this command.
func makes(t *testing.T, settings ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run", "--no-print-directory", "push"}, settings...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("make push: %v\n%s", err, out)
	}
	_, line, found := strings.Cut(string(out), "&& _output/sign ")
	if !found {
		t.Fatalf("make push doesn't run this command, but:\n%s", out)
	}
	return strings.Fields(line)
}

// TestPush runs what `make push` runs, and then does what its users do: they read the file that installs the packages, and verify in the registry
// what is named there.
func TestPush(t *testing.T) {
	p := build(t)
	t.Run("Key", func(t *testing.T) {
		key := signingtest.NewKey(t)
		t.Setenv("COSIGN_PASSWORD", signingtest.Password)
		push(t, p, signingtest.Trust{Key: key.Public}, "KEY="+key.File)
	})
	t.Run("Token", func(t *testing.T) {
		a, err := fulciotest.New()
		if err != nil {
			t.Fatal(err)
		}
		fulcio := httptest.NewServer(a)
		t.Cleanup(fulcio.Close)
		token, err := a.Token(fulciotest.Claims{Subject: "1", Email: "release@example.org", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		certificates, err := a.LogKey()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("SIGSTORE_ID_TOKEN", token)
		t.Setenv("FULCIO_URL", fulcio.URL)
		push(t, p, signingtest.Trust{Identity: signingtest.Identity{
			Subject: "release@example.org", Issuer: fulciotest.Issuer, Fulcio: a.Root(), Certificates: certificates,
		}})
	})
}

// push pushes with the settings of `make push`, and verifies with what else is trusted than the transparency log.
func push(t *testing.T, p xpkg.Project, trust signingtest.Trust, settings ...string) {
	t.Helper()
	at := newRegistry(t)
	entries, err := rekortest.New()
	if err != nil {
		t.Fatal(err)
	}
	rekor := httptest.NewServer(entries)
	t.Cleanup(rekor.Close)
	if trust.Log, err = entries.PublicKey(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REKOR_URL", rekor.URL)
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	os.Args = append([]string{"sign"}, makes(t, append(settings, "REGISTRY="+at)...)...)
	main()

	install, err := os.ReadFile(p.InstallFile())
	if err != nil {
		t.Fatal(err)
	}
	verify := func(pkg, digest string, predicates ...string) {
		t.Helper()
		ref, err := name.NewDigest(at + "/" + pkg + "@" + digest)
		if err != nil {
			t.Fatal(err)
		}
		for _, predicate := range predicates {
			if err := trust.Verify(t.Context(), ref, predicate); err != nil {
				t.Errorf("%s: %q: %v", ref, predicate, err)
			}
		}
	}
	wants := map[string][]string{
		xpkg.FunctionName:      {"", signing.Provenance, signing.CycloneDX},
		xpkg.ConfigurationName: {"", signing.Provenance},
	}
	named := map[string]bool{}
	for _, m := range ours(at).FindAllStringSubmatch(string(install), -1) {
		named[m[1]] = true
		verify(m[1], m[2], wants[m[1]]...)
	}
	for pkg := range wants {
		if !named[pkg] {
			t.Errorf("%s doesn't name %s by its digest", p.InstallFile(), pkg)
		}
	}
	chart := "charts/" + xpkg.ChartName
	digest, err := crane.Digest(at + "/" + chart + ":" + strings.TrimPrefix(version(t, p), "v"))
	if err != nil {
		t.Fatal(err)
	}
	verify(chart, digest, "")
}

// ours matches the packages of this project that a file names by digest.
func ours(at string) *regexp.Regexp {
	return regexp.MustCompile(`(?:` + regexp.QuoteMeta(xpkg.PublishedRegistry) + `|` + regexp.QuoteMeta(at) + `)/([a-z-]+)(?::[^\s@]+)?@(sha256:[0-9a-f]{64})`)
}

func version(t *testing.T, p xpkg.Project) string {
	t.Helper()
	v, err := xpkg.Version(p.Root)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPushFails: what can't be signed isn't pushed, where that can be known before; if not, the error says that it was pushed.
func TestPushFails(t *testing.T) {
	p, key := build(t), signingtest.NewKey(t)
	broken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	all := []string{"acme/" + xpkg.FunctionName, "acme/" + xpkg.ConfigurationName}
	cases := map[string]struct {
		reason string
		c      cli
		want   string
		pushed []string
	}{
		"NoKey":         {"Nothing is pushed without a signature by mistake.", cli{}, "nothing to sign with", nil},
		"WrongPassword": {"A key of no use is found before.", cli{Key: key.File, Password: "other"}, "is COSIGN_PASSWORD its password?", nil},
		"NoLog":         {"Who pushed hears that it isn't signed.", cli{Key: key.File, Password: signingtest.Password, Rekor: broken.URL}, "the packages were pushed, but not all of them are signed", all},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			at := newRegistry(t)
			tc.c.Registry, tc.c.Out = at, "_output"
			if err := tc.c.run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nrun(...): want error with %q, got %v", tc.reason, tc.want, err)
			}
			host, _, _ := strings.Cut(at, "/")
			got, err := crane.Catalog(host)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.pushed, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("\n%s\nrun(...): pushed: -want, +got:\n%s", tc.reason, diff)
			}
			if _, err := os.Stat(p.InstallFile()); err == nil {
				t.Errorf("\n%s\nrun(...): want no %s", tc.reason, p.InstallFile())
			}
		})
	}
}
