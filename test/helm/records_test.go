package helm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/proxy/helm"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/openapi"
)

// TestChartsAreWithinLimits: of Argo CD's chart, with its CustomResourceDefinitions, as many records as Helm ever keeps are within
// half of what the proxy of virtual clusters lets through. So is the schema of Applications.
func TestChartsAreWithinLimits(t *testing.T) {
	half := limits.Default
	half.RecordBytes, half.LargeValues, half.TextItems, half.LargeResponse = half.RecordBytes/2, half.LargeValues/2, half.TextItems/2, half.LargeResponse/2
	half.Values, half.Response = half.Values/2, half.Response/2
	for of, ch := range subjects(t) {
		t.Run(of, func(t *testing.T) {
			p, err := resolve.Tenant(tenant.Given{XRName: "a"})
			if err != nil {
				t.Fatal(err)
			}
			values := values.Merge(p.ArgoCD.Values, values.Values{"crds": values.Values{"install": true}, "redis-ha": values.Values{"enabled": false}})
			objects, err := charts.Render(ch, tenant.HelmArgoCD, tenant.ArgoCDNamespace, values)
			if err != nil {
				t.Fatal(err)
			}
			schemas := map[string]any{}
			for _, o := range objects {
				if o.GetKind() == "CustomResourceDefinition" {
					addSchemas(t, schemas, o)
				}
			}
			if len(schemas) < 3 {
				t.Fatalf("the chart has %d CustomResourceDefinitions: this shows little", len(schemas))
			}
			document, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": schemas}})
			if err != nil {
				t.Fatal(err)
			}
			switch document, err := openapi.Prune(half, document, []schema.GroupVersionKind{{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}}); {
			case err != nil:
				t.Error(err)
			case !bytes.Contains(document, []byte(`"targetRevision"`)):
				t.Errorf("the document is without the schema of Applications: %.200s", document)
			}
			record, err := json.Marshal(release.Release{Name: tenant.HelmArgoCD, Chart: ch, Config: values, Manifest: manifestOf(t, objects)})
			if err != nil {
				t.Fatal(err)
			}
			// maxHistory of the Release, and the one that is being written.
			list := corev1.SecretList{}
			for range 4 {
				list.Items = append(list.Items, corev1.Secret{Data: map[string][]byte{"release": memtest.Pack(record)}})
			}
			answer, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			if int64(len(answer)) > half.LargeResponse {
				t.Errorf("an answer has %d bytes, more than %d", len(answer), half.LargeResponse)
			}
			if err := helm.CheckRecords(half, answer); err != nil {
				t.Error(err)
			}
		})
	}
}

// manifestOf is the manifest in a record.
func manifestOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	out := &strings.Builder{}
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

// addSchemas adds the schemas of a definition as the API server's OpenAPI document has them, by their kinds.
func addSchemas(t *testing.T, schemas map[string]any, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		version := v.(map[string]any)
		schema, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if err != nil || !found {
			t.Fatalf("%s has no schema: %v", kind, err)
		}
		schema["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": group, "version": version["name"], "kind": kind}}
		schemas[kind] = schema
	}
}

// TestInterrupted: Helm reads the records of a release in which it was interrupted as those of one that has failed.
func TestInterrupted(t *testing.T) {
	written := fake.NewClientset()
	records := storage.Init(driver.NewSecrets(written.CoreV1().Secrets("argocd")))
	for version, status := range map[int]release.Status{1: release.StatusSuperseded, 2: release.StatusPendingUpgrade, 3: release.StatusPendingRollback} {
		err := records.Create(&release.Release{
			Name: "argocd", Namespace: "argocd", Version: version, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "argo-cd", Version: "1.0.0"}},
			Config: map[string]any{"status": "pending-rollback"}, Info: &release.Info{Status: status, Description: "Rollback to 1", Notes: "to be read"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := written.CoreV1().Secrets("argocd").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = helm.ShowInterruptedAsFailed(limits.Default, answer)
	if err != nil {
		t.Fatal(err)
	}
	shown := corev1.SecretList{}
	if err := json.Unmarshal(answer, &shown); err != nil {
		t.Fatal(err)
	}
	read := storage.Init(driver.NewSecrets(fake.NewClientset(&shown).CoreV1().Secrets("argocd")))
	last, err := read.Last("argocd")
	if err != nil {
		t.Fatal(err)
	}
	if last.Version != 3 || last.Info.Status != release.StatusFailed || last.Info.Notes != "to be read" || last.Config["status"] != "pending-rollback" || last.Chart.Metadata.Version != "1.0.0" {
		t.Errorf("Helm reads %+v of revision %d with values %v", last.Info, last.Version, last.Config)
	}
	before, err := read.Get("argocd", 2)
	if err != nil || before.Info.Status != release.StatusPendingUpgrade {
		t.Errorf("Helm reads %v of the revision before: %v", before, err)
	}
}
