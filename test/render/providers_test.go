package render

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/versions"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// What the providers do between two reconciles, in the order in which it happens.

// bringUp takes a fresh tenant to Ready. At each stage the tenant is as it is
// after one more thing has happened and Crossplane has looked at it.
func (te *tenant) bringUp(at func(stage string)) {
	te.t.Helper()
	te.reconcile()
	at("1-nothing-observed")

	te.condition("namespace", "True")
	te.status("namespace", map[string]any{"phase": "Active"})
	check(te.t, unstructured.SetNestedField(te.get("namespace").Object, "uid-of-the-namespace", "status", "atProvider", "manifest", "metadata", "uid"))
	te.reconcile()
	te.reconcile()

	te.token("installer-credentials")
	te.reconcile()
	te.reconcile()

	te.condition("quota", "True")
	te.reconcile()
	te.reconcile()
	at("2-namespace-created")

	te.condition("vcluster", "True")
	te.release("vcluster")
	te.kubeconfig(readFile(te.t, "testdata/kubeconfig.yaml"))
	te.reconcile()
	te.reconcile()
	at("3-vcluster-up")

	te.condition("argocd", "True")
	te.release("argocd")
	te.reconcile()
	at("4-argocd-installed")

	te.condition("argocd-workloads", "True")
	te.workloads("")
	te.reconcile()
	te.connection("argocd", "password", "correct-horse-battery")
	te.reconcile()
	te.components()
	for _, o := range te.observed {
		switch name := o.GetAnnotations()[nameInComposition]; name {
		case "bootstrap":
			te.condition(name, "True")
			te.status(name, map[string]any{
				"sync":   map[string]any{"status": "Synced", "revision": "6dcb09b5b57875f334f61aebed695e2e4193db5e"},
				"health": map[string]any{"status": "Healthy"},
			})
		case "ingress":
			te.condition(name, "True")
			te.status(name, map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}})
		case "pull-account":
			te.condition(name, "True")
			te.status(name, map[string]any{})
		case "route":
			te.condition(name, "True")
			parents, _, err := unstructured.NestedSlice(o.Object, "spec", "forProvider", "manifest", "spec", "parentRefs")
			check(te.t, err)
			te.status(name, map[string]any{"parents": []any{map[string]any{"parentRef": parents[0], "controllerName": "example.org/gateway", "conditions": []any{
				map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
				map[string]any{"type": "ResolvedRefs", "status": "True", "reason": "ResolvedRefs"},
			}}}})
		}
	}
	te.reconcile()
	at("5-ready")
}

// breakDown has a Ready tenant's Argo CD API server fail.
func (te *tenant) breakDown(at func(stage string)) {
	te.t.Helper()
	te.condition("argocd-workloads", "False")
	te.workloads("argocd-server")
	te.reconcile()
	at("6-degraded")
}

// condition says how the provider finds a resource.
func (te *tenant) condition(name, ready string) {
	te.t.Helper()
	reason := map[string]string{"True": "Available", "False": "Unavailable"}[ready]
	check(te.t, unstructured.SetNestedSlice(te.get(name).Object, []any{
		map[string]any{"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Ready", "status": ready, "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"},
	}, "status", "conditions"))
}

// token writes an account's token, as Kubernetes does.
func (te *tenant) token(name string) {
	te.t.Helper()
	o := te.get(name)
	for key, value := range map[string]string{"token": "the-token-of-" + name, "ca.crt": "the host's CA", "namespace": o.GetNamespace()} {
		check(te.t, unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString([]byte(value)), "data", key))
	}
}

// components has the Releases of components deployed, and their workloads available.
func (te *tenant) components() {
	te.t.Helper()
	deployed := false
	for _, o := range te.observed {
		if name := o.GetAnnotations()[nameInComposition]; strings.HasPrefix(name, "chart-") {
			te.condition(name, "True")
			te.release(name)
			deployed = true
		}
	}
	if deployed {
		te.reconcile()
		te.condition("component-workloads", "True")
		te.summary("component-workloads", "")
	}
}

// release reports a Helm release as deployed.
func (te *tenant) release(name string) {
	te.t.Helper()
	o := te.get(name)
	check(te.t, unstructured.SetNestedMap(o.Object, map[string]any{
		"state": "deployed", "revision": int64(1), "releaseDescription": "Install complete",
	}, "status", "atProvider"))
	check(te.t, unstructured.SetNestedField(o.Object, text(o, "spec", "forProvider", "chart", "version"), "status", "atProvider", "version"))
}

// kubeconfig writes the Secret that vcluster writes when it is up.
func (te *tenant) kubeconfig(config []byte) {
	te.t.Helper()
	te.required = append(te.required, &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": "vc-vcluster", "namespace": text(te.get("vcluster"), "spec", "forProvider", "namespace")},
		"data":     map[string]any{"config": base64.StdEncoding.EncodeToString(config)},
	}})
}

// connection writes the Secret a composed resource publishes.
func (te *tenant) connection(name, key, value string) {
	te.t.Helper()
	o := te.get(name)
	te.secrets = append(te.secrets, &object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
		"metadata": map[string]any{
			"name":      text(o, "spec", "writeConnectionSecretToRef", "name"),
			"namespace": text(o, "spec", "writeConnectionSecretToRef", "namespace"),
			"ownerReferences": []any{map[string]any{
				"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": true,
			}},
		},
		"data": map[string]any{key: base64.StdEncoding.EncodeToString([]byte(value))},
	}})
}

// status reports what status the object has that an Object is about.
func (te *tenant) status(name string, status map[string]any) {
	te.t.Helper()
	o := te.get(name)
	m, _, err := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
	check(te.t, err)
	m["status"] = status
	check(te.t, unstructured.SetNestedMap(o.Object, m, "status", "atProvider", "manifest"))
}

// workloads does what the proxy does: it sums up Argo CD's workloads, of which one may be
// unavailable.
func (te *tenant) workloads(unavailable string) {
	te.t.Helper()
	te.summary("argocd-workloads", unavailable)
}

// summary sums up the workloads that an Object observes.
func (te *tenant) summary(object, unavailable string) {
	te.t.Helper()
	o := te.get(object)
	m, _, err := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest")
	check(te.t, err)
	name, _, err := unstructured.NestedString(m, "metadata", "name")
	check(te.t, err)
	summary, err := proxy.ReadSummaryName(name)
	check(te.t, err)
	values, _, err := unstructured.NestedMap(te.get("argocd").Object, "spec", "forProvider", "values")
	check(te.t, err)
	wanted := map[string]int32{}
	for _, w := range argocd.ExpectedWorkloads(values) {
		wanted[w.Name] = int32(max(1, w.Replicas))
	}
	chart, _, err := unstructured.NestedString(te.get("argocd").Object, "spec", "forProvider", "chart", "version")
	check(te.t, err)
	runs := "v3.4.4"
	if of := versions.ArgoCD(chart); of != nil {
		runs = fmt.Sprintf("v%d.%d.4", of.Major(), of.Minor())
	}
	for i := range summary {
		w := &summary[i]
		// Those of components have one.
		w.Replicas, w.Available, w.Images = max(1, wanted[w.Name]), w.Name != unavailable, map[string]string{"server": "quay.io/argoproj/argocd:" + runs}
	}
	data, err := proxy.Summary(summary)
	check(te.t, err)
	check(te.t, unstructured.SetNestedStringMap(m, data, "data"))
	check(te.t, unstructured.SetNestedMap(o.Object, m, "status", "atProvider", "manifest"))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}
