//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// forged is the name of whatever a forged record would have Helm make, and precious of what it would have it remove.
	forged   = "forged-by-mallory"
	precious = "precious"

	// noRecord is the refusal of Helm's records.
	noRecord = "an object of a tenant may not be a Helm release record"
)

// forceSync has vcluster copy an object that no pod uses.
func forceSync(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{"vcluster.loft.sh/force-sync": "true"}}
}

// forgedRecord is a revision, as Helm writes it, of what is installed as "vcluster": Helm finds it by its labels, and so by any
// name. The hook is what would be made before the release is removed.
func (n *tenant) forgedRecord(t *testing.T, meta metav1.ObjectMeta, version int, status, manifest, hook string) *corev1.Secret {
	t.Helper()
	record := map[string]any{
		"name": "vcluster", "namespace": n.namespace, "version": version, "manifest": manifest,
		"info":  map[string]any{"first_deployed": "2026-01-01T00:00:00Z", "last_deployed": "2026-01-01T00:00:00Z", "deleted": "", "description": forged, "status": status},
		"chart": map[string]any{"metadata": map[string]any{"name": "vcluster", "version": "0.0.1", "apiVersion": "v2"}},
	}
	if hook != "" {
		record["hooks"] = []any{map[string]any{
			"name": forged, "kind": "ConfigMap", "path": "vcluster/templates/hook.yaml", "manifest": hook,
			"events": []string{"pre-delete"}, "delete_policies": []string{"hook-succeeded"},
		}}
	}
	plain, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return recordSecret(meta, "vcluster", version, status, gzipped(t, plain))
}

// recordSecret is what Helm finds a revision of a release in.
func recordSecret(meta metav1.ObjectMeta, release string, version int, status string, packed []byte) *corev1.Secret {
	meta.Labels = map[string]string{"owner": "helm", "name": release, "status": status, "version": fmt.Sprint(version)}
	return &corev1.Secret{
		ObjectMeta: meta, Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed))},
	}
}

func gzipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func manifestOf(apiVersion, kind, namespace, name, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: %s, name: %s}\n%s\n", apiVersion, kind, namespace, name, rest)
}

// forgedIn looks for what a forged record would have Helm make, in namespaces of the host.
func forgedIn(ctx context.Context, t *testing.T, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		for _, resource := range []string{"configmaps", "secrets", "pods"} {
			_, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).Get(ctx, forged, metav1.GetOptions{})
			if !kerrors.IsNotFound(err) {
				t.Errorf("%s in %s are as the forged record says: %v", resource, namespace, err)
			}
		}
		if _, err := host.Typed.NetworkingV1().NetworkPolicies(namespace).Get(ctx, forged, metav1.GetOptions{}); !kerrors.IsNotFound(err) {
			t.Errorf("NetworkPolicies in %s are as the forged record says: %v", namespace, err)
		}
	}
}

// helmRecord has the tenant's virtual cluster bring a record to the host.
func helmRecord(ctx context.Context, t *testing.T, i *intrusion) {
	hook := manifestOf("v1", "ConfigMap", crossplane, forged, "")
	secrets := i.mallory.cluster.Typed.CoreV1().Secrets(metav1.NamespaceDefault)
	for _, s := range []*corev1.Secret{
		i.mallory.forgedRecord(t, forceSync("record-1"), 1, "pending-install", "", hook),
		i.mallory.forgedRecord(t, forceSync("record-1000"), 1000, "deployed", "", hook),
		{ObjectMeta: forceSync("plain-secret")},
	} {
		i.mallory.removeLater(ctx, t, "secrets", s.Name)
		if _, err := secrets.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	i.mallory.awaitCopy(ctx, t, "secrets", "plain-secret")
	for _, name := range []string{"record-1", "record-1000"} {
		i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, "Secret", name, noRecord)
		i.mallory.notCopied(ctx, t, "secrets", name)
	}
	record := i.mallory.forgedRecord(t, metav1.ObjectMeta{Name: "record"}, 1000, "deployed", "", hook)
	record.Type = corev1.SecretTypeOpaque
	if _, err := i.mallory.asSyncer(t).Typed.CoreV1().Secrets(i.mallory.namespace).Create(ctx, record, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !says(err, noRecord) {
		t.Errorf("vcluster could make a record by its labels alone: %v", err)
	}

	// Helm goes on with its own.
	before, err := i.mallory.release(ctx, t, vclusterRelease)
	if err != nil {
		t.Fatal(err)
	}
	revision := before.Status.AtProvider.Revision + 1
	i.mallory.live.Patch(ctx, t, map[string]any{"logging": map[string]any{"encoding": "json"}}, "spec", "vcluster", "values")
	i.mallory.awaitRevision(ctx, t, revision)
	i.mallory.live.AwaitReady(ctx, t, readyWithin)
	records, err := host.Typed.CoreV1().Secrets(i.mallory.namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records.Items {
		if want := "sh.helm.release.v1.vcluster.v" + r.Labels["version"]; r.Name != want || r.Labels["version"] > fmt.Sprint(revision) {
			t.Errorf("record %s of version %s is none of Helm's", r.Name, r.Labels["version"])
		}
	}
	forgedIn(ctx, t, crossplane, i.mallory.namespace)
	i.mallory.awaitAnswer(ctx, t)
}

// awaitCopy waits until a core object of the virtual cluster is on the host.
func (n *tenant) awaitCopy(ctx context.Context, t *testing.T, resource, name string) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, name+" is on the host", func(ctx context.Context) (bool, string) {
		_, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(n.namespace).Get(ctx, onHost(name, metav1.NamespaceDefault), metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// removeLater removes a core object from the virtual cluster, and from the host: should it have got there, its tenant could not be
// deleted.
func (n *tenant) removeLater(ctx context.Context, t *testing.T, resource, name string) {
	t.Helper()
	t.Cleanup(func() {
		gvr := corev1.SchemeGroupVersion.WithResource(resource)
		err1 := n.cluster.Metadata.Resource(gvr).Namespace(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{})
		err2 := host.Metadata.Resource(gvr).Namespace(n.namespace).Delete(ctx, onHost(name, metav1.NamespaceDefault), metav1.DeleteOptions{})
		if err1 != nil && !kerrors.IsNotFound(err1) || err2 != nil && !kerrors.IsNotFound(err2) {
			t.Error(err1, err2)
		}
	})
}

func (n *tenant) notCopied(ctx context.Context, t *testing.T, resource, name string) {
	t.Helper()
	_, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(n.namespace).Get(ctx, onHost(name, metav1.NamespaceDefault), metav1.GetOptions{})
	if !kerrors.IsNotFound(err) {
		t.Errorf("%s %s is on the host: %v", resource, name, err)
	}
}

// helmRecordByAdmin puts records where no tenant can, as if the first line of defence weren't there.
func helmRecordByAdmin(ctx context.Context, t *testing.T, i *intrusion) {
	i.doomed.settle(ctx, t)
	own, secrets := i.doomed.namespace, host.Typed.CoreV1().Secrets(i.doomed.namespace)
	t.Cleanup(func() { i.doomed.heal(ctx, t, nil) })
	genuine, err := secrets.Get(ctx, "sh.helm.release.v1.vcluster.v1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rbac := func(resource, group, namespace string) string {
		return fmt.Sprintf("cannot create resource %q in API group %q in the namespace %q", resource, group, namespace)
	}
	all := "spec: {podSelector: {}, ingress: [{}], egress: [{}], policyTypes: [Ingress, Egress]}"
	for _, test := range []struct{ what, hook, words string }{
		{"a ConfigMap of Crossplane's", manifestOf("v1", "ConfigMap", crossplane, forged, ""), rbac("configmaps", "", crossplane)},
		{"a ConfigMap of alice's", manifestOf("v1", "ConfigMap", i.alice.namespace, forged, ""), rbac("configmaps", "", i.alice.namespace)},
		{"a pod with the control plane's account", manifestOf("v1", "Pod", own, forged, "spec: {serviceAccountName: vc-vcluster, containers: [{name: none, image: "+forged+"}]}"), rbac("pods", "", own)},
		{"a NetworkPolicy", manifestOf("networking.k8s.io/v1", "NetworkPolicy", own, forged, all), rbac("networkpolicies", "networking.k8s.io", own)},
		{"a Secret", manifestOf("v1", "Secret", own, forged, ""), "ValidatingAdmissionPolicy 'virtual-argocd-"},
	} {
		// A first installation that was cut short is taken back.
		i.doomed.forge(ctx, t, i.doomed.forgedRecord(t, metav1.ObjectMeta{}, 1, "pending-install", "", test.hook))
		i.doomed.awaitRefusal(ctx, t, test.what, test.words)
	}
	i.doomed.heal(ctx, t, genuine)

	// What stands in the last record and not in the chart would be removed.
	var lost strings.Builder
	namespaces := []string{crossplane, i.alice.namespace, own}
	for _, namespace := range namespaces {
		_, err := host.Typed.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: precious}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := host.Typed.CoreV1().ConfigMaps(namespace).Delete(ctx, precious, metav1.DeleteOptions{}); err != nil {
				t.Errorf("ConfigMap %s in %s is gone: %v", precious, namespace, err)
			}
		})
		lost.WriteString("---\n" + manifestOf("v1", "ConfigMap", namespace, precious, ""))
	}
	before := boundsOf(ctx, t, own)
	for name := range before {
		kind, name, _ := strings.Cut(name, " ")
		apiVersion := map[string]string{"NetworkPolicy": "networking.k8s.io/v1"}[kind]
		if apiVersion == "" {
			apiVersion = "v1"
		}
		lost.WriteString("---\n" + manifestOf(apiVersion, kind, own, name, ""))
	}
	i.doomed.forge(ctx, t, i.doomed.forgedRecord(t, metav1.ObjectMeta{}, 1000, "deployed", lost.String(), ""))
	i.doomed.live.Patch(ctx, t, map[string]any{"logging": map[string]any{"encoding": "json"}}, "spec", "vcluster", "values")
	i.doomed.awaitRevision(ctx, t, 1001)
	for _, namespace := range namespaces {
		if _, err := host.Typed.CoreV1().ConfigMaps(namespace).Get(ctx, precious, metav1.GetOptions{}); err != nil {
			t.Errorf("a forged record has had Helm remove it: %v", err)
		}
	}
	if after := boundsOf(ctx, t, own); !maps.Equal(before, after) {
		t.Errorf("a forged record has had Helm change what bounds its tenant: before %v, after %v", before, after)
	}
	forgedIn(ctx, t, namespaces...)
}

// boundsOf are the identities of what bounds a tenant.
func boundsOf(ctx context.Context, t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	policies, err := host.Typed.NetworkingV1().NetworkPolicies(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies.Items {
		out["NetworkPolicy "+p.Name] = fmt.Sprint(p.UID, p.Generation)
	}
	quotas, err := host.Typed.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range quotas.Items {
		out["ResourceQuota "+q.Name] = fmt.Sprint(q.UID, q.Spec.Hard)
	}
	return out
}

// orderRefused asks vcluster's controller of snapshots or restores, which look for their orders on the host.
func orderRefused(order, key string) func(context.Context, *testing.T, *intrusion) {
	return func(ctx context.Context, t *testing.T, i *intrusion) { i.orders(ctx, t, order, key) }
}

// orders makes a request to vcluster of its tenant's own, as vcluster itself does: a Secret with the options and a ConfigMap, by whose label
// vcluster finds both.
func (i *intrusion) orders(ctx context.Context, t *testing.T, order, key string) {
	t.Helper()
	name := strings.ToLower(key)
	meta := forceSync(name)
	meta.Labels = map[string]string{order: ""}
	i.mallory.removeLater(ctx, t, "secrets", name)
	i.mallory.removeLater(ctx, t, "configmaps", name)
	core := i.mallory.cluster.Typed.CoreV1()
	_, err := core.Secrets(metav1.NamespaceDefault).Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{
		"snapshotOptions": `{"type":"container","container":{"path":"/tmp/` + forged + `"}}`,
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
		key: `{"metadata":{"name":"` + name + `"},"spec":{"url":"container:///tmp/` + forged + `"},"status":{}}`,
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, resource := range map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"} {
		i.mallory.awaitEvent(ctx, t, metav1.NamespaceDefault, kind, name, "an object of a tenant may not have the label "+order+" on the host")
		i.mallory.notCopied(ctx, t, resource, name)
		orders, err := host.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(i.mallory.namespace).List(ctx, metav1.ListOptions{LabelSelector: order})
		if err != nil || len(orders.Items) > 0 {
			t.Errorf("%s on the host are orders to vcluster: %v, %v", resource, orders, err)
		}
	}
}
