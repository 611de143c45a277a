//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

const (
	// realTenants is how many tenants run while the others are copied from them.
	realTenants = 6
	// copiedFrom is the label of copies, with the name of the tenant that they are of.
	copiedFrom = "example.org/copied-from"
	// copiedSecrets is the namespace of the copies of Secrets.
	copiedSecrets = "e2e-copies"
)

// TestBenchmarkProviders measures what providers and proxies use with TENANTS tenants. Six tenants are real. The others are copies: of each
// real tenant's Releases, Objects, ProviderConfigs and Secrets there are so many that the providers have as much to look at, to watch and to
// cache as with TENANTS tenants. Copies are only observed, in the virtual clusters of the real tenants. To providers and proxies, each copy has
// a virtual API server of its own: see spelled. It asserts nothing.
func TestBenchmarkProviders(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("TENANTS"))
	if err != nil || n <= realTenants {
		t.Skip("THE BENCHMARK OF THE PROVIDERS IS SKIPPED: `make bench TENANTS=500` runs it alone, for any number of tenants above 6")
	}
	b := &providersBench{}
	testenv.Test(t, features.New("providers with many tenants").
		Assess("RealTenants", b.real).
		Assess("Copies", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			b.copyAll(ctx, t, n-realTenants)
			b.show(ctx, t, fmt.Sprintf("%d tenants, %d of them copies", n, n-realTenants))
			return ctx
		}).
		Assess("Restarted", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			b.restart(ctx, t)
			b.show(ctx, t, fmt.Sprintf("%d tenants, providers restarted", n))
			return ctx
		}).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			b.removeCopies(ctx, t)
			cleanUp(ctx, t, b.lives...)
			return ctx
		}).Feature())
}

type providersBench struct{ lives []*claim.Live }

// real creates one tenant after the other, and shows what each has added.
func (b *providersBench) real(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for i := range realTenants {
		// The first Application needn't be synced: it is watched all the same.
		c := newClaim(fmt.Sprintf("provider-bench%d", i)).Set(map[string]any{"repoURL": "https://git.example.org/none.git", "path": "none"}, "spec", "bootstrap")
		l := claim.Create(ctx, t, host, c)
		b.lives = append(b.lives, l)
		l.AwaitReady(ctx, t, readyWithin)
		b.show(ctx, t, fmt.Sprintf("%d tenants", i+1))
	}
	return ctx
}

// providerPods are the pods of the providers, by the name of the provider.
func providerPods(ctx context.Context, t *testing.T) map[string]corev1.Pod {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "pkg.crossplane.io/provider"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]corev1.Pod{}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			out[pod.Labels["pkg.crossplane.io/provider"]] = pod
		}
	}
	return out
}

// use is what the programs in the pods of the providers use, by the names of the provider and the program.
func use(ctx context.Context, t *testing.T) map[string]figures.Process {
	t.Helper()
	out := map[string]figures.Process{}
	for provider, pod := range providerPods(ctx, t) {
		programs, err := figures.ReadPod(string(pod.UID))
		if err != nil {
			t.Fatal(err)
		}
		for program, p := range programs {
			out[provider+" "+program] = p
		}
	}
	return out
}

// show prints what the providers use, once neither what they use of a core nor the most memory that they took changes any more.
func (b *providersBench) show(ctx context.Context, t *testing.T, head string) {
	t.Helper()
	const (
		look   = 30 * time.Second
		change = 0.1
		growth = 1.01
	)
	is, rate, last, most := use(ctx, t), map[string]float64{}, math.Inf(1), 0.0
	for range 60 {
		before, total, peaks := is, 0.0, 0.0
		time.Sleep(look)
		is = use(ctx, t)
		for name, p := range is {
			rate[name] = (p.CPU - before[name].CPU) / look.Seconds()
			total += rate[name]
			peaks += p.Peak
		}
		if math.Abs(total-last) < change && peaks < most*growth {
			break
		}
		last, most = total, peaks
	}
	if len(is) != 4 {
		t.Fatalf("want the programs of two providers and of their proxies, got %v", is)
	}
	table := figures.NewTable(head + ": CPU in the last 30 s, memory, most memory")
	for _, name := range slices.Sorted(maps.Keys(is)) {
		table.Add(name, "%.2f, %s, %s", rate[name], figures.MiB(is[name].Memory), figures.MiB(is[name].Peak))
	}
	fmt.Println()
	if err := table.Print(os.Stdout); err != nil {
		t.Error(err)
	}
}

// copyAll makes n copies of tenants, and waits until the providers have observed them.
func (b *providersBench) copyAll(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	if _, err := createNamespace(copiedSecrets)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	var originals []original
	for _, l := range b.lives {
		originals = append(originals, originalOf(ctx, t, l))
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range n {
		group.Go(func() error { return originals[i%len(originals)].copy(gctx, i+1) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Hour, "the providers have observed all copies", func(ctx context.Context) (bool, string) {
		left := 0
		for _, kind := range copiedKinds {
			all, err := host.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{LabelSelector: copiedFrom})
			if err != nil {
				return false, err.Error()
			}
			for _, o := range all.Items {
				// It is Synced once the provider has observed it, and published what it has to.
				if condition(&o, claim.Synced).Status != metav1.ConditionTrue {
					left++
				}
			}
		}
		time.Sleep(10 * time.Second)
		return left == 0, fmt.Sprintf("%d aren't", left)
	})
}

var (
	copiedKinds = map[string]schema.GroupVersionResource{
		"Release": {Group: "helm.crossplane.io", Version: "v1beta1", Resource: "releases"},
		"Object":  {Group: "kubernetes.crossplane.io", Version: "v1alpha2", Resource: "objects"},
	}
	// copiedConfigs are ProviderConfigs, by their group.
	copiedConfigs = map[string]schema.GroupVersionResource{
		"helm.crossplane.io":       {Group: "helm.crossplane.io", Version: "v1beta1", Resource: "providerconfigs"},
		"kubernetes.crossplane.io": {Group: "kubernetes.crossplane.io", Version: "v1alpha1", Resource: "providerconfigs"},
	}
)

// An original is what providers observe and cache of a tenant.
type original struct {
	name string
	// configs are the ProviderConfigs of the virtual cluster, and kubeconfig is the Secret that they name.
	configs    []*unstructured.Unstructured
	kubeconfig corev1.Secret
	composed   []*unstructured.Unstructured
	secrets    []corev1.Secret
}

func originalOf(ctx context.Context, t *testing.T, l *claim.Live) original {
	t.Helper()
	all, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := original{name: l.Name}
	for _, o := range all {
		_, found := copiedKinds[o.GetKind()]
		key, _, _ := unstructured.NestedString(o.Object, "spec", "credentials", "secretRef", "key")
		switch {
		case found:
			out.composed = append(out.composed, o)
		case o.GetKind() == "ProviderConfig" && key == given.ProxiedKey:
			out.configs = append(out.configs, o)
		}
	}
	if len(out.configs) != len(copiedConfigs) {
		t.Fatalf("want a ProviderConfig of each provider for the virtual cluster, got %v", out.configs)
	}
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	xr := l.XRName(ctx, t)
	kubeconfig, _, _ := unstructured.NestedString(out.configs[0].Object, "spec", "credentials", "secretRef", "name")
	for _, namespace := range []string{s.Namespace, crossplane} {
		list, err := host.Typed.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range list.Items {
			if namespace == crossplane && secret.Name == kubeconfig {
				out.kubeconfig = secret
				continue
			}
			// Copies publish their own.
			if secret.Type != resource.SecretTypeConnection && (namespace != crossplane || strings.HasPrefix(secret.Name, xr)) {
				out.secrets = append(out.secrets, secret)
			}
		}
	}
	if len(out.kubeconfig.Data[given.ProxiedKey]) == 0 {
		t.Fatalf("want the kubeconfig for providers in the Secret %s", kubeconfig)
	}
	return out
}

// copy creates a copy of each object, the one with that number.
func (o *original) copy(ctx context.Context, number int) error {
	prefix := fmt.Sprintf("copy%04d-", number)
	if err := o.copyConfigs(ctx, prefix, number); err != nil {
		return err
	}
	for _, composed := range o.composed {
		made := copyOf(composed, o.name, prefix)
		if of, _, _ := unstructured.NestedString(made.Object, "spec", "providerConfigRef", "name"); o.isConfig(of) {
			setIn(made, prefix+of, "spec", "providerConfigRef", "name")
		}
		_, err := host.Dynamic.Resource(copiedKinds[composed.GetKind()]).Create(ctx, made, metav1.CreateOptions{})
		if err != nil && !kerrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, secret := range o.secrets {
		labels := maps.Clone(secret.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[copiedFrom] = o.name
		typed := secret.Type
		if typed == corev1.SecretTypeServiceAccountToken {
			typed = corev1.SecretTypeOpaque
		}
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: prefix + secret.Name, Labels: labels}, Type: typed, Data: secret.Data}
		if _, err := host.Typed.CoreV1().Secrets(copiedSecrets).Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// copyOf is a managed resource that observes what another manages, and publishes to a Secret of its own.
func copyOf(o *unstructured.Unstructured, of, prefix string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": o.DeepCopy().Object["spec"]}}
	out.SetGroupVersionKind(o.GroupVersionKind())
	out.SetName(prefix + o.GetName())
	out.SetLabels(map[string]string{copiedFrom: of})
	out.SetAnnotations(o.GetAnnotations())
	unstructured.RemoveNestedField(out.Object, "spec", "references")
	setIn(out, []any{"Observe"}, "spec", "managementPolicies")
	if _, found, _ := unstructured.NestedMap(out.Object, "spec", "writeConnectionSecretToRef"); found {
		// The providers may write nowhere else.
		setIn(out, map[string]any{"namespace": crossplane, "name": out.GetName()}, "spec", "writeConnectionSecretToRef")
	}
	return out
}

func setIn(o *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err)
	}
}

func (o *original) isConfig(name string) bool {
	return slices.ContainsFunc(o.configs, func(c *unstructured.Unstructured) bool { return c.GetName() == name })
}

// copyConfigs creates copies of the ProviderConfigs and of their Secret, for a virtual API server of their own.
func (o *original) copyConfigs(ctx context.Context, prefix string, number int) error {
	kubeconfig, err := respell(o.kubeconfig.Data[given.ProxiedKey], number)
	if err != nil {
		return err
	}
	labels := map[string]string{copiedFrom: o.name}
	// The providers read Secrets of ProviderConfigs in this namespace only.
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: prefix + o.kubeconfig.Name, Labels: labels},
		Data:       map[string][]byte{given.KubeconfigKey: o.kubeconfig.Data[given.KubeconfigKey], given.ProxiedKey: kubeconfig},
	}
	if _, err := host.Typed.CoreV1().Secrets(crossplane).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, config := range o.configs {
		made := &unstructured.Unstructured{Object: map[string]any{"spec": config.DeepCopy().Object["spec"]}}
		made.SetGroupVersionKind(config.GroupVersionKind())
		made.SetName(prefix + config.GetName())
		made.SetLabels(labels)
		setIn(made, secret.Name, "spec", "credentials", "secretRef", "name")
		if _, err := host.Dynamic.Resource(copiedConfigs[config.GroupVersionKind().Group]).Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// respell returns the kubeconfig for providers, with the host of the virtual API server spelled.
func respell(kubeconfig []byte, number int) ([]byte, error) {
	c, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, user := range c.AuthInfos {
		raw, err := base64.RawURLEncoding.DecodeString(user.Token)
		if err != nil {
			return nil, err
		}
		credentials := proxy.Credentials{}
		if err := json.Unmarshal(raw, &credentials); err != nil {
			return nil, err
		}
		credentials.Server = "https://" + spelled(strings.TrimPrefix(credentials.Server, "https://"), number)
		if user.Token, err = credentials.Token(); err != nil {
			return nil, err
		}
	}
	return clientcmd.Write(*c)
}

// spelled returns the name of a host with some letters in upper case, others for each number. To DNS and TLS, that is the same host. To the
// proxy, it is another virtual API server.
func spelled(host string, number int) string {
	out := []byte(host)
	for i, c := range out {
		if c < 'a' || c > 'z' {
			continue
		}
		if number&1 == 1 {
			out[i] = c - 'a' + 'A'
		}
		number >>= 1
	}
	return string(out)
}

// restart ends the pods of the providers, and waits for others.
func (b *providersBench) restart(ctx context.Context, t *testing.T) {
	t.Helper()
	before := providerPods(ctx, t)
	for _, pod := range before {
		if err := host.Typed.CoreV1().Pods(crossplane).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually.True(ctx, t, 5*time.Minute, "the providers run again", func(ctx context.Context) (bool, string) {
		now := providerPods(ctx, t)
		for provider, pod := range before {
			if is, found := now[provider]; !found || is.UID == pod.UID || is.Status.Phase != corev1.PodRunning {
				return false, provider
			}
		}
		return true, ""
	})
}

func (b *providersBench) removeCopies(ctx context.Context, t *testing.T) {
	t.Helper()
	copies := metav1.ListOptions{LabelSelector: copiedFrom}
	for _, kind := range copiedKinds {
		all, err := host.Dynamic.Resource(kind).List(ctx, copies)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all.Items {
			if err := host.Dynamic.Resource(kind).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	eventually.True(ctx, t, 20*time.Minute, "the copies are gone", func(ctx context.Context) (bool, string) {
		left := 0
		for _, kind := range copiedKinds {
			all, err := host.Dynamic.Resource(kind).List(ctx, copies)
			if err != nil {
				return false, err.Error()
			}
			left += len(all.Items)
		}
		return left == 0, fmt.Sprint(left)
	})
	for _, kind := range copiedConfigs {
		if err := host.Dynamic.Resource(kind).DeleteCollection(ctx, metav1.DeleteOptions{}, copies); err != nil {
			t.Error(err)
		}
	}
	if err := host.Typed.CoreV1().Secrets(crossplane).DeleteCollection(ctx, metav1.DeleteOptions{}, copies); err != nil {
		t.Error(err)
	}
	if err := host.Typed.CoreV1().Namespaces().Delete(ctx, copiedSecrets, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Error(err)
	}
	eventually.True(ctx, t, 10*time.Minute, "the namespace of the copies is gone", func(ctx context.Context) (bool, string) {
		_, err := host.Typed.CoreV1().Namespaces().Get(ctx, copiedSecrets, metav1.GetOptions{})
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
}
