//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// statusIsTheTruth compares each field of the status with what it speaks of.
func (c *customer) statusIsTheTruth(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s := c.state
	secret, err := c.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"kubeconfig", "url", "username", "password"} {
		if len(secret.Data[key]) == 0 {
			t.Errorf("connection Secret %s has no %s", secret.Name, key)
		}
	}
	equal := func(what, got, want string) {
		t.Helper()
		if got == "" || strings.TrimPrefix(got, "v") != strings.TrimPrefix(want, "v") {
			t.Errorf("%s is %q, in truth it is %q", what, got, want)
		}
	}
	equal("status.argocd.url", s.ArgoCD.URL, string(secret.Data["url"]))

	api := answering(ctx, t, argocd.New(dialer, s.ArgoCD.URL))
	if version, err := api.Version(ctx); err != nil {
		t.Errorf("nothing answers at status.argocd.url: %v", err)
	} else {
		version, _, _ = strings.Cut(version, "+")
		equal("status.argocd.version", s.ArgoCD.Version, version)
	}
	version, err := open(ctx, t, c.live).Typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatalf("the virtual cluster does not answer: %v", err)
	}
	equal("status.vcluster.kubernetesVersion", s.VCluster.KubernetesVersion, version.GitVersion)

	ns, err := host.Typed.CoreV1().Namespaces().Get(ctx, s.Namespace, metav1.GetOptions{})
	if err != nil {
		t.Errorf("status.namespace: %v", err)
	} else if ns.Labels["pod-security.kubernetes.io/enforce"] == "" {
		t.Errorf("namespace %s has no Pod Security level: labels %v", ns.Name, ns.Labels)
	}
	kubeconfig, err := host.Typed.CoreV1().Secrets(crossplane).Get(ctx, s.VCluster.KubeconfigSecretName, metav1.GetOptions{})
	if err != nil {
		t.Errorf("status.vcluster.kubeconfigSecretName: %v", err)
	} else if len(kubeconfig.Data[s.VCluster.KubeconfigSecretKey]) == 0 {
		t.Errorf("Secret %s has no key %q, as status.vcluster.kubeconfigSecretKey says", kubeconfig.Name, s.VCluster.KubeconfigSecretKey)
	}
	for group, name := range map[string]string{
		"helm.crossplane.io":       s.VCluster.HelmProviderName,
		"kubernetes.crossplane.io": s.VCluster.KubernetesProviderName,
	} {
		providers := schema.GroupVersionResource{Group: group, Version: "v1beta1", Resource: "providerconfigs"}
		if group == "kubernetes.crossplane.io" {
			providers.Version = "v1alpha1"
		}
		if _, err := host.Metadata.Resource(providers).Get(ctx, name, metav1.GetOptions{}); err != nil {
			t.Errorf("status.vcluster names a ProviderConfig of %s that is not there: %v", group, err)
		}
	}
	c.chartVersionsAreTheTruth(ctx, t)
	for _, condition := range []string{claim.Ready, claim.Synced, claim.VirtualClusterReady, claim.ArgoCDReady} {
		if !s.True(condition) {
			t.Errorf("condition %s of a Ready claim is not True: %s", condition, s)
		}
	}
	return ctx
}

// chartVersionsAreTheTruth looks at the charts that Helm installed, as they label what they install.
func (c *customer) chartVersionsAreTheTruth(ctx context.Context, t *testing.T) {
	t.Helper()
	label := deployment(ctx, t, open(ctx, t, c.live), "argocd-server").Labels["helm.sh/chart"]
	if want := "argo-cd-" + c.state.ArgoCD.ChartVersion; label != want {
		t.Errorf("argocd-server was installed by chart %q, status.argocd.chartVersion says %q", label, want)
	}
	vcluster, err := host.Typed.AppsV1().StatefulSets(c.state.Namespace).Get(ctx, "vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the virtual cluster has no persistent StatefulSet: %v", err)
	}
	if want := "vcluster-" + c.state.VCluster.Version; vcluster.Labels["chart"] != want {
		t.Errorf("the virtual cluster was installed by chart %q, status.vcluster.version says %q", vcluster.Labels["chart"], want)
	}
}

// columns asks the API server for what kubectl get prints. Crossplane writes Ready back and forth for a moment after it
// has become True, so it is asked more than once.
func (c *customer) columns(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	eventually.True(ctx, t, time.Minute, "kubectl get prints what runs where", func(ctx context.Context) (bool, string) {
		got, err := c.printed(ctx)
		if err != nil {
			return false, err.Error()
		}
		var wrong []string
		for name, want := range map[string]any{
			"NAME": c.live.Name, "READY": "True", "SYNCED": "True", "PHASE": "Ready", "PROGRESS": float64(100),
			"ARGOCD": c.state.ArgoCD.Version, "KUBERNETES": c.state.VCluster.KubernetesVersion, "URL": c.state.ArgoCD.URL,
		} {
			if got[name] != want {
				wrong = append(wrong, fmt.Sprintf("column %s says %v, want %v", name, got[name], want))
			}
		}
		if age, _ := got["AGE"].(string); age == "" || age == "<unknown>" {
			wrong = append(wrong, fmt.Sprintf("column AGE says %v", got["AGE"]))
		}
		return len(wrong) == 0, "\n" + lines(wrong)
	})
	return ctx
}

// printed are the columns of the claim, with their names in capitals.
func (c *customer) printed(ctx context.Context) (map[string]any, error) {
	data, err := host.Typed.Discovery().RESTClient().Get().
		AbsPath("/apis/virtualargocd.io/v1alpha1/namespaces", c.live.Namespace, "virtualargocds", c.live.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot get the claim as a table: %w", err)
	}
	table := metav1.Table{}
	if err := json.Unmarshal(data, &table); err != nil {
		return nil, fmt.Errorf("cannot decode table: %w", err)
	}
	if len(table.Rows) != 1 {
		return nil, fmt.Errorf("want one row, got %d", len(table.Rows))
	}
	got := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		got[strings.ToUpper(column.Name)] = table.Rows[0].Cells[i]
	}
	return got, nil
}
