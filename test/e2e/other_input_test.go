//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// inputs is the folder with inputs for TestOtherInput. TestEveryFieldOfTheInputIsTried reads it, too.
const inputs = "testdata/input"

const (
	// otherInput is a namespace with claims, and the beginning of the names of what the inputs name.
	otherInput = "other-input"
	// otherSecrets is the connectionSecretNamespace, and otherHost the ProviderConfig of the host.
	otherSecrets, otherHost = otherInput + "-secrets", otherInput + "-host"
	// unlabelled is a Secret of the claims' namespace without the label for claims, and unlabelledPassword what is in it.
	unlabelled, unlabelledPassword = "plain", "of-a-secret-without-a-label"
)

// otherTenant is a tenant whose platform has an input of TestOtherInput.
type otherTenant struct {
	*tenant
}

// effects are what shows that a field of an input has its value, by the field. Each field of the inputs has one.
var effects = map[string]func(context.Context, *testing.T, *otherTenant){
	"host.clusterDomain": func(ctx context.Context, t *testing.T, o *otherTenant) {
		if kubeconfig := o.secret(ctx, t, "-kubeconfig").Data["kubeconfig"]; !strings.Contains(string(kubeconfig), ".svc.cluster.local") {
			t.Error("the kubeconfig is for a Service without the domain")
		}
	},
	"host.kubernetesProviderConfig": func(ctx context.Context, t *testing.T, o *otherTenant) {
		composed, err := o.live.Composed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range composed {
			if c.GetAnnotations()["crossplane.io/composition-resource-name"] == "namespace" {
				if name, _, _ := unstructured.NestedString(c.Object, "spec", "providerConfigRef", "name"); name != otherHost || condition(c, "Ready").Status != metav1.ConditionTrue {
					t.Errorf("the namespace is written with ProviderConfig %s, %v", name, condition(c, "Ready"))
				}
				return
			}
		}
		t.Error("the tenant has no namespace")
	},
	"connectionSecretNamespace": func(ctx context.Context, t *testing.T, o *otherTenant) {
		o.secret(ctx, t, "-kubeconfig")
		if _, err := host.Typed.CoreV1().ServiceAccounts(otherSecrets).Get(ctx, o.namespace, metav1.GetOptions{}); err != nil {
			t.Errorf("the tenant's installer isn't there: %v", err)
		}
		there, err := host.Typed.CoreV1().Secrets(crossplane).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range there.Items {
			// Crossplane writes what it publishes where the Composition says.
			if strings.Contains(s.Name, o.id()) && s.Type != "connection.crossplane.io/v1alpha1" {
				t.Errorf("Secret %s of type %s of the tenant is in %s", s.Name, s.Type, crossplane)
			}
		}
	},
	"charts.vcluster.name": func(_ context.Context, t *testing.T, o *otherTenant) {
		installedFrom(t, host.Typed, o.namespace, given.HelmVCluster, "mirror-vcluster")
	},
	"charts.argocd.name": func(_ context.Context, t *testing.T, o *otherTenant) {
		installedFrom(t, o.cluster.Typed, given.ArgoCDNamespace, given.HelmArgoCD, "mirror-argo-cd")
	},
	"charts.vcluster.values": func(ctx context.Context, t *testing.T, o *otherTenant) {
		log, err := logOf(ctx, o.namespace, "vcluster-0", corev1.PodLogOptions{Container: "syncer"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(strings.Split(log, "\n"), func(line string) bool { return strings.HasPrefix(line, "{") && json.Valid([]byte(line)) }) {
			t.Errorf("the control plane doesn't log in JSON: %.300s", log)
		}
	},
	"storage.size": func(ctx context.Context, t *testing.T, o *otherTenant) {
		volumes := o.volumes(ctx, t)
		if len(volumes) != 1 || volumes[0].Spec.Resources.Requests.Storage().String() != "2Gi" {
			t.Errorf("the virtual cluster has the volumes %v", volumes)
		}
	},
	"storage.ephemeral": func(ctx context.Context, t *testing.T, o *otherTenant) {
		if volumes := o.volumes(ctx, t); len(volumes) != 0 {
			t.Errorf("the virtual cluster has the volumes %v", volumes)
		}
	},
	"network.ingressControllers": func(ctx context.Context, t *testing.T, o *otherTenant) { o.hasPolicy(ctx, t, "other-input-ingress") },
	"network.internalCIDRs":      func(ctx context.Context, t *testing.T, o *otherTenant) { o.hasPolicy(ctx, t, "198.51.100.0/25") },
	// The tenant is Ready, so the providers reach its API server.
	"network.providersNamespace": func(ctx context.Context, t *testing.T, o *otherTenant) { o.hasPolicy(ctx, t, crossplane) },
	"credentials.label": func(ctx context.Context, t *testing.T, o *otherTenant) {
		o.live.Await(ctx, t, 2*time.Minute, "uses a Secret without the label", func(s *claim.State) bool { return states(s)["Repository plain"] == "Configured" })
		eventually.True(ctx, t, 2*time.Minute, "Argo CD has what is in the Secret", func(ctx context.Context) (bool, string) {
			list, err := o.cluster.Typed.CoreV1().Secrets(given.ArgoCDNamespace).List(ctx, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=repository"})
			if err != nil {
				return false, err.Error()
			}
			return slices.ContainsFunc(list.Items, func(s corev1.Secret) bool { return string(s.Data["password"]) == unlabelledPassword }), fmt.Sprint(len(list.Items), " Secrets")
		})
	},
	"ingress.annotations": func(ctx context.Context, t *testing.T, o *otherTenant) {
		if is := o.ingress(ctx, t).Annotations["nginx.ingress.kubernetes.io/proxy-body-size"]; is != "20m" {
			t.Errorf("the Ingress has the annotation %q", is)
		}
	},
}

// secret returns the tenant's Secret whose name ends so, from the connectionSecretNamespace.
func (o *otherTenant) secret(ctx context.Context, t *testing.T, end string) corev1.Secret {
	t.Helper()
	list, err := host.Typed.CoreV1().Secrets(otherSecrets).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.Name == o.id()+end {
			return s
		}
	}
	t.Fatalf("there is no Secret %s%s in %s", o.id(), end, otherSecrets)
	return corev1.Secret{}
}

// installedFrom fails the test unless Helm's last record of a release is of a chart with that name.
func installedFrom(t *testing.T, client kubernetes.Interface, namespace, release, chart string) {
	t.Helper()
	last, err := storage.Init(driver.NewSecrets(client.CoreV1().Secrets(namespace))).Last(release)
	if err != nil {
		t.Fatal(err)
	}
	if name := last.Chart.Name(); name != chart {
		t.Errorf("release %s is of the chart %s", release, name)
	}
}

func (o *otherTenant) volumes(ctx context.Context, t *testing.T) []corev1.PersistentVolumeClaim {
	t.Helper()
	list, err := host.Typed.CoreV1().PersistentVolumeClaims(o.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// hasPolicy fails the test unless a NetworkPolicy of the tenant has a text.
func (o *otherTenant) hasPolicy(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	list, err := host.Typed.NetworkingV1().NetworkPolicies(o.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(list.Items), text) {
		t.Errorf("no NetworkPolicy of the tenant has %s", text)
	}
}

// TestOtherInput: tenants whose platforms set the fields of the function's input that other tests leave out. Each field has its effect.
func TestOtherInput(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(inputs, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no inputs: %v", err)
	}
	platform := &otherPlatform{}
	feature := features.New("other input").Setup(platform.create)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		feature = feature.Assess(name, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			platform.try(ctx, t, name, manifestsOf(t, file)[0].Object)
			return ctx
		})
	}
	testenv.Test(t, feature.Teardown(platform.remove).Feature())
}

// otherPlatform is what the inputs need on the host.
type otherPlatform struct {
	stages []*staging
	config *unstructured.Unstructured
}

func (p *otherPlatform) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, namespace := range []string{otherInput, otherSecrets} {
		o := examplesOf(t, "staging/namespace.yaml")[0]
		o.SetName(namespace)
		createObject(ctx, t, o)
	}
	p.config = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"credentials": map[string]any{"source": "InjectedIdentity"}}}}
	p.config.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha1", Kind: "ProviderConfig"})
	p.config.SetName(otherHost)
	createObject(ctx, t, p.config)
	writeHome(ctx, t, `["`+crossplane+`", "`+otherSecrets+`"]`)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: unlabelled}, StringData: map[string]string{"username": "team", "password": unlabelledPassword}}
	if _, err := host.Typed.CoreV1().Secrets(otherInput).Create(ctx, secret, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return ctx
}

// writeHome writes which namespaces the providers keep Secrets in, as confinement.yaml says for a platform with a connectionSecretNamespace.
func writeHome(ctx context.Context, t *testing.T, namespaces string) {
	t.Helper()
	policies := host.Typed.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy, err := policies.Get(ctx, "virtual-argocd-providers", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range policy.Spec.Variables {
		if v.Name == "home" {
			policy.Spec.Variables[i].Expression = namespaces
		}
	}
	if _, err := policies.Update(ctx, policy, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// try brings up a tenant whose platform has an input, and looks for the effect of each of its fields.
func (p *otherPlatform) try(ctx context.Context, t *testing.T, name string, input map[string]any) {
	t.Helper()
	s := &staging{composition: examplesOf(t, "staging/composition.yaml")[0]}
	p.stages = append(p.stages, s)
	// Without the claim's name: the revision would be taken for something that the claim has left.
	s.composition.SetName("virtual-argocd-full-" + name)
	s.composition.SetLabels(map[string]string{"stage": name, "release": "1"})
	s.set(t, values.Merge(platformInput(ctx, t), input))
	createObject(ctx, t, s.composition)
	s.awaitRevision(ctx, t, name, "1")
	o := &otherTenant{&tenant{}}
	s.up = claim.Create(ctx, t, host, newClaim(otherInput+"-"+name).In(otherInput).
		Set(s.composition.GetName(), "spec", "compositionRef", "name").
		Set(otherInput+"-"+name+".example.org", "spec", "ingress", "host").
		Set([]any{map[string]any{"name": "plain", "url": "https://192.0.2.7/plain.git", "secretRef": map[string]any{"name": unlabelled}}}, "spec", "repositories"))
	o.live = s.up
	o.namespace = o.live.AwaitReady(ctx, t, readyWithin).Namespace
	o.cluster = open(ctx, t, o.live)
	for _, field := range fieldsOf(t, "", input) {
		t.Run(field, func(t *testing.T) { effects[field](ctx, t, o) })
	}
}

// fieldsOf returns the fields of an input that have an effect, and fails the test where one has none.
func fieldsOf(t *testing.T, prefix string, input map[string]any) []string {
	t.Helper()
	var out []string
	for name, value := range input {
		field := prefix + name
		below, deeper := value.(map[string]any)
		switch {
		case effects[field] != nil:
			out = append(out, field)
		case deeper:
			out = append(out, fieldsOf(t, field+".", below)...)
		case field != "apiVersion" && field != "kind":
			t.Errorf("%s is set, and nothing looks for its effect", field)
		}
	}
	return out
}

func (p *otherPlatform) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, s := range p.stages {
		s.remove(ctx, t)
	}
	if t.Failed() && keep {
		return ctx
	}
	deleteNamespace(ctx, t, otherInput)
	deleteNamespace(ctx, t, otherSecrets)
	remove(ctx, t, p.config)
	writeHome(ctx, t, `["`+crossplane+`"]`)
	return ctx
}
