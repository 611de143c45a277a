//go:build e2e

package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	proxyhelm "github.com/virtual-argocd/virtual-argocd/proxy/helm"
	proxylimits "github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/limits"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
)

// largeAnswers is the program of a server whose answers are as large as the proxy lets through, of the kind that /tmp/kind there names.
//
//go:embed testdata/answers.pl
var largeAnswers string

// answerKinds are the kinds of answers that largeAnswers has.
var answerKinds = []string{
	"Text", "Angles", "NoUTF8", "Maps", "Numbers", "Texts", "Members", "Deep", "Annotations", "Containers", "Managed", "DeepManaged",
}

// askedKinds are what the providers and their proxies ask a virtual API server for: Argo CD's workloads, the Job of a hook that a claim can
// enable, the first Application and the Ingress.
var askedKinds = slices.Concat(workloadKinds, []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
})

// partOfLimit is how much of its limit in runtime.yaml a program may take, at most.
const partOfLimit = 0.5

// TestMemoryOfProviders: the worst values of a claim, the largest answers of a virtual API server that the proxies let through, and the worst
// records of Helm in a virtual cluster take each provider and each proxy less than half of its limit. Its figures, which -v prints, are in
// docs/scale.md.
//
// It isn't parallel, so no other tenant takes memory meanwhile.
func TestMemoryOfProviders(t *testing.T) {
	needsEmbedded(t)
	onlyInFull(t)
	ctx := context.Background()
	c := newClaim("hoarder").Set(map[string]any{"repoURL": "https://git.example.org/none.git", "path": "none"}, "spec", "bootstrap")
	n := &tenant{live: claim.Create(ctx, t, host, c)}
	t.Cleanup(func() { cleanUp(ctx, t, n.live) })
	n.settle(ctx, t)
	m := &memory{tenant: n, pods: podsOfProviders(ctx, t), rest: use(ctx, t)}
	t.Run("Records", func(t *testing.T) { m.records(ctx, t) })
	t.Run("Answers", func(t *testing.T) { m.answers(ctx, t) })
	t.Run("Claims", func(t *testing.T) { m.claims(ctx, t) })
}

// memory measures what the providers and their proxies take because of a tenant.
type memory struct {
	*tenant

	// pods are the providers' pods before, and rest is what their programs used.
	pods []string
	rest map[string]figures.Process
}

// during logs how much memory each program takes at most while f runs, and fails the test where that is more than part of its limit.
func (m *memory) during(ctx context.Context, t *testing.T, f func()) {
	t.Helper()
	for _, pod := range providerPods(ctx, t) {
		if err := figures.ForgetPeaks(string(pod.UID)); err != nil {
			t.Fatal(err)
		}
	}
	f()
	is := use(ctx, t)
	if len(is) != 4 {
		t.Fatalf("want the programs of two providers and of their proxies, got %v", is)
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		most, peak := m.limit(t, name), is[name].Peak
		t.Logf("%s: at most %s, %s more than at rest, of %s", name, figures.MiB(peak), figures.MiB(peak-m.rest[name].Memory), figures.MiB(most))
		if peak > partOfLimit*most {
			t.Errorf("%s takes %s, more than %g of its %s", name, figures.MiB(peak), partOfLimit, figures.MiB(most))
		}
	}
	if pods := podsOfProviders(ctx, t); !slices.Equal(m.pods, pods) {
		t.Fatalf("the providers were %v, and are %v", m.pods, pods)
	}
}

// limit is that of a program that use names, in bytes.
func (m *memory) limit(t *testing.T, name string) float64 {
	t.Helper()
	config, container := "virtual-argocd-provider-helm", limits.Package
	if strings.Contains(name, "provider-kubernetes") {
		config = "virtual-argocd-provider-kubernetes"
	}
	if strings.HasSuffix(name, " proxy") {
		container = limits.Proxy
	}
	return float64(limits.Of(t, filepath.Join("..", ".."), config, container))
}

// notRefused fails the test if a proxy hasn't let an answer of the tenant through since then: the worst ones are those that it lets through.
func (m *memory) notRefused(ctx context.Context, t *testing.T, since metav1.Time) {
	t.Helper()
	for _, pod := range providerPods(ctx, t) {
		log := podLog(ctx, t, pod.Name, corev1.PodLogOptions{Container: limits.Proxy, SinceTime: &since})
		for line := range strings.Lines(log) {
			if strings.Contains(line, m.namespace) && strings.Contains(line, "goes over a limit") {
				t.Errorf("the proxy doesn't let an answer through: %s", line)
			}
		}
	}
}

// records has provider-helm read the worst records that fit into a Secret, each as the last one of Argo CD's release.
func (m *memory) records(ctx context.Context, t *testing.T) {
	genuine, err := m.cluster.Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{LabelSelector: recordsOfArgoCD})
	if err != nil {
		t.Fatal(err)
	}
	all, err := memtest.Records(func(answer []byte) error {
		secret, err := onlySecret(answer)
		if err != nil {
			return err
		}
		if size := len(secret.Data["release"]); size > corev1.MaxSecretSize {
			return fmt.Errorf("a Secret of %d bytes", size)
		}
		// Helm reads all records of a release at once, and an upgrade adds one.
		together, err := json.Marshal(corev1.SecretList{Items: slices.Concat(genuine.Items, genuine.Items[:1], []corev1.Secret{secret})})
		if err != nil {
			return err
		}
		return proxyhelm.CheckRecords(proxylimits.Default, together)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			secret, err := onlySecret(all[name])
			if err != nil {
				t.Fatal(err)
			}
			m.during(ctx, t, func() { m.readRecord(ctx, t, secret) })
		})
	}
}

// recordsOfArgoCD selects Helm's records of Argo CD's release.
const recordsOfArgoCD = "owner=helm,name=argocd"

// onlySecret is the Secret of a list with one.
func onlySecret(list []byte) (corev1.Secret, error) {
	secrets := corev1.SecretList{}
	if err := json.Unmarshal(list, &secrets); err != nil || len(secrets.Items) != 1 {
		return corev1.Secret{}, fmt.Errorf("%d Secrets: %w", len(secrets.Items), err)
	}
	return secrets.Items[0], nil
}

// readRecord has provider-helm read a record, and upgrade what that is of. It takes the record away with what Helm has made of it.
func (m *memory) readRecord(ctx context.Context, t *testing.T, record corev1.Secret) {
	t.Helper()
	if _, err := m.cluster.Typed.CoreV1().Secrets(record.Namespace).Create(ctx, &record, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var last *helmRelease
	m.awaitRelease(ctx, t, argocdRelease, "is upgraded from the record", func(r *helmRelease) bool {
		last = r
		return r.Status.AtProvider.Revision >= memtest.Revision
	})
	t.Logf("a Secret of %d KiB: %s", len(record.Data["release"])>>10, last.Status.AtProvider.Description)
	m.removeRecords(ctx, t)
	m.awaitRelease(ctx, t, argocdRelease, "is without the record", func(r *helmRelease) bool { return r.Status.AtProvider.Revision < memtest.Revision })
}

// removeRecords removes Helm's records from memtest.Revision on.
func (m *memory) removeRecords(ctx context.Context, t *testing.T) {
	t.Helper()
	secrets := m.cluster.Typed.CoreV1().Secrets("argocd")
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: recordsOfArgoCD})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		if len(s.Labels["version"]) < len(fmt.Sprint(memtest.Revision)) {
			continue
		}
		if err := secrets.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// answers has the tenant answer for its virtual API, and both providers ask for all that they do.
func (m *memory) answers(ctx context.Context, t *testing.T) {
	at := m.hijack(ctx, t, hostileServer{program: largeAnswers, kinds: askedKinds, files: m.managers(ctx, t)})
	for _, kind := range answerKinds {
		t.Run(kind, func(t *testing.T) {
			since := metav1.Now()
			m.during(ctx, t, func() { m.readAnswers(ctx, t, at, kind) })
			m.notRefused(ctx, t, since)
		})
	}
}

// managers are files with the names under which provider-kubernetes manages fields of the objects of some kinds: it reads no others.
func (m *memory) managers(ctx context.Context, t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, kind := range askedKinds {
		resource := kind.GroupVersion().WithResource(plural(kind))
		list, err := m.cluster.Dynamic.Resource(resource).Namespace("argocd").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			for _, f := range o.GetManagedFields() {
				if strings.HasPrefix(f.Manager, "provider-kubernetes/") {
					out["manager."+resource.Resource] = []byte(f.Manager)
				}
			}
		}
	}
	t.Logf("managers: %s", out)
	return out
}

// readAnswers has the server at a place answer with a kind of answers, until each program has asked for all that it does.
func (m *memory) readAnswers(ctx context.Context, t *testing.T, at place, kind string) {
	t.Helper()
	if _, err := at.run(ctx, "sh", "-c", "rm -f /tmp/answered && echo "+kind+" > /tmp/new && mv /tmp/new /tmp/kind"); err != nil {
		t.Fatal(err)
	}
	m.live.Patch(ctx, t, map[string]any{
		"configs": map[string]any{"cm": map[string]any{"ui.bannercontent": kind}}, "redisSecretInit": map[string]any{"enabled": true},
	}, "spec", "argocd", "values")
	m.pokeObjects(ctx, t)
	eventually.True(ctx, t, 7*time.Minute, "everything has been asked for", func(ctx context.Context) (bool, string) {
		answered, err := at.run(ctx, "sh", "-c", "sort /tmp/answered | uniq -c")
		if err != nil {
			return false, err.Error()
		}
		missing := slices.DeleteFunc(slices.Clone(askedAnswers), func(words string) bool { return strings.Contains(answered, words) })
		if strings.Contains(answered, "PATCH /apis/apps/v1/namespaces/argocd/deployments/argocd-server ") || len(missing) > 0 {
			return len(missing) == 0, "not asked for: " + lines(missing) + answered
		}
		// Helm may not have got that far.
		r, err := m.release(ctx, t, argocdRelease)
		return err == nil && r.says(), fmt.Sprint(r, err)
	})
}

// askedAnswers are what the providers and the proxies ask for of each kind of answers: the workloads for a summary, the Application and the
// Ingress of Objects, and the Job of the hook that Helm creates and watches.
var askedAnswers = []string{
	"GET /apis/apps/v1/namespaces/argocd/deployments/argocd-server ", "GET /apis/argoproj.io/v1alpha1/namespaces/argocd/applications/bootstrap ",
	"GET /apis/networking.k8s.io/v1/namespaces/argocd/ingresses/argocd-server ", "POST /apis/batch/v1/namespaces/argocd/jobs ", "GET /apis/batch/v1/namespaces/argocd/jobs ",
}

// pokeObjects has provider-kubernetes look at all Objects of the tenant.
func (m *memory) pokeObjects(ctx context.Context, t *testing.T) {
	t.Helper()
	composed, err := m.live.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.org/poked":%q}}}`, time.Now())
	for _, o := range composed {
		if o.GetKind() != "Object" {
			continue
		}
		if _, err := all(t, o.GroupVersionKind()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
