package helm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	"github.com/crossplane-contrib/provider-helm/pkg/clients/helm"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmregistry "helm.sh/helm/v3/pkg/registry"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// chartByDigest is no chart's name: the provider keeps charts by name and version in a folder of the machine.
const chartByDigest = "test-charts-by-digest"

// TestChartsByDigest: with the provider's own code, a Release with a digest gets the chart that has it, or none.
func TestChartsByDigest(t *testing.T) {
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	trust(t, server.Certificate())
	registries, err := helmregistry.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	repository := "oci://" + strings.TrimPrefix(server.URL, "https://") + "/charts"
	// push pushes a chart to a tag, and returns its digest.
	push := func(version, description string) string {
		t.Helper()
		file, err := chartutil.Save(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: chartByDigest, Version: version, Description: description}}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := registries.Push(data, strings.TrimPrefix(repository, "oci://")+"/"+chartByDigest+":"+version)
		if err != nil {
			t.Fatal(err)
		}
		return pushed.Manifest.Digest
	}
	ours := push("10.1.1", "ours")
	theirs := push("10.1.2", "theirs")
	moved := push("10.1.3", "before")
	push("10.1.3", "after")
	gone := "sha256:" + strings.Repeat("0", 64)

	cases := map[string]struct {
		reason          string
		version, digest string
		want, wantErr   string
	}{
		"Same":     {"The tag has the digest.", "10.1.1", ours, "ours", ""},
		"Untagged": {"A mirror may have no tag.", "10.1.4", theirs, "theirs", ""},
		"Moved":    {"The tag means another chart by now.", "10.1.3", moved, "", "digest mismatch"},
		"Gone":     {"Nothing has the digest.", "10.1.4", gone, "", "not found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cached := filepath.Join("/tmp/charts", chartByDigest+"@"+strings.Replace(tc.digest, ":", "-", 1)+".tgz")
			t.Cleanup(func() { _ = os.Remove(cached) })
			client, err := helm.NewClient(logging.NewNopLogger(), &rest.Config{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.PullAndLoadChart(releaseOf(t, repository, tc.version, tc.digest), &helm.RepoCreds{})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("\n%s\nPullAndLoadChart(...): want error with %q, got %v", tc.reason, tc.wantErr, err)
				}
				return
			}
			if err != nil || got.Metadata.Description != tc.want {
				t.Errorf("\n%s\nPullAndLoadChart(...): want chart %q, got %+v, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// releaseOf is the Release of argo-cd where the platform has a version of the chart with a digest.
func releaseOf(t *testing.T, repository, version, digest string) *helmv1beta1.Release {
	t.Helper()
	input, err := json.Marshal(v1alpha1.Input{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.Kind},
		Charts:   v1alpha1.Charts{ArgoCD: v1alpha1.Chart{Repository: repository, Name: chartByDigest, Version: version, Digests: map[string]string{version: digest}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := crossplanetest.New(t, `{}`, string(input)).Install().Observed(tenant.ArgoCDRelease).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r := &helmv1beta1.Release{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// trust has the provider's client, which takes its settings from there, trust a server for the time of a test.
func trust(t *testing.T, server *x509.Certificate) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server)
	transport := http.DefaultTransport.(*http.Transport)
	before := transport.TLSClientConfig
	t.Cleanup(func() { transport.TLSClientConfig = before })
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
}
