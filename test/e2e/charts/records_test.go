package charts

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// TestChartsAreWithinLimits: of Argo CD's chart, with its CustomResourceDefinitions, as many records as Helm ever keeps are within
// half of what the proxy of virtual clusters lets through.
func TestChartsAreWithinLimits(t *testing.T) {
	half := proxy.DefaultLimits
	half.Records, half.LargeValues, half.Text, half.LargeAnswer = half.Records/2, half.LargeValues/2, half.Text/2, half.LargeAnswer/2
	for of, ch := range subjects(t) {
		t.Run(of, func(t *testing.T) {
			p, err := resolve.Tenant(tenant.Given{XRName: "a"})
			if err != nil {
				t.Fatal(err)
			}
			values := values.Merge(p.ArgoCD.Values, values.Values{"crds": values.Values{"install": true}, "redis-ha": values.Values{"enabled": false}})
			objects, err := Render(ch, tenant.HelmArgoCD, tenant.ArgoCDNamespace, values)
			if err != nil {
				t.Fatal(err)
			}
			manifest, definitions := &strings.Builder{}, 0
			for _, o := range objects {
				text, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				manifest.WriteString("---\n" + string(text))
				if o.GetKind() == "CustomResourceDefinition" {
					definitions++
				}
			}
			if definitions < 3 {
				t.Fatalf("the chart has %d CustomResourceDefinitions: this shows little", definitions)
			}
			record, err := json.Marshal(release.Release{Name: tenant.HelmArgoCD, Chart: ch, Config: values, Manifest: manifest.String()})
			if err != nil {
				t.Fatal(err)
			}
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			if _, err := z.Write(record); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			// maxHistory of the Release, and the one that is being written.
			list := corev1.SecretList{}
			for range 4 {
				list.Items = append(list.Items, corev1.Secret{Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))}})
			}
			answer, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			if int64(len(answer)) > half.LargeAnswer {
				t.Errorf("an answer has %d bytes, more than %d", len(answer), half.LargeAnswer)
			}
			if err := half.CheckRecords(answer); err != nil {
				t.Error(err)
			}
		})
	}
}
