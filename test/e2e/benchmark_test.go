//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// pairs is how often claim and hand take turns: enough to see how far times scatter.
const pairs = 3

// benchRun is one tenant, brought up and taken down.
type benchRun struct {
	ready, gone time.Duration
	// steps is the way to Ready, as the claim told it.
	steps []string
}

// TestBenchmark measures a claim's way to Ready, and to nothing, against the two `helm install --wait` commands that a
// person would type for the same charts with the same values, in a namespace with the same labels, quota, limits, network
// policies and rights; beside them, that of a namespaced VirtualArgoCD, with and without a spare. It reports and asserts nothing about speed.
func TestBenchmark(t *testing.T) {
	if os.Getenv("BENCH") == "" {
		t.Skip("THE BENCHMARK IS SKIPPED: it measures nothing beside other tests; `make bench` runs it alone")
	}
	most := max(slices.Max(storms), stormOnSpares)
	if parallel := flag.Lookup("test.parallel").Value.(flag.Getter).Get().(int); parallel < most {
		t.Fatalf("%d tests may run in parallel, and up to %d tenants are to come up at once: write -parallel=%d", parallel, most, most)
	}
	// single is the median time of one claim.
	var single time.Duration
	testenv.Test(t, features.New("claim against helm by hand").
		Assess("Pairs", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			var rows, ratios []string
			var singles []time.Duration
			var last benchRun
			for i := range pairs {
				// One to have the images on the node, which both then profit from alike.
				if i == 0 {
					benchClaim(ctx, t, newClaim("warm"), nil)
				}
				var made installation
				ours := benchClaim(ctx, t, newClaim(fmt.Sprintf("bench%d", i)), &made)
				front := benchClaim(ctx, t, newFront(fmt.Sprintf("bench-front%d", i), claims), nil)
				hand := benchHand(ctx, t, fmt.Sprintf("bench-hand%d", i), made)
				rows = append(rows, fmt.Sprintf("%-6d %12.1f %12.1f %12.1f %8.2f %14.1f %14.1f %14.1f", i+1, ours.ready.Seconds(), front.ready.Seconds(),
					hand.ready.Seconds(), ours.ready.Seconds()/hand.ready.Seconds(), ours.gone.Seconds(), front.gone.Seconds(), hand.gone.Seconds()))
				ratios = append(ratios, fmt.Sprintf("%.2f", ours.ready.Seconds()/hand.ready.Seconds()))
				singles = append(singles, ours.ready)
				last = ours
			}
			slices.Sort(singles)
			single = singles[len(singles)/2]
			slices.Sort(ratios)
			fmt.Printf("\nTime to Ready and time to delete, seconds\n%-6s %12s %12s %12s %8s %14s %14s %14s\n%s\nmedian ratio of the claim to helm by hand %s\n",
				"pair", "claim", "namespaced", "by hand", "ratio", "claim deleted", "ns'd deleted", "hand deleted", strings.Join(rows, "\n"), ratios[len(ratios)/2])
			fmt.Printf("\nThe last claim's way to Ready\n%s\n", lines(last.steps))
			return ctx
		}).
		Assess("Storms", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			if single == 0 {
				single = benchClaim(ctx, t, newClaim("single"), nil).ready
			}
			var rows []string
			for _, n := range storms {
				t.Run(fmt.Sprint(n), func(t *testing.T) { rows = append(rows, benchStorm(ctx, t, n, single)) })
			}
			fmt.Printf("\nMany at once: seconds until all are Ready, and the ratio of that to as many one after the other, at %.1f s each\n%-8s %10s %10s %10s %14s %14s %14s\n%s\n", single.Seconds(),
				"tenants", "claims", "by hand", "ratio", "one by one", "claims deleted", "hand deleted", strings.Join(rows, "\n"))
			return ctx
		}).
		Assess("Spares", benchSpares).Feature())
}

// storms are how many tenants come up at the same time.
var storms = []int{6, 12}

// benchStorm brings n tenants up at once by claims, then as many by hand. Under any load, no claim may be Failing on its way, and nothing
// that Helm has created may be taken down.
func benchStorm(ctx context.Context, t *testing.T, n int, single time.Duration) string {
	t.Helper()
	longest := func(of string, each func(t *testing.T, i int)) time.Duration {
		began := time.Now()
		t.Run(of, func(t *testing.T) {
			for i := range n {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					each(t, i)
				})
			}
		})
		return time.Since(began)
	}
	began := time.Now()
	claims := make([]*claim.Live, n)
	for i := range claims {
		claims[i] = claim.Create(ctx, t, host, newClaim(fmt.Sprintf("storm%d-%d", n, i)))
	}
	longest("Claims", func(t *testing.T, i int) {
		said := ""
		err := claims[i].Follow(ctx, stormWithin, func(s claim.Step) bool {
			if s.Phase == "Failing" || s.Phase == "Degraded" {
				t.Errorf("%s is %s on its way: %s", claims[i].Name, s.Phase, s.Message)
			}
			if s.Message != said {
				said = s.Message
				t.Logf("%6.1f s  %s %d%% %s", s.At.Seconds(), s.Phase, s.Progress, s.Message)
			}
			return !s.True(claim.Ready) || s.Phase != "Ready"
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	ready := time.Since(began)
	for _, l := range claims {
		nothingTakenDown(ctx, t, l)
	}
	made := installationOf(ctx, t, claims[0])
	gone := longest("Deleted", func(t *testing.T, i int) { deleteAndAwait(ctx, t, claims[i], goneWithin) })
	hand := make([]benchRun, n)
	longest("ByHand", func(t *testing.T, i int) { hand[i] = benchHand(ctx, t, fmt.Sprintf("storm-hand%d-%d", n, i), made) })
	byHand := slices.MaxFunc(hand, func(a, b benchRun) int { return cmp.Compare(a.ready, b.ready) }).ready
	handGone := slices.MaxFunc(hand, func(a, b benchRun) int { return cmp.Compare(a.gone, b.gone) }).gone
	return fmt.Sprintf("%-8d %10.1f %10.1f %10.2f %14.2f %14.1f %14.1f", n, ready.Seconds(), byHand.Seconds(), ready.Seconds()/byHand.Seconds(),
		ready.Seconds()/(time.Duration(n)*single).Seconds(), gone.Seconds(), handGone.Seconds())
}

// stormWithin is how long each of many tenants that come up at once may take.
const stormWithin = 3 * readyWithin

// nothingTakenDown looks whether provider-helm has uninstalled a Release of a claim, or rolled it back.
func nothingTakenDown(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range composed {
		if o.GetKind() != "Release" {
			continue
		}
		if times := o.GetAnnotations()["virtualargocd.io/failed"]; times != "" {
			t.Errorf("Release %s was taken back %s times", o.GetName(), times)
		}
		if revision, _, _ := unstructured.NestedInt64(o.Object, "status", "atProvider", "revision"); revision != 1 {
			t.Logf("Release %s took %d attempts", o.GetName(), revision)
		}
	}
}

// benchClaim brings one tenant up and takes it down by a claim. When made is given, it is filled with what the claim had
// installed, so that a person can be timed at the same.
func benchClaim(ctx context.Context, t *testing.T, c *claim.Claim, made *installation) benchRun {
	t.Helper()
	l := claim.Create(ctx, t, host, c)
	out := followed(ctx, t, l)
	if made != nil {
		*made = installationOf(ctx, t, l)
	}
	out.gone = deletePromptly(ctx, t, l)
	return out
}

// followed follows a claim until it is Ready.
func followed(ctx context.Context, t *testing.T, l *claim.Live) benchRun {
	t.Helper()
	out := benchRun{}
	said := ""
	err := l.Follow(ctx, stormWithin, func(s claim.Step) bool {
		if line := fmt.Sprintf("%s %d%% %s", s.Phase, s.Progress, s.Message); line != said {
			said = line
			out.steps = append(out.steps, fmt.Sprintf("%6.1f s  %s", s.At.Seconds(), line))
		}
		out.ready = s.At
		return !s.True(claim.Ready) || s.Phase != "Ready"
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// chartRelease is a Helm release as a provider-helm Release describes it.
type chartRelease struct {
	name, namespace, chart, repository, version string
	values                                      map[string]any
}

// An installation is what a claim had installed on the host.
type installation struct {
	// charts are the Releases, vcluster first.
	charts []chartRelease
	// bounds are the namespace, first, and what is in it beside the charts'.
	bounds []*unstructured.Unstructured
}

// installationOf reads what the claim's composed resources say.
func installationOf(ctx context.Context, t *testing.T, l *claim.Live) installation {
	t.Helper()
	composed, err := l.Composed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var made installation
	for _, o := range composed {
		if manifest, found, _ := unstructured.NestedMap(o.Object, "spec", "forProvider", "manifest"); found {
			o = &unstructured.Unstructured{Object: manifest}
		}
		switch o.GetKind() {
		case "Namespace":
			made.bounds = slices.Insert(made.bounds, 0, o)
		case "ResourceQuota", "LimitRange", "NetworkPolicy", "RoleBinding":
			made.bounds = append(made.bounds, o)
		case "Release":
			made.charts = append(made.charts, chartOf(o))
		}
	}
	slices.SortFunc(made.charts, func(a, b chartRelease) int { return strings.Compare(b.chart, a.chart) })
	if len(made.charts) != 2 || len(made.bounds) < 4 || made.bounds[0].GetKind() != "Namespace" {
		t.Fatalf("claim %s has %d Releases, not 2, and %d objects beside them", l.Name, len(made.charts), len(made.bounds))
	}
	return made
}

func chartOf(o *unstructured.Unstructured) chartRelease {
	str := func(path ...string) string {
		s, _, _ := unstructured.NestedString(o.Object, append([]string{"spec", "forProvider"}, path...)...)
		return s
	}
	values, _, _ := unstructured.NestedMap(o.Object, "spec", "forProvider", "values")
	// Without the function, the chart makes the password of redis.
	delete(values, "redisSecretInit")
	return chartRelease{
		name: o.GetAnnotations()["crossplane.io/external-name"], namespace: str("namespace"), chart: str("chart", "name"),
		repository: str("chart", "repository"), version: str("chart", "version"), values: values,
	}
}

// benchHand does with helm what the claim did, in a namespace of its own.
func benchHand(ctx context.Context, t *testing.T, namespace string, made installation) benchRun {
	t.Helper()
	vcluster, argocd := made.charts[0], made.charts[1]
	from := vcluster.namespace
	vcluster.namespace = namespace
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "host.kubeconfig")
	if err := writeKubeconfigOf(kubeconfig); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	for _, o := range made.bounds {
		createAgain(ctx, t, o, from, namespace)
	}
	// They name the tenant's namespace, in the host names of the certificate.
	helm(ctx, t, dir, kubeconfig, vcluster, from, namespace)
	inner := filepath.Join(dir, "virtual.kubeconfig")
	virtualKubeconfig(ctx, t, namespace, vcluster.name, inner)
	helm(ctx, t, dir, inner, argocd, from, namespace)
	out := benchRun{ready: time.Since(began)}

	began = time.Now()
	runHelm(ctx, t, kubeconfig, "uninstall", vcluster.name, "--namespace", namespace)
	if err := host.Typed.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, goneWithin, "namespace "+namespace+" is gone", func(ctx context.Context) (bool, string) {
		_, err := host.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
	out.gone = time.Since(began)
	return out
}

// createAgain creates in one namespace what there is in another.
func createAgain(ctx context.Context, t *testing.T, o *unstructured.Unstructured, from, to string) {
	t.Helper()
	content := map[string]any{"metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace(), "labels": o.GetLabels(), "annotations": o.GetAnnotations()}}
	for key, value := range o.Object {
		if key != "metadata" && key != "status" {
			content[key] = value
		}
	}
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	again := &unstructured.Unstructured{}
	if err := json.Unmarshal(bytes.ReplaceAll(data, []byte(from), []byte(to)), &again.Object); err != nil {
		t.Fatal(err)
	}
	client, err := host.Resource(again.GroupVersionKind(), again.GetNamespace())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(ctx, again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// helm installs a release and waits, as `helm upgrade --install --wait` does.
func helm(ctx context.Context, t *testing.T, dir, kubeconfig string, r chartRelease, from, to string) {
	t.Helper()
	data, err := yaml.Marshal(r.values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, r.chart+".yaml")
	if err := os.WriteFile(file, bytes.ReplaceAll(data, []byte(from), []byte(to)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"upgrade", "--install", r.name, r.chart, "--repo", r.repository, "--version", r.version,
		"--namespace", r.namespace, "--create-namespace", "--wait", "--timeout", "10m", "--values", file}
	err = tryHelm(ctx, t, kubeconfig, args...)
	// Under load, a virtual API server that has just come up may refuse connections again: a person repeats the command.
	for tries := 1; err != nil && tries < 3; tries++ {
		t.Logf("again: %v", err)
		time.Sleep(5 * time.Second)
		err = tryHelm(ctx, t, kubeconfig, args...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runHelm(ctx context.Context, t *testing.T, kubeconfig string, args ...string) {
	t.Helper()
	if err := tryHelm(ctx, t, kubeconfig, args...); err != nil {
		t.Fatal(err)
	}
}

func tryHelm(ctx context.Context, t *testing.T, kubeconfig string, args ...string) error {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary("helm")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, program, append(args, "--kubeconfig", kubeconfig)...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run helm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// writeKubeconfigOf writes a kubeconfig of the host cluster.
func writeKubeconfigOf(file string) error {
	data, err := os.ReadFile(testenv.EnvConf().KubeconfigFile())
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// virtualKubeconfig writes vcluster's kubeconfig in a form that works from here: by the address of the Service, with
// the name that its certificate has.
func virtualKubeconfig(ctx context.Context, t *testing.T, namespace, release, file string) {
	t.Helper()
	var secret *corev1.Secret
	// vcluster writes it a moment after it is up.
	eventually.True(ctx, t, time.Minute, "vcluster has written its kubeconfig", func(ctx context.Context) (bool, string) {
		var err error
		secret, err = host.Typed.CoreV1().Secrets(namespace).Get(ctx, "vc-"+release, metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	service, err := host.Typed.CoreV1().Services(namespace).Get(ctx, release, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(secret.Data["config"])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server = "https://" + service.Spec.ClusterIP + ":443"
		c.TLSServerName = release + "." + namespace + ".svc"
	}
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
}
