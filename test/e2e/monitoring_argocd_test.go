//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// monitoredNamespace is where the Git server of the watched tenant is.
const monitoredNamespace = "e2e-monitored"

// applications looks for what the watched tenant's own Argo CD tells: of an Application that is well, of one whose repository
// doesn't exist, and of one whose commit doesn't.
func (m *monitored) applications(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(monitoredNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	m.repo = gitserver.RunPublic(ctx, t, host, monitoredNamespace, artifacts.ServersImage, map[string]string{"web.yaml": webManifest})
	api := loggedIn(ctx, t, m.watched)
	createApp(ctx, t, api, "web", wholeOf(m.repo), argocd.InCluster)
	// Argo CD's API would refuse these.
	const commit = "0123456789012345678901234567890123456789"
	lost := strings.TrimSuffix(m.repo, "/repo.git") + "/no-such.git"
	m.apply(ctx, t, "lost", lost, "HEAD")
	m.apply(ctx, t, "gone", m.repo, commit)
	awaitHealthy(ctx, t, api, "web")
	// By itself, Argo CD reads a repository again every few minutes.
	for range 4 {
		m.refresh(ctx, t, "lost")
	}

	of := fmt.Sprintf(`job="virtual-argocd-controllers", namespace=%q`, m.watchedIn)
	ofRepoServer := fmt.Sprintf(`job="virtual-argocd-repo-servers", namespace=%q`, m.watchedIn)
	app := of + `, exported_namespace="argocd", project="default", dest_server="https://kubernetes.default.svc"`
	for _, query := range []string{
		fmt.Sprintf(`argocd_app_info{%s, name="web", sync_status="Synced", health_status="Healthy"} == 1`, app),
		fmt.Sprintf(`argocd_app_info{%s, name="lost", sync_status="Unknown", repo=~".+/no-such(.git)?"} == 1`, app),
		fmt.Sprintf(`argocd_app_sync_total{%s, name="web", phase="Succeeded", dry_run="false"} >= 1`, app),
		fmt.Sprintf(`argocd_cluster_connection_status{%s, server="https://kubernetes.default.svc"} == 1`, of),
		// The label repo of these is the directory of the repository's clone.
		fmt.Sprintf(`sum(argocd_git_lsremote_fail_total{%s, revision="HEAD"}) > 0`, ofRepoServer),
		fmt.Sprintf(`sum(argocd_git_fetch_fail_total{%s, revision=%q}) > 0`, ofRepoServer, commit),
		fmt.Sprintf(`ALERTS{alertname="VirtualArgoCDApplicationsUnknown", alertstate="firing", claim_namespace=%q, claim="watched"}`, claims),
		fmt.Sprintf(`ALERTS{alertname="VirtualArgoCDRepositoryFailing", alertstate="firing", claim_namespace=%q, claim="watched"}`, claims),
	} {
		m.metrics.await(ctx, t, query, 1)
	}
	m.metrics.await(ctx, t, panelQuery(t, "Deployments, one day")+" >= 1", 1)
	return ctx
}

// apply makes an Application in the watched tenant's virtual cluster, which Argo CD's API doesn't see first.
func (m *monitored) apply(ctx context.Context, t *testing.T, name, repo, revision string) {
	t.Helper()
	_, err := m.apps(ctx, t).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": repo, "path": ".", "targetRevision": revision},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": name},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// refresh has Argo CD compare an Application with its repository, and waits until it has.
func (m *monitored) refresh(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	apps := m.apps(ctx, t)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"hard"}}}`, annotation)
	if _, err := apps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, 2*time.Minute, "Application "+name+" is refreshed", func(ctx context.Context) (bool, string) {
		app, err := apps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return app.GetAnnotations()[annotation] == "", fmt.Sprint(app.GetAnnotations())
	})
}

func (m *monitored) apps(ctx context.Context, t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	return open(ctx, t, m.watched).Dynamic.Resource(resource).Namespace("argocd")
}

// pods looks for what the tenant's dashboard tells of a pod that no node takes and of one that ends again and again.
func (m *monitored) pods(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	crashing := probePod("crashing")
	crashing.Spec.Containers[0].Command = []string{"perl", "-e", "exit 1"}
	for _, pod := range []*corev1.Pod{unschedulable("homeless"), crashing} {
		if _, err := open(ctx, t, m.watched).Typed.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string) string {
		return fmt.Sprintf(`namespace=%q, pod=%q`, m.watchedIn, onHost(name, metav1.NamespaceDefault))
	}
	for _, query := range []string{
		fmt.Sprintf(`kube_pod_status_unschedulable{%s} == 1`, of("homeless")),
		fmt.Sprintf(`kube_pod_status_phase{%s, phase="Pending"} == 1`, of("homeless")),
		fmt.Sprintf(`kube_pod_container_status_last_terminated_reason{%s, container="probe", reason="Error"} == 1`, of("crashing")),
		fmt.Sprintf(`kube_pod_container_status_restarts_total{%s, container="probe"} >= 1`, of("crashing")),
	} {
		m.metrics.await(ctx, t, query, 1)
	}
	// A kubelet notes this at its next look at the pod, up to 90 seconds later. The fifth back-off, which begins after three minutes, is longer.
	crashes := fmt.Sprintf(`kube_pod_container_status_waiting_reason{%s, container="probe", reason="CrashLoopBackOff"} == 1`, of("crashing"))
	m.metrics.awaitWithin(ctx, t, 8*time.Minute, crashes, 1)
	return ctx
}

// awayWithin is how long it takes until a cluster that doesn't answer counts as failing: rules.yaml looks at five minutes.
const awayWithin = 8 * time.Minute

// away gives the watched tenant a cluster of its own, the other tenant's, and takes it away.
func (m *monitored) away(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c := &connected{hub: m.watched, edge: m.forger}
	c.open(ctx, t, m.forgerIn)
	server := "https://" + c.addresses(ctx, t, m.forgerIn)[0] + ":443"
	account, err := external.Prepare(ctx, t, open(ctx, t, m.forger), server).Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	m.secrets.write(ctx, t, "cluster-monitored", account)
	m.watched.Patch(ctx, t, []any{map[string]any{"name": "edge", "secretRef": map[string]any{"name": "cluster-monitored"}}}, "spec", "clusters")
	api := loggedIn(ctx, t, m.watched)
	createApp(ctx, t, api, "far", wholeOf(m.repo), "edge")
	awaitHealthy(ctx, t, api, "far")
	status := fmt.Sprintf(`argocd_cluster_connection_status{job="virtual-argocd-controllers", namespace=%q, server=%q}`, m.watchedIn, server)
	m.metrics.await(ctx, t, status+" == 1", 1)

	if err := host.Typed.NetworkingV1().NetworkPolicies(m.forgerIn).Delete(ctx, "open-to-hub", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// Connections that exist outlive the policy, but not the pod.
	if err := host.Typed.CoreV1().Pods(m.forgerIn).Delete(ctx, "vcluster-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	failing := fmt.Sprintf(`virtualargocd:cluster:failing{namespace=%q}`, m.watchedIn)
	unreachable := fmt.Sprintf(`ALERTS{alertname="VirtualArgoCDClusterUnreachable", alertstate="firing", claim_namespace=%q, claim="watched"}`, claims)
	for _, query := range []string{
		failing,
		fmt.Sprintf(`virtualargocd:cluster:connected{namespace=%q, server=%q} == 0`, m.watchedIn, server),
		unreachable,
	} {
		m.metrics.awaitWithin(ctx, t, awayWithin, query, 1)
	}
	// As README.md says of Argo CD's own metric.
	m.metrics.await(ctx, t, status+" == 1", 1)

	// Now there is something in nearly each panel. For tenants at rest, Crossplane hardly calls the function.
	look(ctx, t, m.watched)
	m.panels(ctx, t)

	c.open(ctx, t, m.forgerIn)
	m.metrics.await(ctx, t, unreachable, 0)
	return ctx
}
