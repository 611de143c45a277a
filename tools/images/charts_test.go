package images

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// TestPull: a chart comes from a repository with an index, which says what it is.
func TestPull(t *testing.T) {
	ch, err := loader.LoadDir("testdata/charts/argo-cd")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := xpkg.ArchiveOf(ch)
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.TrimPrefix(sum(archive), "sha256:")
	entry := "entries: {argo-cd: [{version: 10.1.1, urls: [%s], digest: %s}]}"
	for name, tc := range map[string]struct{ index, version, wrong string }{
		"Relative":    {fmt.Sprintf(entry, "files/a.tgz", digest), "10.1.1", ""},
		"NoDigest":    {fmt.Sprintf(entry, "files/a.tgz", `""`), "10.1.1", ""},
		"OtherDigest": {fmt.Sprintf(entry, "files/a.tgz", hex.EncodeToString(make([]byte, 32))), "10.1.1", "has digest"},
		"NoVersion":   {fmt.Sprintf(entry, "files/a.tgz", digest), "10.1.2", "doesn't have it"},
		"NoFile":      {fmt.Sprintf(entry, "files/b.tgz", digest), "10.1.1", "404"},
		"NoIndex":     {"", "10.1.1", "404"},
		"OtherChart":  {fmt.Sprintf(strings.Replace(entry, "10.1.1", "10.1.3", 1), "files/a.tgz", digest), "10.1.3", "is argo-cd 10.1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			if tc.index != "" {
				mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tc.index)) })
			}
			mux.HandleFunc("/charts/files/a.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
			s := httptest.NewServer(mux)
			defer s.Close()
			p, err := newCharts(nil, "", nil).get(t.Context(), Chart{Repository: s.URL + "/charts", Name: "argo-cd", Version: tc.version})
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("want %q, got %v", tc.wrong, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.digest != "sha256:"+digest || p.chart.Name() != "argo-cd" {
				t.Errorf("got %s with digest %s", p.chart.Name(), p.digest)
			}
		})
	}
}
