package charts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// TestValuesOfTheFunction renders the values that the function makes of a claim,
// those from Secrets too: in the test chart always, and in a real argo-cd chart
// when ARGOCD_CHART names one.
func TestValuesOfTheFunction(t *testing.T) {
	cases := map[string]struct {
		spec    plan.Spec
		secrets map[string]plan.Secret
		want    map[string]any
	}{
		"Clusters": {
			spec: plan.Spec{Clusters: []v1alpha1.ClusterSpec{
				{Name: "prod", Labels: map[string]v1alpha1.LabelValue{"env": "p"}, Annotations: map[string]v1alpha1.AnnotationValue{"team": `web: "#1"`},
					Namespaces: []string{"2024"}, Project: "web", SecretRef: v1alpha1.SecretReference{Name: "prod"}},
				{Name: "stage", SecretRef: v1alpha1.SecretReference{Name: "stage"}},
			}},
			secrets: map[string]plan.Secret{
				"prod":  secret("server", "https://[2001:db8::1]:6443/k8s", "config", `{"bearerToken":"a: {{ b }}","tlsClientConfig":{"insecure":true}}`, "shard", "2", "clusterResources", "true"),
				"stage": secret("server", "https://stage.example.org", "config", `{"username":"u","password":"p"}`),
			},
			want: map[string]any{
				"Secret/argocd-cluster-prod|text": map[string]any{"name": "prod", "server": "https://[2001:db8::1]:6443/k8s", "namespaces": "2024,2024", "clusterResources": "true",
					"project": "web", "shard": "2", "config": `{"bearerToken":"a: {{ b }}","tlsClientConfig":{"insecure":true}}` + "\n"},
				"Secret/argocd-cluster-prod|metadata|labels|argocd.argoproj.io/secret-type": "cluster",
				"Secret/argocd-cluster-prod|metadata|labels|env":                            "p",
				"Secret/argocd-cluster-prod|metadata|annotations|team":                      `web: "#1"`,
				"Secret/argocd-cluster-stage|text":                                          map[string]any{"name": "stage", "server": "https://stage.example.org", "config": `{"password":"p","username":"u"}` + "\n"},
			},
		},
	}
	for of, ch := range subjects(t) {
		for name, tc := range cases {
			t.Run(of+"/"+name, func(t *testing.T) {
				p, err := plan.New(plan.Request{XRName: "a", Spec: tc.spec, Secrets: tc.secrets, Claim: plan.Claim{Namespace: "team-a", Name: "a"}})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range p.Clusters {
					if c.State != v1alpha1.StateConnected {
						t.Errorf("%s: %s", c.Name, c.Message)
					}
				}
				values, err := yaml.Marshal(plan.Merge(p.Sensitive, p.ArgoCD.Values))
				if err != nil {
					t.Fatal(err)
				}
				got, err := render(ch, plan.ArgoCDRelease, string(values))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range slices.Sorted(maps.Keys(tc.want)) {
					object, field, _ := strings.Cut(path, "|")
					if got[object] == nil {
						t.Errorf("there is no %s", object)
						continue
					}
					if diff := cmp.Diff(plain(t, tc.want[path]), plain(t, at(got[object], field))); diff != "" {
						t.Errorf("%s: -want, +got:\n%s", path, diff)
					}
				}
			})
		}
	}
}

// secret is a Secret that was read, of keys and values in turn.
func secret(data ...string) plan.Secret {
	s := plan.Secret{Read: true, Found: true, Type: "Opaque", Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		s.Data[data[i]] = data[i+1]
	}
	return s
}
