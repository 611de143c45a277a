package ociimage

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestStatic(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "function")
	if err := os.WriteFile(binary, []byte("not really a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := Static(binary, Config{Architecture: "arm64"}, File{Path: CACertificates, Content: "certificates"})
	if err != nil {
		t.Fatal(err)
	}
	img = stored(t, img)
	if err := validate.Image(img); err != nil {
		t.Errorf("validate.Image(...): %v", err)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{cf.OS, cf.Architecture, cf.Config.User, strings.Join(cf.Config.Entrypoint, " ")}
	want := []string{"linux", "arm64", "65532:65532", "/function"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration: -want, +got:\n%s", diff)
	}
	entries := []string{
		"etc/ drwxr-xr-x 0", "etc/group -rw-r--r-- 0", "etc/passwd -rw-r--r-- 0",
		"etc/ssl/certs/ca-certificates.crt -rw-r--r-- 0", "function -rwxr-xr-x 0",
		"home/ drwxr-xr-x 0", "home/nonroot/ drwx------ 65532", "tmp/ dtrwxrwxrwx 0",
	}
	if diff := cmp.Diff(entries, list(t, img)); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
}

func TestImageIsReproducible(t *testing.T) {
	dir := t.TempDir()
	var digests []string
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		var files []File
		for _, name := range order {
			// Written anew each time: a later time stamp must not show.
			source := filepath.Join(dir, name)
			if err := os.WriteFile(source, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, File{Path: "/" + name, Source: source})
		}
		for _, layer := range []func([]File) (v1.Layer, error){Layer, PlainLayer} {
			l, err := layer(files)
			if err != nil {
				t.Fatal(err)
			}
			img, err := Build(Config{Architecture: "amd64"}, l)
			if err != nil {
				t.Fatal(err)
			}
			d, err := img.Digest()
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, d.String())
		}
	}
	if diff := cmp.Diff(digests[:2], digests[2:]); diff != "" {
		t.Errorf("digests of two builds: -first, +second:\n%s", diff)
	}
}

func TestLayerRefusesBadFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  []File
		want   string
	}{
		"RelativePath":  {"A path must start at the image's root.", []File{{Path: "bin/a"}}, `path "bin/a"`},
		"UncleanPath":   {"Two spellings of one path would hide a duplicate.", []File{{Path: "/bin/../a"}}, "clean"},
		"TwoKinds":      {"A link has no content.", []File{{Path: "/a", Link: "b", Content: "c"}}, "one of"},
		"Twice":         {"The second entry would silently win.", []File{{Path: "/a"}, {Path: "/a"}}, "listed twice"},
		"MissingSource": {"The error must name the file.", []File{{Path: "/a", Source: "/no/such/file"}}, "/no/such/file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := PlainLayer(tc.files)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nPlainLayer(...): want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// stored writes an image to disk and reads it back, as a registry does.
func stored(t *testing.T, img v1.Image) v1.Image {
	t.Helper()
	dir, err := layout.Write(t.TempDir(), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	hash, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	img, err = dir.Image(hash)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// list names every entry of an image's layers with its mode and owner.
func list(t *testing.T, img v1.Image) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		tr := tar.NewReader(r)
		for {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, h.Name+" "+h.FileInfo().Mode().String()+" "+strconv.Itoa(h.Uid))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return entries
}
