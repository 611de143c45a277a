// Package network holds the NetworkPolicies that users apply beside Crossplane.
package network

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/networktest"
)

const (
	root    = "../.."
	system  = "crossplane-system"
	tenant  = "vargo-a"
	hostAPI = "10.244.0.1"
)

// inTenant returns a pod of the tenant's namespace, with an address of the cluster's.
func inTenant(l ...string) networktest.Party {
	return networktest.Pod(tenant, l...).In("virtualargocd.io/tenant", "a").At("10.244.0.20")
}

// TestPoliciesOfProviders asks of connections whether examples/install/network.yaml
// lets them through, as a network plugin would decide.
// IP blocks match pods here, which they do in most network plugins.
func TestPoliciesOfProviders(t *testing.T) {
	var (
		helm     = networktest.Pod(system, "virtualargocd.io/package", "provider-helm").At("10.244.0.10")
		objects  = networktest.Pod(system, "virtualargocd.io/package", "provider-kubernetes").At("10.244.0.11")
		function = networktest.Pod(system, "virtualargocd.io/package", "function").At("10.244.0.13")
		core     = networktest.Pod(system, "app", "crossplane").At("10.244.0.14")
		roles    = networktest.Pod(system, "app", "crossplane-rbac-manager").At("10.244.0.15")
		control  = inTenant("app", "vcluster", "release", "vcluster")
		etcd     = inTenant("app", "vcluster-etcd", "release", "vcluster")
		redis    = inTenant("vcluster.loft.sh/managed-by", "vcluster", "app.kubernetes.io/name", "argocd-redis")
		imposter = inTenant("vcluster.loft.sh/managed-by", "vcluster", "app", "vcluster")
		// Somebody's own virtual cluster, which is none of ours.
		foreign = networktest.Pod("team-a", "app", "vcluster").At("10.244.0.30")
		fake    = networktest.Pod("team-a", "app", "crossplane").At("10.244.0.31")
		kubeDNS = networktest.Pod("kube-system", "k8s-app", "kube-dns").At("10.244.0.40")
		github  = networktest.Address("140.82.121.4")
		api     = networktest.Address(hostAPI)
	)
	cases := map[string]struct {
		from, to networktest.Party
		port     int
		want     bool
		// narrow: the host's API server has its addresses in the policy.
		narrow bool
		// both: the tenant's own policies count, too.
		both bool
	}{
		"HelmToVirtualAPI":              {from: helm, to: control, port: 8443, want: true, both: true},
		"HelmToVirtualAPINarrow":        {from: helm, to: control, port: 8443, want: true, narrow: true, both: true},
		"ObjectsToVirtualAPI":           {from: objects, to: control, port: 8443, want: true, both: true},
		"HelmToImposter":                {from: helm, to: imposter, port: 8443},
		"ObjectsToImposter":             {from: objects, to: imposter, port: 8443},
		"HelmToImposterOnPortOfAPI":     {from: helm, to: imposter, port: 443, both: true},
		"HelmToImposterOnPortOfHost":    {from: helm, to: imposter, port: 6443, both: true},
		"ObjectsToImposterOnPortOfHost": {from: objects, to: imposter, port: 6443, both: true},
		"HelmToRedis":                   {from: helm, to: redis, port: 6379},
		"HelmToRedisOnPortOfVirtualAPI": {from: helm, to: redis, port: 8443},
		"ObjectsToRedis":                {from: objects, to: redis, port: 6379},
		"HelmToEtcd":                    {from: helm, to: etcd, port: 2379},
		"HelmToEtcdOnPortOfVirtualAPI":  {from: helm, to: etcd, port: 8443},
		"ObjectsToEtcd":                 {from: objects, to: etcd, port: 2379},
		"HelmToControlPlanesOtherPort":  {from: helm, to: control, port: 10250},
		"HelmToForeign":                 {from: helm, to: foreign, port: 8443},
		"ObjectsToForeign":              {from: objects, to: foreign, port: 8443},
		"HelmToHostAPI":                 {from: helm, to: api, port: 6443, want: true},
		"HelmToHostAPINarrow":           {from: helm, to: api, port: 6443, want: true, narrow: true},
		"ObjectsToHostAPI":              {from: objects, to: api, port: 6443, want: true},
		"ObjectsToManagedHostAPI":       {from: objects, to: networktest.Address("203.0.113.7"), port: 443, want: true},
		"ObjectsToHostAPINarrow":        {from: objects, to: api, port: 6443, want: true, narrow: true},
		"ObjectsToOtherHostNarrow":      {from: objects, to: networktest.Address("10.244.0.2"), port: 6443, narrow: true},
		"HelmToKubelet":                 {from: helm, to: api, port: 10250},
		"ObjectsToKubelet":              {from: objects, to: api, port: 10250},
		"HelmToSSH":                     {from: helm, to: api, port: 22},
		"HelmToMetadata":                {from: helm, to: networktest.Address("169.254.169.254"), port: 80},
		"HelmToMetadataByHTTPS":         {from: helm, to: networktest.Address("169.254.169.254"), port: 443},
		"ObjectsToMetadata":             {from: objects, to: networktest.Address("169.254.169.254"), port: 80},
		"ObjectsToMetadataByHTTPS":      {from: objects, to: networktest.Address("169.254.169.254"), port: 443},
		"HelmToMetadata6":               {from: helm, to: networktest.Address("fd00:ec2::254"), port: 443},
		"HelmToMetadataByNAT64":         {from: helm, to: networktest.Address("64:ff9b::a9fe:a9fe"), port: 443},
		"HelmToAzure":                   {from: helm, to: networktest.Address("168.63.129.16"), port: 443},
		"HelmToAlibaba":                 {from: helm, to: networktest.Address("100.100.100.200"), port: 443},
		"HelmToOracle":                  {from: helm, to: networktest.Address("192.0.0.192"), port: 443},
		"HelmToGoogle6":                 {from: helm, to: networktest.Address("fd20:ce::254"), port: 443},
		"HelmToCharts":                  {from: helm, to: github, port: 443, want: true},
		"HelmToCharts6":                 {from: helm, to: networktest.Address("2606:50c0:8000::153"), port: 443, want: true},
		"HelmToChartsNarrow":            {from: helm, to: github, port: 443, want: true, narrow: true},
		"HelmToChartsWithoutTLS":        {from: helm, to: github, port: 80},
		"HelmToPrivateNarrow":           {from: helm, to: networktest.Address("10.0.0.9"), port: 443, narrow: true},
		"HelmToPodNarrow":               {from: helm, to: foreign, port: 443, narrow: true},
		"HelmToMetadataNarrow":          {from: helm, to: networktest.Address("169.254.169.254"), port: 443, narrow: true},
		"ObjectsToInternet":             {from: objects, to: github, port: 80},
		"ObjectsToInternetNarrow":       {from: objects, to: github, port: 443, narrow: true},
		"HelmToDNS":                     {from: helm, to: kubeDNS, port: 53, want: true},
		"ObjectsToDNS":                  {from: objects, to: kubeDNS, port: 53, want: true},
		"HelmToDNSMetrics":              {from: helm, to: kubeDNS, port: 9153},
		"HelmToFunction":                {from: helm, to: function, port: 9443},
		"HelmToCrossplane":              {from: helm, to: core, port: 9443},
		"ConversionOfObjects":           {from: api, to: objects, port: 9443, want: true},
		"HelmConvertsNothing":           {from: api, to: helm, port: 9443},
		"TenantToHelm":                  {from: redis, to: helm, port: 8080},
		"TenantToObjects":               {from: redis, to: objects, port: 9443, both: true},
		"ControlPlaneToObjects":         {from: control, to: objects, port: 8080},
		"AnybodyToMetrics":              {from: fake, to: helm, port: 8080},
		"AnybodyToProbes":               {from: fake, to: objects, port: 8081},
		"CrossplaneToFunction":          {from: core, to: function, port: 9443, want: true},
		"CrossplaneToMetricsOfFunction": {from: core, to: function, port: 8080},
		"RoleManagerToFunction":         {from: roles, to: function, port: 9443},
		"ImposterToFunction":            {from: fake, to: function, port: 9443},
		"TenantToFunction":              {from: redis, to: function, port: 9443},
		"ControlPlaneToFunction":        {from: control, to: function, port: 9443},
		"FunctionToHostAPI":             {from: function, to: api, port: 6443},
		"FunctionToVirtualAPI":          {from: function, to: control, port: 8443},
		"FunctionToDNS":                 {from: function, to: kubeDNS, port: 53},
		"FunctionToInternet":            {from: function, to: github, port: 443},
		"FunctionToMetadata":            {from: function, to: networktest.Address("169.254.169.254"), port: 80},
		"FunctionToCrossplane":          {from: function, to: core, port: 9443},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policies := installed(t)
			if tc.narrow {
				narrow(t, policies)
			}
			if tc.both {
				policies = append(policies, policiesOfTenant(t)...)
			}
			if got := networktest.Allows(policies, tc.from, tc.to, tc.port); got != tc.want {
				t.Errorf("from %v to %v, port %d: want %v, got %v", tc.from, tc.to, tc.port, tc.want, got)
			}
		})
	}
}

// TestPoliciesSelectPackages: the label that runtime.yaml gives to pods is the one that the policies select.
func TestPoliciesSelectPackages(t *testing.T) {
	for _, name := range []string{"provider-helm", "provider-kubernetes", "function"} {
		pod := labels.Set{"virtualargocd.io/package": name}
		held := map[networkingv1.PolicyType]bool{}
		for _, p := range installed(t) {
			selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(labels.Set{"pkg.crossplane.io/provider": "crossplane-contrib-" + name, "pkg.crossplane.io/function": name}) {
				t.Errorf("%s selects pods that aren't ours", p.Name)
			}
			if selector.Matches(pod) {
				for _, typ := range p.Spec.PolicyTypes {
					held[typ] = true
				}
			}
		}
		if !held[networkingv1.PolicyTypeIngress] || !held[networkingv1.PolicyTypeEgress] {
			t.Errorf("no policy holds the pods of %s", name)
		}
	}
}

// installed are the policies of examples/install/network.yaml.
func installed(t *testing.T) []networkingv1.NetworkPolicy {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data), system)
}

// policiesOfTenant are the policies of a tenant whose platform has set nothing.
func policiesOfTenant(t *testing.T) []networkingv1.NetworkPolicy {
	t.Helper()
	p, err := resolve.Tenant(given.Given{XRName: "a", Input: v1alpha1.Input{}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Bounds.NetworkPolicies
}

func parse(t *testing.T, text, namespace string) []networkingv1.NetworkPolicy {
	t.Helper()
	var out []networkingv1.NetworkPolicy
	for _, doc := range strings.Split(text, "\n---\n") {
		policy := networkingv1.NetworkPolicy{}
		if err := yaml.UnmarshalStrict([]byte(doc), &policy); err != nil {
			t.Fatal(err)
		}
		if policy.Kind != "NetworkPolicy" || policy.Namespace != namespace {
			t.Fatalf("%s %s is in namespace %q, want a NetworkPolicy in %s", policy.Kind, policy.Name, policy.Namespace, namespace)
		}
		out = append(out, policy)
	}
	return out
}

// narrow does what the comment in network.yaml advises.
func narrow(t *testing.T, policies []networkingv1.NetworkPolicy) {
	t.Helper()
	done := 0
	for _, p := range policies {
		for i, rule := range p.Spec.Egress {
			if slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool { return port.Port.IntValue() == 6443 }) {
				p.Spec.Egress[i].To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: hostAPI + "/32"}}}
				done++
			}
		}
	}
	if done != 1 {
		t.Fatalf("found %d rules for the host's API server, want 1", done)
	}
}

// TestAddressesOfClouds: tenants, their control planes and the providers reach the same
// addresses, so that a metadata service that one list learns of is closed in all.
func TestAddressesOfClouds(t *testing.T) {
	for what, ofAPI := range map[string]bool{"host's API server": true, "internet": false} {
		var lists [][]networkingv1.NetworkPolicyPeer
		for _, p := range append(installed(t), policiesOfTenant(t)...) {
			for _, rule := range p.Spec.Egress {
				onPort := slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool { return port.Port.IntValue() == 6443 })
				if len(rule.To) > 0 && rule.To[0].IPBlock != nil && onPort == ofAPI {
					lists = append(lists, sorted(rule.To))
				}
			}
		}
		if len(lists) != 2 {
			t.Fatalf("%s: found %d rules, want one of examples/install/network.yaml and one of fn/core/network/policies.yaml", what, len(lists))
		}
		if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
			t.Errorf("%s: -examples/install/network.yaml, +fn/core/network/policies.yaml:\n%s", what, diff)
		}
	}
}

// sorted returns IP blocks with their exceptions in order.
func sorted(blocks []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	for _, peer := range blocks {
		slices.Sort(peer.IPBlock.Except)
	}
	return blocks
}
