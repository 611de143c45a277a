package artifacts

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

func TestRegistryServesTheStoreAndTakesPushes(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	stored := image(t, "one")
	if err := s.put("ghcr.io/loft-sh/kubernetes:v1", "key", stored); err != nil {
		t.Fatal(err)
	}
	pushed := t.TempDir()
	server := httptest.NewServer(newRegistry(s, pushed))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	if err := publish(ctx, address, s, map[string]string{"ghcr.io/other:v2": "ghcr.io/loft-sh/kubernetes:v1"}); err != nil {
		t.Fatal(err)
	}

	want, err := stored.Digest()
	if err != nil {
		t.Fatal(err)
	}
	const kubernetes = "/ghcr.io/loft-sh/kubernetes"
	for _, ref := range []string{kubernetes + ":v1", kubernetes + "@" + want.String(), "/ghcr.io/other:v2"} {
		got := pull(t, address+ref)
		if d, _ := got.Digest(); d != want {
			t.Errorf("pulling %s: want %s, got %s", ref, want, d)
		}
		if diff := contents(t, got); diff != "one" {
			t.Errorf("pulling %s: the image has %q", ref, diff)
		}
	}

	ours, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(address + "/xpkg.crossplane.io/a/b:v2")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, ours); err != nil {
		t.Fatalf("pushing: %v", err)
	}
	want, _ = ours.Digest()
	if d, _ := pull(t, ref.String()).Digest(); d != want {
		t.Errorf("pulling what was pushed: want %s, got %s", want, d)
	}
	// The cache is shared and must not grow with what a test pushes.
	blobs, err := filepath.Glob(filepath.Join(s.dir, "blobs", "*", "*"))
	if err != nil || len(blobs) != 3 {
		t.Errorf("want the stored image's 3 blobs in the cache, got %v, %v", blobs, err)
	}
}

func TestStoreKnowsWhatToBuildAgain(t *testing.T) {
	s := newStore(t)
	if err := s.put("a:1", "key", image(t, "one")); err != nil {
		t.Fatal(err)
	}
	if err := s.put("b:1", "key", image(t, "two")); err != nil {
		t.Fatal(err)
	}
	if err := s.put("a:1", "newer", image(t, "three")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, key string
		want      bool
	}{{"a:1", "newer", true}, {"a:1", "key", false}, {"b:1", "key", true}, {"c:1", "key", false}} {
		if got, err := s.has(tc.name, tc.key); got != tc.want || err != nil {
			t.Errorf("has(%s, %s): want %t, got %t, %v", tc.name, tc.key, tc.want, got, err)
		}
	}
	if err := s.keep([]string{"a:1"}); err != nil {
		t.Fatal(err)
	}
	if images, err := s.list(); len(images) != 1 || err != nil {
		t.Errorf("keep(a:1): want one image, got %v, %v", images, err)
	}
}

func TestRecipeKeyFollowsItsFiles(t *testing.T) {
	source := filepath.Join(t.TempDir(), "tool")
	key := func(content string, r recipe) string {
		t.Helper()
		if err := os.WriteFile(source, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := r.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	r := recipe{Name: "a:1", Files: []ociimage.File{{Path: "/tool", Source: source}}}
	first := key("one", r)
	if first == key("longer", r) {
		t.Error("another source file must give another key")
	}
	r.Config.User = "7"
	if first == key("one", r) {
		t.Error("another configuration must give another key")
	}
}

func newStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func image(t *testing.T, content string) v1.Image {
	t.Helper()
	layer, err := ociimage.PlainLayer([]ociimage.File{{Path: "/content", Content: content}})
	if err != nil {
		t.Fatal(err)
	}
	img, err := ociimage.Build(ociimage.Config{Architecture: "amd64"}, layer)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
