package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// recorded returns a record of Helm with a manifest, with a chart before it, as Helm writes it.
func recorded(t testing.TB, manifest string) []byte {
	t.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return packedBest(t, `{"name":"argocd","info":{"status":"deployed","description":"manifest"},"chart":{"templates":[{"name":"a","data":"e30="}],"manifest":"no\nkind: No"},"config":null,"manifest":`+string(text)+`,"version":3,"namespace":"argocd"}`)
}

func packedBest(t testing.TB, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

// TestObjects: the objects of a manifest are found, however its chart writes them, and nothing in them is taken for one.
func TestObjects(t *testing.T) {
	t.Parallel()
	config := Object{"v1", "ConfigMap", "argocd", "argocd-rbac-cm"}
	for name, tc := range map[string]struct {
		manifest string
		want     []Object
	}{
		"Helm":     {"---\n# Source: argo-cd/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-rbac-cm\n  namespace: \"argocd\"\n  labels:\n    name: other\ndata:\n  policy.csv: \"\"\n", []Object{config}},
		"KeysLast": {"data:\n  kind: Secret\nmetadata:\n    namespace: argocd # here\n    name: 'argocd-rbac-cm'\nkind: ConfigMap\napiVersion: \"v1\"\n", []Object{config}},
		"Flow":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-rbac-cm, namespace: argocd}\n", []Object{config}},
		"Two": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-rbac-cm\n  namespace: argocd\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: a:b\n",
			[]Object{config, {"rbac.authorization.k8s.io/v1", "ClusterRole", "", "a:b"}}},
		"TextWithin":  {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-rbac-cm\n  namespace: argocd\ndata:\n  a: |\n    ---\n    kind: Secret\n    metadata:\n      name: b\n\n  b: c\n", []Object{config}},
		"Empty":       {"---\n---\n\n# Nothing\n---\n", nil},
		"NoName":      {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {}\n", nil},
		"NameIsNoStr": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [a]\n", nil},
		"Broken":      {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a: b\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-rbac-cm\n  namespace: argocd\n", []Object{config}},
		"Anchor":      {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: &a b\n", nil},
		"LongHead":    {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    b: " + strings.Repeat("c", maxHead) + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Objects(recorded(t, tc.manifest))
			if err != nil || cmp.Diff(tc.want, got) != "" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestObjectsOfHostileRecords: whatever a tenant writes into a record, little of it is read.
func TestObjectsOfHostileRecords(t *testing.T) {
	t.Parallel()
	for name, record := range map[string][]byte{
		"None": nil, "NotBase64": []byte("%"), "NotPacked": []byte("e30="), "NoJSON": packedBest(t, "{"), "NoManifest": packedBest(t, `{"a":{"manifest":"a\nb"}}`), "NoText": packedBest(t, `{"manifest":5}`),
		"Bomb": packedBest(t, `{"manifest":"`+strings.Repeat(`a\n`, maxUnpacked/3)+`"}`), "BombBefore": packedBest(t, `{"chart":"`+strings.Repeat(" ", maxUnpacked)+`","manifest":"kind: a\n"}`),
	} {
		if got, err := Objects(record); err == nil || got != nil {
			t.Errorf("%s: got %d objects, %v", name, len(got), err)
		}
	}
	// What can't be read takes time, too.
	const object = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	if got, err := Objects(recorded(t, strings.Repeat("---\nkind: [\n", maxObjects)+object)); err != nil || len(got) != 0 {
		t.Errorf("after %d others, it reads %v, %v", maxObjects, got, err)
	}
	if got, err := Objects(recorded(t, strings.Repeat("---\n# Nothing.\n", maxObjects)+object)); err != nil || len(got) != 1 {
		t.Errorf("after comments, it reads %v, %v", got, err)
	}
	many := strings.Builder{}
	for n := range 2 * maxObjects {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", n)
	}
	if got, err := Objects(recorded(t, many.String())); err != nil || len(got) != maxObjects {
		t.Errorf("got %d objects, %v", len(got), err)
	}
}

func FuzzObjects(f *testing.F) {
	f.Add("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata:\n  c: d\n")
	f.Add("apiVersion: v1\nkind: &a x\nmetadata: {name: *a}\n---\n\r\n---")
	f.Fuzz(func(t *testing.T, manifest string) {
		record := recorded(t, manifest)
		var got []Object
		var err error
		// Measured: 51 KB to unpack nothing, and up to 25 bytes for each of a manifest.
		if took := memtest.Allocated(func() { got, err = Objects(record) }); took > uint64(256<<10+100*len(manifest)) {
			t.Errorf("%d bytes are allocated for a manifest of %d, %.60q", took, len(manifest), manifest)
		}
		if err != nil {
			return
		}
		if len(got) > maxObjects || len(got) > 1+strings.Count(manifest, "\n---") {
			t.Errorf("%d objects", len(got))
		}
		for _, o := range got {
			if o.APIVersion == "" || o.Kind == "" || o.Name == "" || len(o.APIVersion)+len(o.Kind)+len(o.Name)+len(o.Namespace) > maxHead {
				t.Errorf("got %+v", o)
			}
		}
	})
}
