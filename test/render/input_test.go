package render

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// labInput is the function's input in the embedded cluster, on which end-to-end tests run.
const labInput = "lab/platform/input.yaml"

// notInCluster are the fields that no end-to-end test sets, and why. What is rendered with them is tested here.
var notInCluster = map[string]string{
	"host.apiServer.port":        "the embedded cluster's API server has the default port",
	"charts.vcluster.version":    "the embedded cluster has the default version",
	"charts.vcluster.digests":    "the embedded cluster has its charts in no OCI registry; test/helm pulls one with the provider's code",
	"charts.argocd.digests":      "as charts.vcluster.digests",
	"images.registry":            "the embedded cluster has the images under the names of the charts",
	"images.vcluster.registry":   "as images.registry",
	"images.vcluster.repository": "as images.registry",
	"images.vcluster.tag":        "as images.registry",
	"storage.storageClass":       "plans set it in end-to-end tests",
	"network.dns":                "the embedded cluster has the resolver of dns.yaml",
	"network.disabled":           "test/network shows what NetworkPolicies refuse",
	"backup.secretName":          "the embedded cluster has the Secret under its default name",
	"backup.maxKeep":             "what is refused with it is decided by the function alone",
	"backup.argocd.registry":     "as images.registry",
	"backup.argocd.repository":   "as images.registry",
	"backup.argocd.tag":          "the tenants' version is saved with that version",
	"images.kubectl.registry":    "as images.registry",
	"images.kubectl.repository":  "as images.registry",
	"images.kubectl.tag":         "as images.registry",
	"backup.rclone.registry":     "as images.registry",
	"backup.rclone.repository":   "as images.registry",
	"backup.rclone.tag":          "as images.registry",
	"ingress.gateway":            "a plan sets it in end-to-end tests",
	"ingress.tls.clusterIssuers": "the embedded cluster has no cert-manager; test/admission shows what the policy refuses",
	"ingress.tls.issuer.name":    "claims set it in end-to-end tests, and the embedded cluster has no cert-manager",
	"ingress.tls.issuer.kind":    "as ingress.tls.issuer.name",
}

// otherInputs are those with which TestOtherInput brings up tenants, and looks for the effect of each of their fields.
const otherInputs = "test/e2e/testdata/input/*.yaml"

// TestEveryFieldOfTheInputIsTried walks the type of the function's input. A whole tenant is rendered with each of its fields, and its
// token is one that the proxy accepts. An end-to-end test sets the field, or notInCluster says why none does.
func TestEveryFieldOfTheInputIsTried(t *testing.T) {
	t.Parallel()
	rendered, clusters, others := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, tenant := range wholeTenants {
		if tenant.input != "" {
			maps.Copy(rendered, fieldsSet(t, tenant.input))
		}
	}
	maps.Copy(clusters, fieldsSet(t, labInput))
	files, err := filepath.Glob(filepath.Join(root, otherInputs))
	check(t, err)
	for _, file := range files {
		maps.Copy(others, fieldsSet(t, strings.TrimPrefix(file, root)))
	}
	fields := fieldsOf(reflect.TypeFor[v1alpha1.Input](), "")
	if len(fields) < 30 {
		t.Fatalf("the input has %d fields: %v", len(fields), fields)
	}
	for _, field := range fields {
		if !rendered[field] {
			t.Errorf("no tenant is rendered with %s: set it in an input of test/render/testdata", field)
		}
		ways := 0
		for _, tries := range []bool{clusters[field], others[field], notInCluster[field] != ""} {
			if tries {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("want one of these for %s, have %d: %s sets it, or one of %s, or notInCluster says why none does", field, ways, labInput, otherInputs)
		}
	}
	for field := range notInCluster {
		if !slices.Contains(fields, field) {
			t.Errorf("notInCluster has %s, and the input hasn't", field)
		}
	}
}

// fieldsOf returns the paths of all fields of a type that have no fields of their own, in the form a.b.
func fieldsOf(typ reflect.Type, prefix string) []string {
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "metadata" {
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(f.Type, prefix+name+".")...)
			continue
		}
		out = append(out, prefix+name)
	}
	return out
}

// fieldsSet returns the paths that a file with an input sets, and those above them.
func fieldsSet(t *testing.T, file string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	var walk func(prefix string, fields map[string]any)
	walk = func(prefix string, fields map[string]any) {
		for name, value := range fields {
			out[prefix+name] = true
			if below, ok := value.(map[string]any); ok {
				walk(prefix+name+".", below)
			}
		}
	}
	walk("", read(t, filepath.Join(root, file))[0].Object)
	return out
}
