package function_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestExampleClaims takes every claim that users copy to Ready, with the Secrets
// beside it and the plans that users copy, and looks at what it says of its parts.
func TestExampleClaims(t *testing.T) {
	// What a condition says where values are made up that can't be.
	want := map[string]map[string]string{
		"customer1": {}, "customer2": {}, "production": {}, "maintenance": {},
		"clusters":      {"ClustersConnected": "Available"},
		"repositories":  {"RepositoriesConnected": "SecretInvalid"},
		"bootstrap":     {"BootstrapSynced": "Available"},
		"ingress":       {"IngressReady": "Available"},
		"certificate":   {"IngressReady": "SecretInvalid"},
		"cloud-aws":     {"ClustersConnected": "Available", "RepositoriesConnected": "Available"},
		"cloud-azure":   {"ClustersConnected": "Available", "RepositoriesConnected": "Available"},
		"cloud-google":  {"ClustersConnected": "Available", "RepositoriesConnected": "Available", "SecretKeysReady": "Available"},
		"accounts":      {"AccountsReady": "Available"},
		"notifications": {"IngressReady": "Available", "NotificationsReady": "Available", "WebhooksReady": "Available"},
		"registries":    {"ImagePullSecretsReady": "Available", "RepositoriesConnected": "Available"},
		"sso":           {"IngressReady": "Available", "SSOReady": "Available"},
		"workflows":     {"ComponentsReady": "Available"},
		// Their Secrets come from the closed clusters.
		"stores": {"ClustersConnected": "SecretMissing", "IngressReady": "Available"},
		// In Git, where Secrets aren't.
		"acme":   {"BootstrapSynced": "Available"},
		"globex": {"BootstrapSynced": "Available", "ClustersConnected": "SecretMissing", "RepositoriesConnected": "SecretMissing"},
	}
	files, err := filepath.Glob("../../examples/claims/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, tunnelExample)
	customers, err := filepath.Glob("../../examples/gitops/customers/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, customers...)
	plans, err := filepath.Glob("../../examples/plans/*.yaml")
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		claims, secrets := readExample(t, file)
		for _, c := range claims {
			name := c.Metadata.Name
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				spec, err := json.Marshal(c.Spec)
				if err != nil {
					t.Fatal(err)
				}
				e := crossplanetest.New(t, string(spec), map[bool]string{file == tunnelExample: crossplanetest.TunnelInput}[true])
				for _, file := range plans {
					e.AddPlanFile(file)
				}
				installChannel(e)
				addExampleSecrets(e, secrets)
				e.Install()
				got := map[string]string{}
				for _, condition := range e.Response.GetConditions() {
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

// An exampleObject is a claim or a Secret in a file that users copy.
type exampleObject struct {
	Kind       string            `json:"kind"`
	Type       string            `json:"type"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       map[string]any    `json:"spec"`
	StringData map[string]string `json:"stringData"`
}

// readExample reads a file with claims and their Secrets.
func readExample(t *testing.T, file string) (claims []exampleObject, secrets map[string]exampleObject) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secrets = map[string]exampleObject{}
	for _, text := range strings.Split(string(raw), "\n---\n") {
		d := exampleObject{}
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
	return claims, secrets
}

func addExampleSecrets(e *crossplanetest.Engine, secrets map[string]exampleObject) {
	for name, s := range secrets {
		e.AddSecret(name, s.Type, s.StringData)
		e.LabelSecret(name, s.Metadata.Labels[tenant.LabelCredentials])
	}
}

// tunnelExample is a claim for platforms with tunnels.
const tunnelExample = "../../examples/tunnels/claim.yaml"

// TestExamplesOnDefaultInstallation: each claim that users copy is accepted where nobody has set anything: with the packaged input, the admission
// policies as they are in examples/install, no plan and no channel.
func TestExamplesOnDefaultInstallation(t *testing.T) {
	files, err := filepath.Glob("../../examples/claims/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var composition struct {
		Spec struct {
			Pipeline []struct{ Input map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(exampleJSON(t, "../../compositions/virtual-argocd.yaml")), &composition); err != nil {
		t.Fatal(err)
	}
	input := string(crossplanetest.Must(json.Marshal(composition.Spec.Pipeline[0].Input)))
	for _, file := range files {
		claims, secrets := readExample(t, file)
		for _, c := range claims {
			t.Run(c.Metadata.Name, func(t *testing.T) {
				e := crossplanetest.New(t, string(crossplanetest.Must(json.Marshal(c.Spec))), input)
				installPolicies(e)
				addExampleSecrets(e, secrets)
				e.Reconcile()
				if said := crossplanetest.Refusal(e.Response); said != "" {
					t.Fatalf("%s is refused: %s", file, said)
				}
				// Also whatever is decided later.
				e.Install()
				if said := crossplanetest.Refusal(e.Response); said != "" {
					t.Errorf("%s is refused: %s", file, said)
				}
			})
		}
	}
}

// installPolicies gives the host the admission policies that users apply, in place of made-up ones.
func installPolicies(e *crossplanetest.Engine) {
	e.T.Helper()
	for key := range e.Cluster {
		if strings.HasPrefix(key, "ValidatingAdmissionPolicy") {
			delete(e.Cluster, key)
		}
	}
	for _, name := range []string{"tenants", "confinement", "claims"} {
		raw, err := os.ReadFile("../../examples/install/" + name + ".yaml")
		if err != nil {
			e.T.Fatal(err)
		}
		for _, text := range strings.Split(string(raw), "\n---\n") {
			o := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				e.T.Fatal(err)
			}
			s := resource.MustStructJSON(string(crossplanetest.Must(json.Marshal(o))))
			e.Cluster[crossplanetest.Key(s)] = s
		}
	}
}

// channelExample and its plan are what users copy of channels.
const (
	channelExample     = "../../examples/channels/stable.yaml"
	channelPlanExample = "../../examples/channels/plan.yaml"
)

// exampleJSON is the first object of a file.
func exampleJSON(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.YAMLToJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// installChannel has the tenant see the channel that users copy.
func installChannel(e *crossplanetest.Engine) {
	e.T.Helper()
	fleet := crossplanetest.NewFleet(e.T)
	fleet.Channels["stable"] = fleet.NewXR(exampleJSON(e.T, channelExample))
	for range 3 {
		fleet.Channels["stable"].Reconcile()
	}
	fleet.CheckCondition("stable", v1alpha1.ConditionSpecAccepted, true, "in use")
	offer := fleet.Channels["stable"].Observed("offer")
	e.Cluster[crossplanetest.Key(offer)] = offer
}

// TestExampleMaintenance: the claim that users copy, and one of the plan that they copy, wait for their channel, for the end
// of the freeze and for their windows.
func TestExampleMaintenance(t *testing.T) {
	of := func(file string) string {
		claim := struct {
			Spec map[string]any `json:"spec"`
		}{}
		if err := json.Unmarshal([]byte(exampleJSON(t, file)), &claim); err != nil {
			t.Fatal(err)
		}
		claim.Spec["channel"] = "stable"
		return string(crossplanetest.Must(json.Marshal(claim.Spec)))
	}
	fleet := crossplanetest.NewFleet(t)
	fleet.Channels["stable"] = fleet.NewXR(exampleJSON(t, channelExample))
	fleet.AddClaim("own", of("../../examples/claims/maintenance.yaml"), `{}`)
	fleet.AddClaim("planned", `{"plan":"managed"}`, `{}`)
	fleet.Tenants["planned"].AddPlanFile(channelPlanExample)
	fleet.Settle(16, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2})
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	fleet.Now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 2})
	for name, want := range map[string]string{
		"own":     "is frozen until 2027-01-10: year end; would change: chart argo-cd 10.1.1 to 10.2.0",
		"planned": "waits for its maintenance window, Tuesday 2026-11-24 01:00 +0000; would change: chart argo-cd 10.1.1 to 10.2.0",
	} {
		if got := fleet.Tenants[name].Status("channel", "message"); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	fleet.Now = time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.1.1": 1, "10.2.0": 1})
	// 2027-01-10 is a Sunday.
	fleet.Now = time.Date(2027, 1, 10, 21, 0, 0, 0, time.UTC)
	fleet.Settle(4, time.Minute)
	fleet.CheckVersions(map[string]int{"10.2.0": 2})
}
