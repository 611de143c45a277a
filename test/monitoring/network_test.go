package monitoring

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
)

// TestPrometheusReachesWhatItScrapes asks of connections whether the policies of examples/install, those of network.yaml and a
// tenant's, with the README's addition to the function's input, let them through.
func TestPrometheusReachesWhatItScrapes(t *testing.T) {
	t.Parallel()
	const system, host = "crossplane-system", "vargo-a"
	policies := append(readPolicies(t, "../install/network.yaml"), readPolicies(t, "network.yaml")...)
	closed, err := resolve.Tenant(tenant.Given{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	open, err := resolve.Tenant(tenant.Given{XRName: "a", Input: inputOfReadme(t)})
	if err != nil {
		t.Fatal(err)
	}
	prometheus := networktest.Pod("monitoring", "app.kubernetes.io/name", "prometheus").At("10.244.0.9")
	grafana := networktest.Pod("monitoring", "app.kubernetes.io/name", "grafana").At("10.244.0.8")
	stranger := networktest.Pod("default", "app.kubernetes.io/name", "prometheus").At("10.244.0.7")
	provider := networktest.Pod(system, "virtualargocd.io/package", "provider-helm", "pkg.crossplane.io/revision", "x")
	function := networktest.Pod(system, "virtualargocd.io/package", "function", "pkg.crossplane.io/revision", "y")
	other := networktest.Pod(system, "pkg.crossplane.io/provider", "provider-aws", "pkg.crossplane.io/revision", "z")
	controller := networktest.Pod(host, "vcluster.loft.sh/managed-by", "vcluster", "vcluster.loft.sh/namespace", "argocd",
		"app.kubernetes.io/name", "argocd-application-controller").At("10.244.0.20")
	api := networktest.Pod(host, "app", "vcluster", "release", "vcluster").At("10.244.0.22")
	neighbour := networktest.Pod("vargo-b", "vcluster.loft.sh/managed-by", "vcluster", "app.kubernetes.io/name", "prometheus").At("10.244.0.21")
	cases := map[string]struct {
		policies []networkingv1.NetworkPolicy
		from, to networktest.Party
		port     int
		want     bool
	}{
		"Provider":                  {policies, prometheus, provider, 8080, true},
		"Function":                  {policies, prometheus, function, 8080, true},
		"FunctionsCalls":            {policies, prometheus, function, 9443, false},
		"ProviderFromGrafana":       {policies, grafana, provider, 8080, false},
		"ProviderFromElsewhere":     {policies, stranger, provider, 8080, false},
		"FunctionFromTenant":        {policies, controller, function, 8080, false},
		"OtherProviderStaysOpen":    {policies, stranger, other, 9443, true},
		"Controller":                {open.Bounds.NetworkPolicies, prometheus, controller, 8082, true},
		"RepoServer":                {open.Bounds.NetworkPolicies, prometheus, controller, 8084, true},
		"PortThatNobodyScrapes":     {open.Bounds.NetworkPolicies, prometheus, controller, 8083, false},
		"ControllersOtherPort":      {open.Bounds.NetworkPolicies, prometheus, controller, 8080, false},
		"VirtualAPI":                {open.Bounds.NetworkPolicies, prometheus, api, 8443, false},
		"ControllerFromGrafana":     {open.Bounds.NetworkPolicies, grafana, controller, 8082, false},
		"ControllerFromElsewhere":   {open.Bounds.NetworkPolicies, stranger, controller, 8082, false},
		"ControllerFromOtherTenant": {open.Bounds.NetworkPolicies, neighbour, controller, 8082, false},
		"ControllerToPrometheus":    {open.Bounds.NetworkPolicies, controller, prometheus, 9090, false},
		"ControllerByDefault":       {closed.Bounds.NetworkPolicies, prometheus, controller, 8082, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := networktest.Allows(tc.policies, tc.from, tc.to, tc.port); got != tc.want {
				t.Errorf("allowed %t, want %t", got, tc.want)
			}
		})
	}
}

// inputOfReadme is the function's input with what the README says to add.
func inputOfReadme(t *testing.T) v1alpha1.Input {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(examples, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(network:.*?)```").FindSubmatch(raw)
	if block == nil {
		t.Fatal("the README has no network: in YAML")
	}
	var in v1alpha1.Input
	if err := yaml.UnmarshalStrict(block[1], &in); err != nil {
		t.Fatal(err)
	}
	return in
}

func readPolicies(t *testing.T, file string) []networkingv1.NetworkPolicy {
	t.Helper()
	path := filepath.Join(examples, file)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []networkingv1.NetworkPolicy
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var p networkingv1.NetworkPolicy
		decode(t, path, doc, &p)
		out = append(out, p)
	}
	return out
}
