//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sigstore"
	"github.com/virtual-argocd/virtual-argocd/tools/signing"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// signatures is a platform whose Crossplane verifies packages as examples/install/verification.yaml says.
type signatures struct {
	services    sigstore.Services
	crossplane  verifyingCrossplane
	key         *corev1.Secret
	imageConfig *unstructured.Unstructured
	// Three packages, of which each has an XRD.
	unsigned, otherKey, signed *unstructured.Unstructured
}

// TestSignatures runs with no other test beside it: Crossplane restarts.
func TestSignatures(t *testing.T) {
	needsEmbedded(t)
	s := &signatures{}
	testenv.Test(t, features.New("signatures").
		Setup(s.create).
		Assess("TheSignedPackageIsInstalled", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s.installs(ctx, t, s.signed)
			return ctx
		}).
		Assess("TheProductIsAccepted", s.product).
		Assess("OthersAreNot", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s.refuses(ctx, t, s.unsigned, "no signatures found")
			s.refuses(ctx, t, s.otherKey, "comparing public key PEMs")
			return ctx
		}).
		Assess("WithoutTheImageConfigAllAre", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			remove(ctx, t, s.imageConfig)
			s.installs(ctx, t, s.unsigned)
			s.installs(ctx, t, s.otherKey)
			return ctx
		}).
		Teardown(s.clean).Feature())
}

func (s *signatures) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.services = sigstore.Start(ctx, t)
	ours, public := s.signer(ctx, t)
	theirs, _ := s.signer(ctx, t)
	sign := func(by *signing.Signer, ref name.Digest) {
		t.Helper()
		if err := by.Sign(ctx, ref); err != nil {
			t.Fatal(err)
		}
	}
	sign(ours, digestOf(ctx, t, findPackage(ctx, t, functions, xpkg.PublishedRegistry+"/"+xpkg.FunctionName)))
	sign(ours, digestOf(ctx, t, findPackage(ctx, t, configurations, xpkg.PublishedRegistry+"/"+xpkg.ConfigurationName)))
	s.unsigned, s.otherKey, s.signed = pushXRD(ctx, t, "unsigned"), pushXRD(ctx, t, "other-key"), pushXRD(ctx, t, "signed")
	sign(theirs, digestOf(ctx, t, s.otherKey))
	sign(ours, digestOf(ctx, t, s.signed))

	s.key = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "virtual-argocd-signing-key", Namespace: crossplane}, Data: map[string][]byte{"cosign.pub": public},
	}
	if _, err := host.Typed.CoreV1().Secrets(crossplane).Create(ctx, s.key, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.imageConfig = examplesOf(t, "install/verification.yaml")[0]
	matches, _, _ := unstructured.NestedSlice(s.imageConfig.Object, "spec", "matchImages")
	set(t, s.imageConfig, append(matches, map[string]any{"type": "Prefix", "prefix": packages + "/"}), "spec", "matchImages")
	add(ctx, t, s.imageConfig)
	s.crossplane.start(ctx, t, s.services.Root)
	add(ctx, t, s.unsigned, s.otherKey, s.signed)
	return ctx
}

// signer makes a key, and returns who signs with it, and the public key.
func (s *signatures) signer(ctx context.Context, t *testing.T) (*signing.Signer, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := cryptoutils.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "signing.key")
	if err := os.WriteFile(file, private, 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := signing.New(ctx, signing.Options{Key: file, Rekor: s.services.Rekor})
	if err != nil {
		t.Fatal(err)
	}
	return signer, public
}

var definitions = schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositeResourceDefinition"}

// xrd is the name of the XRD in a package of pushXRD.
func xrd(pkg *unstructured.Unstructured) string { return "xtries." + pkg.GetName() + ".example.org" }

// pushXRD pushes a package with an XRD, and returns the Configuration that installs it.
func pushXRD(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(configurations)
	o.SetName("e2e-" + name)
	set(t, o, published(o.GetName(), "v1.0.0"), "spec", "package")
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "package.xpkg")
	for path, content := range map[string]string{
		"crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: " + o.GetName() + "}\n",
		"xrd.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: ` + xrd(o) + `}
spec:
  group: ` + o.GetName() + `.example.org
  names: {kind: XTry, plural: xtries}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (xpkg.Contents{Root: dir}).Build(file); err != nil {
		t.Fatal(err)
	}
	if _, err := xpkg.PushFiles(ctx, packages+"/"+o.GetName()+":v1.0.0", nil, file); err != nil {
		t.Fatal(err)
	}
	return o
}

// digestOf is what Crossplane installs for a package, in the registry that it pulls from.
func digestOf(ctx context.Context, t *testing.T, pkg *unstructured.Unstructured) name.Digest {
	t.Helper()
	published, _, _ := unstructured.NestedString(pkg.Object, "spec", "package")
	ref, err := name.ParseReference(strings.Replace(published, xpkg.PublishedRegistry, packages, 1))
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Head(ref, remote.WithContext(ctx))
	if err != nil {
		t.Fatalf("cannot find package %s: %v", published, err)
	}
	return ref.Context().Digest(found.Digest.String())
}

// product checks that Crossplane accepts our packages. It has looked at them since the restart, which has emptied its cache: at its start it
// looks at all, and later at the one that is installed by now.
func (s *signatures) product(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for kind, o := range map[string]*unstructured.Unstructured{
		"FunctionRevision":      findPackage(ctx, t, functions, xpkg.PublishedRegistry+"/"+xpkg.FunctionName),
		"ConfigurationRevision": findPackage(ctx, t, configurations, xpkg.PublishedRegistry+"/"+xpkg.ConfigurationName),
	} {
		name, _, _ := unstructured.NestedString(o.Object, "status", "currentRevision")
		revision, err := all(t, functions.GroupVersion().WithKind(kind)).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []metav1.Condition{condition(o, "Installed"), condition(o, "Healthy"), condition(revision, "RevisionHealthy")} {
			if c.Status != metav1.ConditionTrue {
				t.Errorf("%s isn't accepted: %+v", nameOf(o), c)
			}
		}
	}
	return ctx
}

func (s *signatures) installs(ctx context.Context, t *testing.T, pkg *unstructured.Unstructured) {
	t.Helper()
	eventually.True(ctx, t, 3*time.Minute, nameOf(pkg)+" is installed", func(ctx context.Context) (bool, string) {
		o, err := all(t, configurations).Get(ctx, pkg.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		if condition(o, "Installed").Status != metav1.ConditionTrue || condition(o, "Healthy").Status != metav1.ConditionTrue {
			return false, fmt.Sprint(o.Object["status"])
		}
		_, err = all(t, definitions).Get(ctx, xrd(pkg), metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// refuses checks that a package isn't installed, and that Crossplane says why.
func (s *signatures) refuses(ctx context.Context, t *testing.T, pkg *unstructured.Unstructured, why string) {
	t.Helper()
	eventually.True(ctx, t, 2*time.Minute, "Crossplane says why "+nameOf(pkg)+" isn't installed", func(ctx context.Context) (bool, string) {
		o, err := all(t, configurations).Get(ctx, pkg.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, kind := range []string{"Installed", "Healthy"} {
			c := condition(o, kind)
			if c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "signature verification failed") && strings.Contains(c.Message, why) {
				return true, ""
			}
		}
		return false, fmt.Sprint(o.Object["status"])
	})
	if _, err := all(t, definitions).Get(ctx, xrd(pkg), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the XRD of %s: want none, got %v", nameOf(pkg), err)
	}
}

func (s *signatures) clean(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	cleanUp(ctx, t)
	if t.Failed() && keep {
		return ctx
	}
	remove(ctx, t, s.imageConfig, s.unsigned, s.otherKey, s.signed)
	if s.key != nil {
		if err := host.Typed.CoreV1().Secrets(crossplane).Delete(ctx, s.key.Name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	s.crossplane.stop(ctx, t)
	return ctx
}

// add creates objects of the whole cluster.
func add(ctx context.Context, t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if _, err := all(t, o.GroupVersionKind()).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			t.Fatalf("cannot create %s: %v", nameOf(o), err)
		}
	}
}

// remove deletes objects of the whole cluster, those that are there.
func remove(ctx context.Context, t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o == nil {
			continue
		}
		if err := all(t, o.GroupVersionKind()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}
