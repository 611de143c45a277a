package helm

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/images"
)

// TestImagesOfVCluster: the images that vcluster starts itself are those of its program.
func TestImagesOfVCluster(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := cache.ModuleDir(context.Background(), "vcluster")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	entries := regexp.MustCompile(`"(\d+\.\d+)":\s+"(coredns/[^"]+)"`).FindAllStringSubmatch(read("pkg/constants/coredns.go"), -1)
	if len(entries) < 5 {
		t.Fatalf("vcluster has its images elsewhere: %v", entries)
	}
	for _, e := range entries {
		if got := images.DNSImage("v" + e[1] + ".7"); got != e[2] {
			t.Errorf("Kubernetes %s: want %s, got %s", e[1], e[2], got)
		}
	}
	if text := read("pkg/coredns/coredns.go"); !strings.Contains(text, `DefaultImage = "`+images.DNSImage("v1.99.0")+`"`) || !strings.Contains(text, `DefaultImageRegistry = "docker.io"`) {
		t.Error("vcluster has another image or registry by default")
	}
}

// TestImagesOfTenants: what a tenant needs, by the charts of vcluster and the test chart argo-cd.
func TestImagesOfTenants(t *testing.T) {
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := artifacts.PackageCharts(context.Background(), cache, "", folder); err != nil {
		t.Fatal(err)
	}
	of := images.Installation{Tenants: []map[string]any{{
		"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDPlan", "metadata": map[string]any{"name": "etcd"},
		"spec": map[string]any{"vcluster": map[string]any{"backingStore": "etcd", "replicas": 3}},
	}}}
	if of.Input, err = images.ReadInput("../../lab/platform/input.yaml"); err != nil {
		t.Fatal(err)
	}
	// Their charts are in the folder only where their programs are built.
	of.Input["components"] = []any{}
	list, err := images.NewLister([]string{folder}, "").List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range list.Items {
		if item.Kind == images.KindImage {
			got = append(got, item.Name)
		}
	}
	want := []string{
		"docker.io/coredns/coredns:1.14.2", "ecr-public.aws.com/docker/library/redis:8.2.3-alpine", "ghcr.io/loft-sh/kubernetes:v1.36.3",
		"ghcr.io/loft-sh/vcluster-oss:" + tenant.DefaultVClusterVersion, artifacts.ArgoCDImage(toolchain.ArgoCD), artifacts.EtcdImage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
