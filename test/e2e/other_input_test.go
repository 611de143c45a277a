//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
)

// otherInput are fields of the function's input that the embedded cluster's Composition leaves out, with values that are true of that cluster.
var otherInput = []struct {
	path  string
	value any
}{
	{"host.clusterDomain", "cluster.local"},
	{"host.kubernetesProviderConfig", "virtual-argocd-host"},
	{"connectionSecretNamespace", "crossplane-system"},
	{"charts.vcluster.name", "vcluster"},
	{"charts.vcluster.values", map[string]any{"logging": map[string]any{"encoding": "json"}}},
	{"charts.argocd.name", "argo-cd"},
	{"storage.size", "2Gi"},
	{"storage.ephemeral", true},
	{"network.ingressControllers", []any{"traefik"}},
	{"network.providersNamespace", "crossplane-system"},
	{"network.internalCIDRs", []any{"198.51.100.0/25"}},
	{"credentials.label", "Ignored"},
	{"ingress.annotations", map[string]any{"nginx.ingress.kubernetes.io/proxy-body-size": "20m"}},
}

// TestOtherInput: a tenant whose platform sets these fields comes up, and goes.
func TestOtherInput(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	s := &staging{}
	testenv.Test(t, features.New("other input").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			namespace := examplesOf(t, "staging/namespace.yaml")[0]
			namespace.SetName("other-input")
			s.namespace = namespace.GetName()
			createObject(ctx, t, namespace)
			s.composition = examplesOf(t, "staging/composition.yaml")[0]
			// Without the claim's name: the revision would be taken for something that the claim has left.
			s.composition.SetName("virtual-argocd-full")
			s.composition.SetLabels(map[string]string{"stage": "other-input", "release": "1"})
			s.set(t, platformInput(ctx, t))
			for _, field := range otherInput {
				s.set(t, field.value, strings.Split(field.path, ".")...)
			}
			createObject(ctx, t, s.composition)
			s.awaitRevision(ctx, t, "other-input", "1")
			return ctx
		}).
		Assess("TheTenantComesUp", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s.up = claim.Create(ctx, t, host, newClaim("other-input").In(s.namespace).
				Set(s.composition.GetName(), "spec", "compositionRef", "name").
				Set("other-input.example.org", "spec", "ingress", "host"))
			s.up.AwaitReady(ctx, t, readyWithin)
			return ctx
		}).
		Assess("ItsAddressHasTheDomain", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			secrets, err := host.Typed.CoreV1().Secrets("crossplane-system").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, secret := range secrets.Items {
				if strings.HasPrefix(secret.Name, s.up.Name+"-") && strings.HasSuffix(secret.Name, "-kubeconfig") {
					found = true
					if !strings.Contains(string(secret.Data["kubeconfig"]), ".svc.cluster.local") {
						t.Errorf("the kubeconfig in %s is for a Service without the domain", secret.Name)
					}
				}
			}
			if !found {
				t.Error("there is no Secret with the tenant's kubeconfig")
			}
			return ctx
		}).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			s.remove(ctx, t)
			return ctx
		}).Feature())
}
