package artifacts

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestServed: what was pulled is told, by tag or by digest, and neither what was pushed, nor what was only looked up, nor what isn't there.
func TestServed(t *testing.T) {
	ctx, s := context.Background(), newStore(t)
	r := newRecord()
	images := httptest.NewServer(r.ofImages(newRegistry(s, t.TempDir())))
	defer images.Close()
	address := strings.TrimPrefix(images.URL, "http://")
	for path, content := range map[string]string{"quay.io/a/tagged:v1": "one", "quay.io/a/digest:v1": "two", "quay.io/a/none:v1": "three"} {
		if err := s.put(path, "key", image(t, content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish(ctx, address, s, nil); err != nil {
		t.Fatal(err)
	}
	digest := func(path string) string {
		ref, err := name.ParseReference(address + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := remote.Head(ref)
		if err != nil {
			t.Fatal(err)
		}
		return d.Digest.String()
	}
	byDigest := "quay.io/a/digest@" + digest("quay.io/a/digest:v1")
	pull(t, address+"/quay.io/a/tagged:v1")
	pull(t, address+"/"+byDigest)
	digest("quay.io/a/none:v1")
	missing, err := http.Get(images.URL + "/v2/quay.io/a/other/manifests/v1")
	if err != nil || missing.StatusCode != http.StatusNotFound {
		t.Fatalf("what isn't there: %v, %v", missing, err)
	}
	if err := missing.Body.Close(); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for _, file := range []string{"a-1.tgz", "b-1.tgz", "index.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	charts := httptest.NewServer(r.ofCharts(http.FileServer(http.Dir(dir))))
	defer charts.Close()
	for _, file := range []string{"index.yaml", "a-1.tgz", "c-1.tgz"} {
		answer, err := http.Get(charts.URL + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}

	got, err := ReadServed(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	want := Served{Images: []string{byDigest, "quay.io/a/tagged@" + digest("quay.io/a/tagged:v1")}, Charts: []string{"a-1.tgz"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
