package images

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// Limits of what is read of a repository of charts.
const (
	largestIndex = 64 << 20
	largestChart = 64 << 20
)

// Charts pulls charts, each once.
type Charts struct {
	// Folders have charts in place of their repositories: archives, and folders of charts.
	folders []string
	options []remote.Option
	// from is where artifacts in registries are read instead.
	from source

	pulled  map[string]pulled
	indices map[string]index
}

// A pulled chart.
type pulled struct {
	chart   *chart.Chart
	archive []byte
	digest  string
}

// index is index.yaml of a repository.
type index struct {
	Entries map[string][]struct {
		Version string   `json:"version"`
		URLs    []string `json:"urls"`
		Digest  string   `json:"digest"`
	} `json:"entries"`
}

func newCharts(folders []string, from source, options []remote.Option) *Charts {
	return &Charts{folders: folders, from: from, options: options, pulled: map[string]pulled{}, indices: map[string]index{}}
}

// get returns a chart.
func (c *Charts) get(ctx context.Context, is Chart) (pulled, error) {
	if p, ok := c.pulled[is.String()]; ok {
		return p, nil
	}
	p, err := c.local(is)
	if err == nil && p.archive == nil {
		if strings.HasPrefix(is.Repository, "oci://") {
			p, err = c.fromRegistry(ctx, is)
		} else {
			p, err = c.fromRepository(ctx, is)
		}
	}
	if err == nil && p.chart == nil {
		p.chart, err = loader.LoadArchive(bytes.NewReader(p.archive))
	}
	if err != nil {
		return p, fmt.Errorf("cannot pull chart %s: %w", is, err)
	}
	if p.chart.Name() != is.Name || p.chart.Metadata.Version != is.Version {
		return p, fmt.Errorf("chart %s is %s %s", is, p.chart.Name(), p.chart.Metadata.Version)
	}
	c.pulled[is.String()] = p
	return p, nil
}

// alias makes a chart that was pulled that of another place, too.
func (c *Charts) alias(is, also Chart) {
	if p, ok := c.pulled[is.String()]; ok {
		c.pulled[also.String()] = p
	}
}

// local returns a chart in one of the folders; nothing where none has it.
func (c *Charts) local(is Chart) (pulled, error) {
	for _, folder := range c.folders {
		archives, err := filepath.Glob(filepath.Join(folder, is.Name+"-*.tgz"))
		if err != nil {
			return pulled{}, err
		}
		for _, file := range archives {
			raw, err := os.ReadFile(file)
			if err != nil {
				return pulled{}, err
			}
			ch, err := loader.LoadArchive(bytes.NewReader(raw))
			if err != nil {
				return pulled{}, fmt.Errorf("%s: %w", file, err)
			}
			if ch.Name() == is.Name && ch.Metadata.Version == is.Version {
				return pulled{chart: ch, archive: raw, digest: sum(raw)}, nil
			}
		}
		for _, dir := range []string{folder, filepath.Join(folder, is.Name)} {
			if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
				continue
			}
			ch, err := loader.LoadDir(dir)
			if err != nil {
				return pulled{}, fmt.Errorf("%s: %w", dir, err)
			}
			if ch.Name() == is.Name && ch.Metadata.Version == is.Version {
				raw, err := xpkg.ArchiveOf(ch)
				return pulled{chart: ch, archive: raw, digest: sum(raw)}, err
			}
		}
	}
	return pulled{}, nil
}

// fromRegistry pulls a chart from an OCI registry.
func (c *Charts) fromRegistry(ctx context.Context, is Chart) (pulled, error) {
	reference := strings.TrimPrefix(strings.TrimSuffix(is.Repository, "/"), "oci://") + "/" + is.Name
	if is.Digest != "" {
		reference += "@" + is.Digest
	} else {
		// A tag can't have a +.
		reference += ":" + strings.ReplaceAll(is.Version, "+", "_")
	}
	ref, err := c.from.parse(reference)
	if err != nil {
		return pulled{}, err
	}
	img, err := remote.Image(ref, append(c.options, remote.WithContext(ctx))...)
	if err != nil {
		return pulled{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return pulled{}, err
	}
	layers, err := img.Layers()
	if err != nil {
		return pulled{}, err
	}
	for _, layer := range layers {
		if t, err := layer.MediaType(); err != nil || t != xpkg.ChartContentType {
			continue
		}
		r, err := layer.Compressed()
		if err != nil {
			return pulled{}, err
		}
		raw, err := readAll(r, largestChart)
		return pulled{archive: raw, digest: digest.String()}, err
	}
	return pulled{}, fmt.Errorf("%s is no Helm chart", ref)
}

// fromRepository pulls a chart from a repository that has an index.yaml.
func (c *Charts) fromRepository(ctx context.Context, is Chart) (pulled, error) {
	base := strings.TrimSuffix(is.Repository, "/") + "/"
	in, ok := c.indices[base]
	if !ok {
		raw, err := get(ctx, base+"index.yaml", largestIndex)
		if err != nil {
			return pulled{}, err
		}
		if err := yaml.Unmarshal(raw, &in); err != nil {
			return pulled{}, fmt.Errorf("cannot parse %sindex.yaml: %w", base, err)
		}
		c.indices[base] = in
	}
	for _, e := range in.Entries[is.Name] {
		if e.Version != is.Version || len(e.URLs) == 0 {
			continue
		}
		at, err := url.Parse(base)
		if err != nil {
			return pulled{}, err
		}
		file, err := at.Parse(e.URLs[0])
		if err != nil {
			return pulled{}, err
		}
		raw, err := get(ctx, file.String(), largestChart)
		if err != nil {
			return pulled{}, err
		}
		digest := sum(raw)
		if want := strings.TrimPrefix(e.Digest, "sha256:"); want != "" && digest != "sha256:"+want {
			return pulled{}, fmt.Errorf("%s has digest %s, and %sindex.yaml says sha256:%s", file.Redacted(), digest, base, want)
		}
		return pulled{archive: raw, digest: digest}, nil
	}
	return pulled{}, errors.New("the repository doesn't have it")
}

// get reads from a server.
func get(ctx context.Context, from string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", req.URL.Redacted(), resp.Status)
	}
	return readAll(resp.Body, most)
}

// readAll reads and closes r, unless it is larger than most.
func readAll(r io.ReadCloser, most int64) ([]byte, error) {
	defer r.Close() //nolint:errcheck // Only read.
	raw, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return raw, err
}

func sum(raw []byte) string {
	digest := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// source is where images are read: a registry, optionally with a path, that has them under their whole names; "" for the registries that they name.
type source string

// parse parses a reference.
func (s source) parse(reference string) (name.Reference, error) {
	if s != "" {
		reference = strings.TrimSuffix(string(s), "/") + "/" + withRegistry(reference)
	}
	// With a tag and a digest, the digest counts.
	if at := digestOf(reference); at != "" {
		repository, _, _ := strings.Cut(reference, "@")
		if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
			repository = repository[:i]
		}
		reference = cmp.Or(repository, reference) + "@" + at
	}
	return name.ParseReference(reference)
}
