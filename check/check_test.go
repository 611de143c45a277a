package check

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
)

var kinds = map[schema.GroupVersionResource]string{
	storageClasses: "StorageClassList", ingressClasses: "IngressClassList", deployments: "DeploymentList", policyKind: "ValidatingAdmissionPolicyList",
	bindingKind: "ValidatingAdmissionPolicyBindingList", packageKind("providers", "v1"): "ProviderList", packageKind("functions", "v1"): "FunctionList",
	packageKind("configurations", "v1"): "ConfigurationList", packageKind("deploymentruntimeconfigs", "v1beta1"): "DeploymentRuntimeConfigList",
}

func of(apiVersion, kind, namespace, name string, rest map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for key, value := range rest {
		o.Object[key] = value
	}
	o.SetName(name)
	o.SetNamespace(namespace)
	return o
}

func pkg(kind, name, source, healthy string) *unstructured.Unstructured {
	return of("pkg.crossplane.io/v1", kind, "", name, map[string]any{
		"spec": map[string]any{"package": source, "runtimeConfigRef": map[string]any{"name": name}},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Installed", "status": "True"}, map[string]any{"type": "Healthy", "status": healthy},
		}},
	})
}

func runtimeOf(name, sidecar string) *unstructured.Unstructured {
	o := of("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig", "", name, nil)
	_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": sidecar}}, "spec", "deploymentTemplate", "spec", "template", "spec", "initContainers")
	return o
}

func deployment(namespace, name, image string, args ...any) *unstructured.Unstructured {
	return of("apps/v1", "Deployment", namespace, name, map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": name, "image": image, "args": args},
		}}}},
		"status": map[string]any{"readyReplicas": int64(1)},
	})
}

// complete is a cluster that lacks nothing, by what is in it.
func complete() map[string]runtime.Object {
	class := of("storage.k8s.io/v1", "StorageClass", "", "standard", nil)
	class.SetAnnotations(map[string]string{"storageclass.kubernetes.io/is-default-class": "true"})
	all := map[string]runtime.Object{
		"class": class, "ingress": of("networking.k8s.io/v1", "IngressClass", "", "nginx", nil),
		"crossplane": deployment("crossplane-system", "crossplane", "docker.io/crossplane/crossplane:v2.4.0", "core", "start",
			"--circuit-breaker-burst=1000", "--circuit-breaker-cooldown=1m", "--poll-interval=10m"),
		"resolver":      deployment("virtual-argocd-dns", "resolver", "coredns"),
		"helm":          pkg("Provider", "virtual-argocd-provider-helm", "xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.3.0", "True"),
		"kubernetes":    pkg("Provider", "ours", "registry.example.org:5000/x/provider-kubernetes:v1.3.0@sha256:abc", "True"),
		"function":      pkg("Function", "fn", "xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:v0.3.0", "True"),
		"configuration": pkg("Configuration", "virtual-argocd", "xpkg.crossplane.io/virtual-argocd/virtual-argocd:v0.3.0", "True"),
		"runtime":       runtimeOf("virtual-argocd-provider-helm", "virtual-api-proxy"), "runtimeOfOurs": runtimeOf("ours", "virtual-api-proxy"),
	}
	for _, kind := range []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
		all[kind] = of("admissionregistration.k8s.io/v1", kind, "", "virtual-argocd-amounts", nil)
	}
	for _, name := range host.RequiredPolicies {
		for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			o := of("admissionregistration.k8s.io/v1", kind, "", name, map[string]any{"spec": map[string]any{"validationActions": []any{"Deny"}}})
			o.SetAnnotations(map[string]string{"virtualargocd.io/policies-version": "99"})
			all[kind+name] = o
		}
	}
	return all
}

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(map[string]runtime.Object)
		version string
		want    string
		missing bool
	}{
		"Complete":     {nil, "v1.36.0", "OK       default StorageClass standard", false},
		"NoAmounts":    {func(a map[string]runtime.Object) { delete(a, "MutatingAdmissionPolicyBinding") }, "v1.36.0", "MISSING  the policy of amounts.yaml: amounts such as 1e10000000", true},
		"NoAmountsYet": {func(a map[string]runtime.Object) { delete(a, "MutatingAdmissionPolicy") }, "v1.35.4", "NOTE     amounts such as 1e10000000", false},
		"AmountsEarly": {func(a map[string]runtime.Object) {
			for _, kind := range []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
				a[kind] = of("admissionregistration.k8s.io/v1beta1", kind, "", "virtual-argocd-amounts", nil)
			}
		}, "v1.35.4", "OK       amounts that the API server would compute with", false},
		"OldKubernetes":  {nil, "v1.32.4", "MISSING  Kubernetes v1.32.4: upgrade the cluster to 1.33 or later", true},
		"NoDefaultClass": {func(a map[string]runtime.Object) { a["class"].(*unstructured.Unstructured).SetAnnotations(nil) }, "v1.36.0", "MISSING  a default StorageClass, of 1: kubectl annotate", true},
		"NoCrossplane":   {func(a map[string]runtime.Object) { delete(a, "crossplane") }, "v1.36.0", "MISSING  Crossplane in namespace crossplane-system", true},
		"OldCrossplane": {func(a map[string]runtime.Object) {
			a["crossplane"] = deployment("crossplane-system", "crossplane", "registry:5000/crossplane:v1.20.1")
		}, "v1.36.0", "MISSING  Crossplane v1.20.1", true},
		"Flags": {func(a map[string]runtime.Object) {
			a["crossplane"] = deployment("crossplane-system", "crossplane", "crossplane:v2.4.0@sha256:a", "--poll-interval=10m")
		}, "v1.36.0", "NOTE     Crossplane runs without --circuit-breaker-burst=500 --circuit-breaker-cooldown=1m", false},
		"NoProvider": {func(a map[string]runtime.Object) { delete(a, "helm") }, "v1.36.0", "MISSING  package provider-helm: apply runtime.yaml and providers.yaml", true},
		"OtherProvider": {func(a map[string]runtime.Object) {
			a["helm"] = pkg("Provider", "virtual-argocd-provider-helm", "x/provider-helm:v1.4.0", "True")
		}, "v1.36.0", "NOTE     provider-helm v1.4.0 isn't what is tested: that is v1.3.0", false},
		"SickProvider": {func(a map[string]runtime.Object) {
			a["helm"] = pkg("Provider", "virtual-argocd-provider-helm", "x/provider-helm:v1.3.0", "False")
		}, "v1.36.0", "isn't healthy: kubectl describe provider.pkg virtual-argocd-provider-helm", true},
		"NoProxy": {func(a map[string]runtime.Object) { a["runtimeOfOurs"] = runtimeOf("ours", "istio") }, "v1.36.0", "MISSING  provider-kubernetes runs without the proxy", true},
		"FunctionByDigest": {func(a map[string]runtime.Object) {
			a["function"] = pkg("Function", "fn", "xpkg.crossplane.io/virtual-argocd/function-virtual-argocd@sha256:7cd3831d658bfad2", "True")
		}, "v1.36.0", "OK       function-virtual-argocd sha256:7cd3831d658b (function fn)", false},
		"FunctionByBoth": {func(a map[string]runtime.Object) {
			a["function"] = pkg("Function", "fn", "xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:v0.3.0@sha256:7cd3831d658bfad2", "True")
		}, "v1.36.0", "MISSING  function-virtual-argocd v0.3.0 (function fn) is named by its tag and its digest: leave out the tag in spec.package", true},
		"NoFunction": {func(a map[string]runtime.Object) { delete(a, "function") }, "v1.36.0", "MISSING  package function-virtual-argocd: apply configuration.yaml", true},
		"NoPolicy":   {func(a map[string]runtime.Object) { delete(a, "ValidatingAdmissionPolicyvirtual-argocd-pods") }, "v1.36.0", "MISSING  Admission policies of the host are missing or not in force: virtual-argocd-pods", true},
		"PolicyWarns": {func(a map[string]runtime.Object) {
			_ = unstructured.SetNestedStringSlice(a["ValidatingAdmissionPolicyBindingvirtual-argocd-pods"].(*unstructured.Unstructured).Object, []string{"Warn"}, "spec", "validationActions")
		}, "v1.36.0", "not in force: virtual-argocd-pods", true},
		"NoResolver": {func(a map[string]runtime.Object) { delete(a, "resolver") }, "v1.36.0", "NOTE     the DNS resolver for tenants isn't there", false},
		"NoIngress":  {func(a map[string]runtime.Object) { delete(a, "ingress") }, "v1.36.0", "NOTE     there is no IngressClass", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := complete()
			if tc.change != nil {
				tc.change(all)
			}
			var objects []runtime.Object
			for _, o := range all {
				objects = append(objects, o)
			}
			d := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: tc.version}}
			out := &bytes.Buffer{}
			err := Run(t.Context(), Host{Discovery: d, Objects: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...), Namespace: "crossplane-system"}, out)
			if (err != nil) != tc.missing || !strings.Contains(out.String(), tc.want) {
				t.Errorf("want %q, missing: %t, got %v and\n%s", tc.want, tc.missing, err, out)
			}
		})
	}
}

// TestEnforced: an address that answers isn't one that a policy keeps us from.
func TestEnforced(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*1e6)
	defer cancel()
	if f := Enforced(ctx, l.Addr().String()); f.Level != Missing {
		t.Errorf("a reachable address: want %s, got %v", Missing, f)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f := Enforced(t.Context(), l.Addr().String()); f.Level != OK {
		t.Errorf("an address that can't be reached: want %s, got %v", OK, f)
	}
}
