package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// TestExampleClaims takes every claim that users copy to Ready, with the Secrets
// beside it and the plans that users copy, and looks at what it says of its parts.
func TestExampleClaims(t *testing.T) {
	// What a condition says where values are made up that can't be.
	want := map[string]map[string]string{
		"customer1": {}, "customer2": {}, "production": {},
		"clusters":     {"ClustersConnected": "Available"},
		"repositories": {"RepositoriesConnected": "SecretInvalid"},
		"bootstrap":    {"BootstrapSynced": "Available"},
		"ingress":      {"IngressReady": "Available"},
		"certificate":  {"IngressReady": "SecretInvalid"},
		"sso":          {"IngressReady": "Available", "SSOReady": "Available"},
		// In Git, where Secrets aren't.
		"acme":   {"BootstrapSynced": "Available"},
		"globex": {"BootstrapSynced": "Available", "ClustersConnected": "SecretMissing", "RepositoriesConnected": "SecretMissing"},
	}
	files, err := filepath.Glob("../examples/claims/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	customers, err := filepath.Glob("../examples/gitops/customers/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, customers...)
	plans, err := filepath.Glob("../examples/plans/*.yaml")
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		type document struct {
			Kind       string            `json:"kind"`
			Type       string            `json:"type"`
			Metadata   metav1.ObjectMeta `json:"metadata"`
			Spec       map[string]any    `json:"spec"`
			StringData map[string]string `json:"stringData"`
		}
		var claims []document
		secrets := map[string]document{}
		for _, text := range strings.Split(string(raw), "\n---\n") {
			d := document{}
			if err := yaml.Unmarshal([]byte(text), &d); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch d.Kind {
			case "Secret":
				secrets[d.Metadata.Name] = d
			case "VirtualArgoCD":
				claims = append(claims, d)
			default:
				t.Errorf("%s: kind %q", file, d.Kind)
			}
		}
		for _, c := range claims {
			name := c.Metadata.Name
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				spec, err := json.Marshal(c.Spec)
				if err != nil {
					t.Fatal(err)
				}
				e := newEngine(t, tenantXR(string(spec)), "")
				for _, file := range plans {
					installExample(e, file)
				}
				for name, s := range secrets {
					e.secret(name, s.Type, s.StringData)
					e.label(name, s.Metadata.Labels[tenant.LabelCredentials])
				}
				e.install()
				got := map[string]string{}
				for _, condition := range e.rsp.GetConditions() {
					if typ := condition.GetType(); !slices.Contains([]string{"VirtualClusterReady", "ArgoCDReady", "HostProtected", "SpecAccepted"}, typ) {
						got[typ] = condition.GetReason()
					}
				}
				if diff := cmp.Diff(want[name], got); diff != "" {
					t.Errorf("conditions: -want, +got:\n%s", diff)
				}
			})
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("there is no example %s", name)
		}
	}
}
