//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// upgradeNamespace is where the Git server of the Application is that stays Healthy.
const upgradeNamespace = "e2e-upgrade"

// upgrading is a customer who has one Application, and raises versions.
type upgrading struct {
	live *claim.Live
	// plan lists the versions that the claim names.
	plan *installedPlan
	// older and newer are versions of the argo-cd chart.
	older, newer string
	// kubernetes is the version that it begins with.
	kubernetes string
	// pod of the Application.
	pod corev1.Pod
}

const upgradedApp = "steady"

func TestUpgrade(t *testing.T) {
	t.Parallel()
	u := &upgrading{}
	testenv.Test(t, features.New("upgrading").
		Setup(u.create).
		Assess("ChartUpgradeKeepsTheApplicationHealthy", u.chart).
		Assess("ChangeThatFailsIsTakenBack", u.failing).
		Assess("UnsupportedKubernetesIsRefused", u.unsupported).
		Assess("KubernetesUpgradeKeepsTheApplicationHealthy", u.raiseKubernetes).
		Assess("KubernetesDowngradeIsRefused", u.downgrade).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, u.live)
			u.plan.remove(ctx, t)
			if !t.Failed() || !keep {
				deleteNamespace(ctx, t, upgradeNamespace)
			}
			return ctx
		}).Feature())
}

func (u *upgrading) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	u.newer = platformChart(ctx, t)
	u.older = olderChart(t, u.newer)
	u.plan = allVersions(ctx, t, "upgrading")
	upgrading := newClaim("upgrading").Set("upgrading", "spec", "plan").Set(u.older, "spec", "argocd", "chartVersion")
	if full {
		upgrading = upgrading.Kubernetes(otherKubernetes)
	}
	u.live = claim.Create(ctx, t, host, upgrading)
	s := u.live.AwaitReady(ctx, t, readyWithin)
	u.kubernetes = s.VCluster.KubernetesVersion
	u.versions(t, s, u.kubernetes, u.older)

	if _, err := createNamespace(upgradeNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	image := deployment(ctx, t, open(ctx, t, u.live), "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	repo := gitserver.RunPublic(ctx, t, host, upgradeNamespace, image, map[string]string{"web.yaml": webManifest})
	api := loggedIn(ctx, t, u.live)
	createApp(ctx, t, api, upgradedApp, wholeOf(repo), argocd.InCluster)
	awaitHealthy(ctx, t, api, upgradedApp)
	u.pod = u.podOfApplication(ctx, t)
	return ctx
}

// olderChart is a version of the argo-cd chart to upgrade from. Beside make e2e-full, and with a chart of somebody's own, the embedded cluster
// serves one chart under both.
func olderChart(t *testing.T, newer string) string {
	t.Helper()
	if full && registry != "" && os.Getenv("ARGOCD_CHART") == "" {
		return artifacts.OlderArgoCDChart
	}
	v, err := semver.NewVersion(newer)
	if err != nil || v.Patch() == 0 {
		t.Skipf("the platform's argo-cd chart %s has no patch version before it to upgrade from", newer)
	}
	return fmt.Sprintf("%d.%d.%d", v.Major(), v.Minor(), v.Patch()-1)
}

// allVersions installs a plan under a name of which claims may name any version, so that vcluster and Kubernetes alone
// decide what is possible. In all else it is the built-in one.
func allVersions(ctx context.Context, t *testing.T, name string) *installedPlan {
	t.Helper()
	return installPlan(ctx, t, "standard", name, func(plan *unstructured.Unstructured) {
		plan.Object["spec"] = map[string]any{"versions": map[string]any{"kubernetes": []any{">=0"}, "vclusterCharts": []any{">=0"}}}
	})
}

// platformChart is the version of the argo-cd chart in the function's input.
func platformChart(ctx context.Context, t *testing.T) string {
	t.Helper()
	version, _, _ := unstructured.NestedString(platformInput(ctx, t), "charts", "argocd", "version")
	return version
}

// platformInput is the function's input that names a version of the argo-cd chart.
func platformInput(ctx context.Context, t *testing.T) map[string]any {
	t.Helper()
	list, err := all(t, schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, composition := range list.Items {
		steps, _, _ := unstructured.NestedSlice(composition.Object, "spec", "pipeline")
		for _, step := range steps {
			input, _, _ := unstructured.NestedMap(step.(map[string]any), "input")
			if version, _, _ := unstructured.NestedString(input, "charts", "argocd", "version"); version != "" {
				return input
			}
		}
	}
	t.Skip("the function's input names no version of the argo-cd chart")
	return nil
}

func (u *upgrading) versions(t *testing.T, s *claim.State, kubernetes, chart string) {
	t.Helper()
	if s.VCluster.KubernetesVersion != kubernetes || s.VCluster.DesiredKubernetesVersion != kubernetes {
		t.Errorf("Kubernetes %s runs by the status, %s is wanted; in truth both are %s", s.VCluster.KubernetesVersion, s.VCluster.DesiredKubernetesVersion, kubernetes)
	}
	if s.ArgoCD.ChartVersion != chart || s.ArgoCD.DesiredChartVersion != chart {
		t.Errorf("chart %s runs by the status, %s is wanted; in truth both are %s", s.ArgoCD.ChartVersion, s.ArgoCD.DesiredChartVersion, chart)
	}
	if s.VCluster.Version == "" || s.VCluster.Version != s.VCluster.DesiredVersion {
		t.Errorf("vcluster %s runs by the status, %s is wanted", s.VCluster.Version, s.VCluster.DesiredVersion)
	}
}

// podOfApplication is the one that the Application runs, as the host knows it.
func (u *upgrading) podOfApplication(ctx context.Context, t *testing.T) corev1.Pod {
	t.Helper()
	s, err := u.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := host.Typed.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Name, "web-") && strings.Contains(pod.Name, "-x-"+upgradedApp+"-x-") {
			return pod
		}
	}
	t.Fatalf("the Application's pod is not among the %d of namespace %s", len(pods.Items), s.Namespace)
	return corev1.Pod{}
}

func (u *upgrading) chart(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	healthy := u.watchHealth(ctx, t)
	u.live.Patch(ctx, t, u.newer, "spec", "argocd", "chartVersion")
	start := time.Now()
	u.live.Await(ctx, t, time.Minute, "tells the chart version that is wanted beside the one that runs", func(s *claim.State) bool {
		return s.ArgoCD.DesiredChartVersion == u.newer && s.ArgoCD.ChartVersion == u.older
	})
	s := u.live.Await(ctx, t, 5*time.Minute, "is Ready with the newer chart", func(s *claim.State) bool {
		return s.ArgoCD.ChartVersion == u.newer && s.IsReady()
	})
	measured.add("upgrade: chart version raised to Ready", time.Since(start))
	u.versions(t, s, u.kubernetes, u.newer)
	label := deployment(ctx, t, open(ctx, t, u.live), "argocd-server").Labels["helm.sh/chart"]
	if !strings.HasSuffix(label, u.newer) {
		t.Errorf("argocd-server was installed by chart %q, want %s", label, u.newer)
	}
	healthy(ctx)
	return ctx
}

// unsupported is a minor version that no vcluster serves. That none is left out on the way to one that it serves can't be
// shown here, where there are two.
// failing makes a change that the virtual API server refuses, and then corrects it.
func (u *upgrading) failing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	began := time.Now()
	u.live.Patch(ctx, t, map[string]any{"not a key": "of an annotation"}, "spec", "argocd", "values", "server", "podAnnotations")
	s := u.live.Await(ctx, t, healedWithin, "says that the change is given up", func(s *claim.State) bool {
		return s.Condition(claim.SpecAccepted).Reason == v1alpha1.ReasonUpgradeFailed && s.IsReady()
	})
	measured.add("upgrade: change that fails to taken back", time.Since(began))
	u.versions(t, s, u.kubernetes, u.newer)
	if ok, events := warned(ctx, u.live, "not a key"); !ok {
		t.Errorf("no event says why the change failed: %s", events)
	}
	eventually.True(ctx, t, time.Minute, "the release is the one from before", func(ctx context.Context) (bool, string) {
		o := releaseOf(ctx, t, u.live)
		policies, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")
		state, _, _ := unstructured.NestedString(o.Object, "status", "atProvider", "state")
		return state == "deployed" && !slices.Contains(policies, "Update"), fmt.Sprint(state, policies)
	})
	awaitHealthy(ctx, t, loggedIn(ctx, t, u.live), upgradedApp)
	u.live.Patch(ctx, t, nil, "spec", "argocd", "values", "server", "podAnnotations")
	u.live.Await(ctx, t, healedWithin, "has the correction in use", func(s *claim.State) bool {
		return s.True(claim.SpecAccepted) && s.IsReady()
	})
	return ctx
}

func (u *upgrading) unsupported(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	u.refused(ctx, t, u.kubernetes, minorsFrom(t, u.kubernetes, +2), minorsFrom(t, defaultKubernetes, 0))
	return ctx
}

func (u *upgrading) raiseKubernetes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	healthy := u.watchHealth(ctx, t)
	u.live.Patch(ctx, t, defaultKubernetes, "spec", "kubernetes", "version")
	start := time.Now()
	u.live.Await(ctx, t, time.Minute, "tells the Kubernetes that is wanted beside the one that runs", func(s *claim.State) bool {
		return s.VCluster.DesiredKubernetesVersion == defaultKubernetes && s.VCluster.KubernetesVersion == u.kubernetes
	})
	s := u.live.Await(ctx, t, 5*time.Minute, "is Ready with the newer Kubernetes", func(s *claim.State) bool {
		return s.VCluster.KubernetesVersion == defaultKubernetes && s.IsReady()
	})
	measured.add("upgrade: Kubernetes raised by one minor to Ready", time.Since(start))
	version, err := open(ctx, t, u.live).Typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatalf("the virtual cluster does not answer: %v", err)
	}
	if version.GitVersion != defaultKubernetes {
		t.Errorf("the claim is Ready with Kubernetes %s, its API server is %s", defaultKubernetes, version.GitVersion)
	}
	u.versions(t, s, defaultKubernetes, u.newer)
	healthy(ctx)
	return ctx
}

func (u *upgrading) downgrade(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	u.refused(ctx, t, defaultKubernetes, u.kubernetes, minorsFrom(t, defaultKubernetes, 0))
	return ctx
}

// refused asks for a Kubernetes that can't be had from the one that runs, and takes that back.
func (u *upgrading) refused(ctx context.Context, t *testing.T, running, version, allowed string) {
	t.Helper()
	before := generations(ctx, t, u.live)
	u.live.Patch(ctx, t, version, "spec", "kubernetes", "version")
	minor := strings.TrimSuffix(strings.TrimPrefix(allowed, "v"), ".0")
	s := u.live.Await(ctx, t, time.Minute, "refuses Kubernetes "+version+", and names what is allowed", func(s *claim.State) bool {
		message := s.Condition(claim.SpecAccepted).Message
		return !s.True(claim.SpecAccepted) && s.True(claim.Ready) && strings.Contains(message, "spec.kubernetes.version") && strings.Contains(message, version) && strings.Contains(message, minor)
	})
	t.Logf("the claim says: %s", s.Condition(claim.SpecAccepted).Message)
	eventually.True(ctx, t, time.Minute, "the claim has an event that says it", func(ctx context.Context) (bool, string) {
		return warned(ctx, u.live, version)
	})
	unchangedSince(ctx, t, u.live, before, "a version that was refused")
	// Under a refusal, too, the claim tells how its Argo CD is.
	n := &tenant{live: u.live, cluster: open(ctx, t, u.live)}
	n.breaksAndHeals(ctx, t, "of a claim with a mistake")
	u.live.Patch(ctx, t, running, "spec", "kubernetes", "version")
	s = u.live.Await(ctx, t, 2*time.Minute, "is Ready again", func(s *claim.State) bool {
		return s.True(claim.Ready) && s.True(claim.SpecAccepted) && !strings.Contains(s.String(), "spec.kubernetes.version")
	})
	u.versions(t, s, running, u.newer)
}

// minorsFrom is the first version of a minor some minors from another's.
func minorsFrom(t *testing.T, version string, by int) string {
	t.Helper()
	v, err := semver.NewVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("v%d.%d.0", v.Major(), int(v.Minor())+by)
}

// watchHealth looks at the Application until the function that it returns is called, which tells what was seen: every
// answer of Argo CD's must say Healthy, and the Application's pod must be the one that it was. While the API server
// that Argo CD keeps its Applications in is replaced, there are no answers.
func (u *upgrading) watchHealth(ctx context.Context, t *testing.T) func(context.Context) {
	t.Helper()
	api := loggedIn(ctx, t, u.live)
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	answers, failures := map[string]int{}, 0
	wg.Go(func() {
		for ctx.Err() == nil {
			a, err := u.look(ctx, api)
			switch {
			case err == nil:
				answers[a.Status.Health.Status]++
			case ctx.Err() == nil:
				failures++
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	return func(whole context.Context) {
		t.Helper()
		stop()
		wg.Wait()
		t.Logf("Argo CD's answers of the Application's health: %v, and %d times none", answers, failures)
		if answers["Healthy"] == 0 || len(answers) != 1 {
			t.Errorf("the Application did not stay Healthy: %v", answers)
		}
		awaitHealthy(whole, t, loggedIn(whole, t, u.live), upgradedApp)
		if pod := u.podOfApplication(whole, t); pod.UID != u.pod.UID || restarts(pod) != restarts(u.pod) {
			t.Errorf("the Application's pod %s was replaced or restarted: now %s, %d restarts", u.pod.Name, pod.Name, restarts(pod))
		}
	}
}

// look asks once, and not for long: while pods are replaced, connections hang.
func (u *upgrading) look(ctx context.Context, api *argocd.Client) (argocd.Application, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return api.Get(ctx, upgradedApp)
}

func restarts(pod corev1.Pod) (n int32) {
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
