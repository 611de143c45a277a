package artifacts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// servedPath is where the registry says what was served.
const servedPath = "/served"

// Served is what was read from the registry and the chart repository since they have run. What was only looked up isn't in it.
type Served struct {
	// Images are repositories with digests: ghcr.io/loft-sh/kubernetes@sha256:...
	Images []string `json:"images"`
	// Charts are files: vcluster-0.36.1.tgz.
	Charts []string `json:"charts"`
}

// ReadServed asks a registry that Serve runs, at host and port, what was served.
func ReadServed(ctx context.Context, registry string) (Served, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+registry+servedPath, nil)
	if err != nil {
		return Served{}, err
	}
	// A transport of our own: the environment's proxy is not for this address.
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return Served{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return Served{}, fmt.Errorf("the registry answers %s", resp.Status)
	}
	var out Served
	return out, json.NewDecoder(resp.Body).Decode(&out)
}

// record records what is served.
type record struct {
	mu             sync.Mutex
	images, charts map[string]bool
}

func newRecord() *record { return &record{images: map[string]bool{}, charts: map[string]bool{}} }

func (r *record) add(to map[string]bool, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to[what] = true
}

// ofImages records the manifests that a registry serves, and says on servedPath what was served.
func (r *record) ofImages(registry http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == servedPath {
			r.mu.Lock()
			defer r.mu.Unlock()
			_ = json.NewEncoder(w).Encode(Served{Images: slices.Sorted(maps.Keys(r.images)), Charts: slices.Sorted(maps.Keys(r.charts))})
			return
		}
		repository, _, isManifest := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/manifests/")
		if !isManifest || req.Method != http.MethodGet {
			registry.ServeHTTP(w, req)
			return
		}
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		registry.ServeHTTP(answer, req)
		if digest := w.Header().Get("Docker-Content-Digest"); answer.status == http.StatusOK && digest != "" {
			r.add(r.images, repository+"@"+digest)
		}
	})
}

// ofCharts records the archives that a chart repository serves.
func (r *record) ofCharts(repository http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		repository.ServeHTTP(answer, req)
		if file := path.Base(req.URL.Path); req.Method == http.MethodGet && answer.status == http.StatusOK && strings.HasSuffix(file, ".tgz") {
			r.add(r.charts, file)
		}
	})
}

// answer remembers the status of a response.
type answer struct {
	http.ResponseWriter

	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
