package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	functioninput "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A change of one field, as JSON.
type change struct{ field, to string }

// certificate is that of the CA in examples/claims/repositories.yaml, as JSON.
const certificate = `"-----BEGIN CERTIFICATE-----\nMIIBPjCB8aADAgECAhQXEGWcimhLJVcLOcJCM5IL7zuuBDAFBgMrZXAwFTETMBEG\nA1UEAwwKRXhhbXBsZSBDQTAeFw0yNjExMjExMjA0MjRaFw0zNjExMTgxMjA0MjRa\n` +
	`MBUxEzARBgNVBAMMCkV4YW1wbGUgQ0EwKjAFBgMrZXADIQDH0h8r76Voslw4O04N\nsSb1MbE5XEaMabx5UoWOgMMqbKNTMFEwHQYDVR0OBBYEFMmm8YFLtXCjROhX1kfY\n` +
	`ai4/3PpqMB8GA1UdIwQYMBaAFMmm8YFLtXCjROhX1kfYai4/3PpqMA8GA1UdEwEB\n/wQFMAMBAf8wBQYDK2VwA0EAAffPXoO5mWBVUSmMwKctuuQ9PaIUU+nUfymLcN+6\n` +
	`RWVWmmPkcNhp9DwRx8DAPgpaeEWo0oC0KFU9DPgQ98WTBw==\n-----END CERTIFICATE-----\n"`

// Changes of the spec, by tenant.Ask, of the input, and of a plan.
var (
	specChanges = []change{
		{"argocd.accounts", `{"argocdAccounts":[{"name":"ci","role":"readonly","tokens":[{"name":"a"}]}]}`},
		{"argocd.chartVersion", `{"argocdChartVersion":"9.3.7"}`},
		{"argocd.secretKeys", `{"argocdSecretKeys":[{"key":"webhook.github.secret","secretRef":{"name":"a"}}]}`},
		{"argocd.values", `{"argocdValues":{"server":{"replicas":2}}}`},
		{"backup", `{"backup":{"enabled":true}}`},
		{"bootstrap", `{"bootstrap":{"repoURL":"https://git.example.org/a"}}`},
		{"channel", `{"channel":"stable"}`},
		{"components", `{"components":[{"name":"workflows","values":{"controller":{"replicas":2}}}]}`},
		{"clusters", `{"clusters":[{"name":"a","secretRef":{"name":"a"}}]}`},
		{"credentialTemplates", `{"credentialTemplates":[{"name":"a","url":"https://git.example.org","secretRef":{"name":"a"}}]}`},
		{"deletionProtection", `{"deletionProtection":true}`},
		{"hibernation", `{"hibernation":{"enabled":true}}`},
		{"imagePullSecrets", `{"imagePullSecrets":[{"name":"a"}]}`},
		{"ingress", `{"ingress":{"host":"a.example.org"}}`},
		{"kubernetes.version", `{"kubernetesVersion":"v1.36.1"}`},
		{"maintenance", `{"maintenance":{"freeze":{"until":"2027-01-10"}}}`},
		{"notifications", `{"notifications":{"services":[{"type":"slack","config":{"token":"$slack"}}],"secretRef":{"name":"a"}}}`},
		{"repositories", `{"repositories":[{"name":"a","url":"https://git.example.org/a"}]}`},
		{"sso", `{"sso":{"disableAdmin":true}}`},
		{"suspension", `{"suspension":{"reason":"unpaid"}}`},
		{"trustedCertificates", `{"trustedCertificates":[{"server":"git.example.org","certificates":` + certificate + `}]}`},
		{"vcluster.chartVersion", `{"vclusterChartVersion":"0.36.2"}`},
		{"webhooks", `{"webhooks":[{"provider":"github","secretRef":{"name":"a"}}]}`},
		{"vcluster.values", `{"vclusterValues":{"logging":{"encoding":"json"}}}`},
	}
	inputChanges = []change{
		{"backup", `{"backup":{"remote":"backup:"}}`},
		{"charts.argocd", `{"charts":{"argocd":{"version":"10.2.0","values":{"server":{"replicas":2}}}}}`},
		{"charts.vcluster.digests", `{"charts":{"vcluster":{"repository":"oci://registry.example.org/charts","digests":{"0.36.1":"sha256:` + strings.Repeat("0", 64) + `"}}}}`},
		{"charts.vcluster.name", `{"charts":{"vcluster":{"name":"mirrored"}}}`},
		{"charts.vcluster.repository", `{"charts":{"vcluster":{"repository":"https://charts.example.org"}}}`},
		{"charts.vcluster.values", `{"charts":{"vcluster":{"values":{"logging":{"encoding":"json"}}}}}`},
		{"charts.vcluster.values.policies", `{"charts":{"vcluster":{"values":{"policies":{"resourceQuota":{"quota":{"count/pods":"70"}}}}}}}`},
		{"charts.vcluster.version", `{"charts":{"vcluster":{"version":"0.36.2"}}}`},
		{"components", `{"components":[{"name":"workflows","chart":{"repository":"https://charts.example.org","name":"argo-workflows","version":"1.0.18"}}]}`},
		{"connectionSecretNamespace", `{"connectionSecretNamespace":"secrets"}`},
		{"credentials", `{"credentials":{"label":"Ignored"}}`},
		{"host.apiServer", `{"host":{"apiServer":{"cidrs":["203.0.113.10/32"],"port":443}}}`},
		{"host.clusterDomain", `{"host":{"clusterDomain":"cluster.local"}}`},
		{"host.kubernetesProviderConfig", `{"host":{"kubernetesProviderConfig":"host"}}`},
		{"images.kubectl", `{"images":{"kubectl":{"tag":"1.36.1"}}}`},
		{"images.registry", `{"images":{"registry":"registry.example.org"}}`},
		{"images.vcluster", `{"images":{"vcluster":{"tag":"0.36.2"}}}`},
		{"ingress.annotations", `{"ingress":{"annotations":{"a":"b"}}}`},
		{"ingress.className", `{"ingress":{"className":"nginx"}}`},
		{"ingress.domain", `{"ingress":{"domain":"example.org"}}`},
		{"ingress.gateway", `{"ingress":{"gateway":{"namespace":"gateways","name":"public"}}}`},
		{"ingress.hosts", `{"ingress":{"hosts":["a.example.org"]}}`},
		{"ingress.tls", `{"ingress":{"tls":{"issuer":{"name":"a"}}}}`},
		{"kubernetes.version", `{"kubernetes":{"version":"v1.36.1"}}`},
		{"network", `{"network":{"internalCIDRs":["203.0.113.0/24"],"allowTo":[{"podSelector":{}}],"metricsFrom":[{"podSelector":{}}]}}`},
		{"storage", `{"storage":{"size":"5Gi"}}`},
		{"tunnels", `{"tunnels":{"image":{"tag":"v0.3.0"}}}`},
	}
	planChanges = []change{
		{"backup", `{"backup":{"enabled":true}}`},
		{"argocd", `{"argocd":{"ha":true,"server":{"resources":{"limits":{"memory":"1Gi"}}}}}`},
		{"channel", `{"channel":"stable"}`},
		{"components", `{"components":{"always":["workflows"]}}`},
		{"expireAfter", `{"expireAfter":"336h"}`},
		{"hibernation", `{"hibernation":{"enabled":true}}`},
		{"ingress.annotations", `{"ingress":{"annotations":{"a":"b"}}}`},
		{"ingress.className", `{"ingress":{"className":"nginx"}}`},
		{"ingress.domain", `{"ingress":{"domain":"example.org"}}`},
		{"ingress.gateway", `{"ingress":{"gateway":{"namespace":"gateways","name":"public"}}}`},
		{"ingress.hosts", `{"ingress":{"hosts":["a.example.org"]}}`},
		{"ingress.tls", `{"ingress":{"tls":{"issuer":{"name":"a"}}}}`},
		{"limits", `{"limits":{"max":{"memory":"8Gi"}}}`},
		{"loadBalancers", `{"loadBalancers":1}`},
		{"maintenance", `{"maintenance":{"freeze":{"until":"2027-01-10"}}}`},
		{"namespaces", `{"namespaces":["a"]}`},
		{"podSecurity", `{"podSecurity":"restricted"}`},
		{"quota", `{"quota":{"count/pods":"70"}}`},
		{"runtimeClass", `{"runtimeClass":"gvisor"}`},
		{"values.argocd", `{"values":{"argocd":{"server":{"replicas":2}}}}`},
		{"values.components", `{"values":{"components":[{"name":"workflows"}]}}`},
		{"values.vcluster", `{"values":{"vcluster":{"logging":{"encoding":"json"}}}}`},
		{"vcluster.backingStore", `{"vcluster":{"backingStore":"sqlite"}}`},
		{"vcluster.replicas", `{"vcluster":{"replicas":2}}`},
		{"vcluster.resources", `{"vcluster":{"resources":{"limits":{"memory":"3Gi"}}}}`},
		{"vcluster.storage", `{"vcluster":{"storage":{"size":"5Gi"}}}`},
		{"versions", `{"versions":{"argocdCharts":["~10.1"]}}`},
	}
)

// restarts writes which changes replace the control plane of a virtual cluster.
func restarts(b *bytes.Buffer, api, input, plans *extv1.CustomResourceDefinition) error {
	b.WriteString("\n## What restarts the virtual API server\n\n" +
		"The vcluster chart replaces the control plane of a virtual cluster when its version or one of its values changes. With one replica, the virtual API server is\n" +
		"unavailable until the new one has started; Argo CD keeps running. The table lists whether a change of a field does that to an existing tenant. A change of\n" +
		"`spec.plan` has the effect of the fields in which the plans differ.\n\n" +
		"| of | field | restarts the virtual API server |\n| --- | --- | --- |\n")
	is, err := decide(nil)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		name    string
		known   map[string]extv1.JSONSchemaProps
		apart   []string
		changes []change
		into    func(*tenant.Given) any
	}{
		{"spec", schemaOf(api).Properties["spec"].Properties, []string{"plan", "restoreFrom"}, specChanges, func(g *tenant.Given) any { return &g.Spec }},
		{"input", schemaOf(input).Properties, []string{"apiVersion", "kind", "metadata"}, inputChanges, func(g *tenant.Given) any { return &g.Input }},
		{"plan", schemaOf(plans).Properties["spec"].Properties, nil, planChanges, func(g *tenant.Given) any { return &g.Plan.Spec }},
	} {
		known := maps.Clone(of.known)
		maps.DeleteFunc(known, func(name string, _ extv1.JSONSchemaProps) bool { return slices.Contains(of.apart, name) })
		if field := unchanged(known, of.changes, ""); field != "" {
			return fmt.Errorf("field %s of the %s: add a change of it to restarts.go, so that the API reference says whether it restarts the virtual API server", field, of.name)
		}
		for _, c := range of.changes {
			var bad error
			with, err := decide(func(g *tenant.Given) { bad = json.Unmarshal([]byte(c.to), of.into(g)) })
			if bad != nil || err != nil {
				return fmt.Errorf("cannot change %s of the %s: %w", c.field, of.name, errors.Join(bad, err))
			}
			answer := "no"
			if is.VirtualCluster.Version != with.VirtualCluster.Version || !reflect.DeepEqual(is.VirtualCluster.Values, with.VirtualCluster.Values) {
				answer = "yes"
			}
			fmt.Fprintf(b, "| %s | `%s` | %s |\n", of.name, c.field, answer)
		}
	}
	return nil
}

// unchanged returns the first of the fields below a path that no change is of, "" for none.
// Where there are changes of parts of a field, there has to be one of each part.
func unchanged(fields map[string]extv1.JSONSchemaProps, changes []change, path string) string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := path + name
		if slices.ContainsFunc(changes, func(c change) bool { return c.field == field }) {
			continue
		}
		if !slices.ContainsFunc(changes, func(c change) bool { return strings.HasPrefix(c.field, field+".") }) {
			return field
		}
		if below := unchanged(fields[name].Properties, changes, field+"."); below != "" {
			return below
		}
	}
	return ""
}

// decide decides about a tenant that runs, after a change.
func decide(edit func(*tenant.Given)) (*tenant.Decision, error) {
	g := tenant.Given{
		XRName: "a", Claim: tenant.Claim{Namespace: "a", Name: "a"},
		Plan: plan.Plan{Name: "p", Spec: inputv1alpha1.PlanSpec{
			VCluster: inputv1alpha1.PlanVCluster{BackingStore: plan.StoreEtcd},
			Versions: inputv1alpha1.PlanVersions{VClusterCharts: []string{"~0.36"}, Kubernetes: []string{"~1.36"}},
		}},
		Input: functioninput.Input{Components: []functioninput.Component{{
			Name: "workflows", Chart: functioninput.Chart{Repository: "https://charts.example.org", Name: "argo-workflows", Version: "1.0.17"}, ClaimValues: []string{"*"},
		}}},
		Running:   tenant.Running{Plan: "p", Store: &tenant.Store{Kind: plan.StoreEtcd, Members: 1, Size: "1Gi"}},
		Hostnames: tenant.Hostnames{Held: []string{"a.example.org", "a-a.example.org"}, Settled: true},
	}
	if edit != nil {
		edit(&g)
	}
	return resolve.Tenant(g)
}
