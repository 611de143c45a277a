//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

const (
	// largeNamespace is where the Git server of the Application is.
	largeNamespace = "e2e-large"
	largeApp       = "web"

	// Replicas of the plan large.
	controlPlanes, members = 3, 3

	// answersWithin is how long the API server of a virtual cluster, or an Argo CD, may give no answer while one of
	// several is lost.
	answersWithin = 20 * time.Second
)

// large is a customer of the plan large, of which nothing that answers is there only once.
type large struct {
	live      *claim.Live
	plan      *installedPlan
	namespace string
	// redisHA: the platform's argo-cd chart has redis with high availability.
	redisHA bool
	kept    *corev1.ConfigMap
}

func TestLarge(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	l := &large{}
	t.Cleanup(func() { l.remove(context.Background(), t) })
	testenv.Test(t, features.New("large").
		Setup(l.install).
		Assess("EachMemberHasTheState", l.replicated).
		Assess("LossOfLeadersIsSurvived", l.survives).
		Assess("ArgoCDHasThePlansReplicas", l.replicas).
		Assess("ArgoCDDeploysFromGit", l.deploys).
		Assess("LossOfRedisIsSurvived", l.survivesRedis).
		Assess("PlanWithAnotherStoreIsRefused", l.refused).
		Assess("DeleteTakesTheVolumes", l.deleted).
		Feature())
}

func (l *large) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, l.live)
	l.plan.remove(ctx, t)
	if !t.Failed() || !keep {
		deleteNamespace(ctx, t, largeNamespace)
	}
}

// smaller makes the plan large fit a node of two cores that other tests run on, too: its requests and nothing else. It
// leaves redis out where the chart has none of several replicas.
func (l *large) smaller(t *testing.T) func(*unstructured.Unstructured) {
	return func(plan *unstructured.Unstructured) {
		for _, at := range []string{"vcluster", "argocd.server", "argocd.controller", "argocd.repoServer", "argocd.redis"} {
			requests := strings.Split("spec."+at+".resources.requests", ".")
			if _, has, _ := unstructured.NestedMap(plan.Object, requests...); !has {
				t.Errorf("the plan large has no %s", strings.Join(requests, "."))
			}
			if err := unstructured.SetNestedStringMap(plan.Object, map[string]string{"cpu": "20m", "memory": "128Mi"}, requests...); err != nil {
				t.Error(err)
			}
		}
		if l.redisHA {
			return
		}
		t.Log("NOT TRIED HERE: REDIS WITH HIGH AVAILABILITY. THE TEST CHART argo-cd HAS NONE; ARGOCD_CHART IS TO BE UPSTREAM'S, WITH ITS SUBCHART redis-ha")
		unstructured.RemoveNestedField(plan.Object, "spec", "argocd", "ha")
		// As with ha.
		if err := unstructured.SetNestedField(plan.Object, int64(2), "spec", "argocd", "applicationSet", "replicas"); err != nil {
			t.Error(err)
		}
	}
}

// chartHasRedisHA reports whether the platform's argo-cd chart has redis-ha, which a chart taken from its source lacks.
func chartHasRedisHA(t *testing.T) bool {
	t.Helper()
	path := os.Getenv("ARGOCD_CHART")
	if path == "" {
		return registry == ""
	}
	ch, err := charts.RealArgoCD(path)
	if err != nil {
		t.Fatal(err)
	}
	return charts.HasRedisHA(ch)
}

func (l *large) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l.redisHA = chartHasRedisHA(t)
	l.plan = installPlan(ctx, t, "large", "large", with(t, []any{claims}, "namespaces"), l.smaller(t))
	request := newClaim("enterprise").Set("large", "spec", "plan")
	if l.redisHA {
		// There is one node.
		request = request.ArgoCDValue(false, "redis-ha", "hardAntiAffinity").ArgoCDValue(false, "redis-ha", "haproxy", "hardAntiAffinity")
	}
	l.live = claim.Create(ctx, t, host, request)
	s := l.live.AwaitReady(ctx, t, readyWithin)
	measured.add("large: claim of the plan large to Ready", time.Since(l.live.Created))
	l.namespace = s.Namespace
	if planOf(s) != "large" {
		t.Errorf("the claim has plan %q", planOf(s))
	}
	return ctx
}

// replicated puts an object into the virtual cluster, and looks for it in each member of the store.
func (l *large) replicated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l.complete(ctx, t)
	claims, err := host.Typed.CoreV1().PersistentVolumeClaims(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(claims.Items) != members {
		t.Errorf("want a volume for each member of the store and no other, got %d, %v", len(claims.Items), err)
	}
	for _, c := range claims.Items {
		if size := c.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "5Gi" || c.Status.Phase != corev1.ClaimBound {
			t.Errorf("volume claim %s is %s, of %s", c.Name, c.Status.Phase, size.String())
		}
	}
	l.kept, err = open(ctx, t, l.live).Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"is": "kept"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.inEachMember(ctx, t)
	return ctx
}

// complete waits until every control plane and every member of the store is there.
func (l *large) complete(ctx context.Context, t *testing.T) {
	t.Helper()
	for app, want := range map[string]int{"vcluster": controlPlanes, "vcluster-etcd": members} {
		eventually.True(ctx, t, 5*time.Minute, fmt.Sprintf("%d pods of %s are ready", want, app), func(ctx context.Context) (bool, string) {
			pods, err := host.Typed.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
			if err != nil {
				return false, err.Error()
			}
			n := 0
			for _, pod := range pods.Items {
				if ready(pod) {
					n++
				}
			}
			return n == want && len(pods.Items) == want, fmt.Sprintf("%d of %d", n, len(pods.Items))
		})
	}
}

// inEachMember asks each member of the store for the object, from what it has itself.
func (l *large) inEachMember(ctx context.Context, t *testing.T) {
	t.Helper()
	for i := range members {
		m, err := l.member(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		eventually.True(ctx, t, time.Minute, m.pod+" has the object, and two peers", func(ctx context.Context) (bool, string) {
			names, err := m.peers(ctx)
			if err != nil {
				return false, err.Error()
			}
			has, err := m.has(ctx, "/registry/configmaps/"+l.kept.Namespace+"/"+l.kept.Name)
			return err == nil && has && len(names) == members, fmt.Sprint(names, has, err)
		})
	}
}

// survives deletes the member of the store and the control plane that lead, at once.
func (l *large) survives(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	lost := []string{l.leadingMember(ctx, t), l.leadingControlPlane(ctx, t)}
	config := connectionConfig(ctx, t, l.live)
	calm.RLock()
	defer calm.RUnlock()
	silence := listen(ctx, config.Host+"/api/v1/namespaces/"+l.kept.Namespace+"/configmaps/"+l.kept.Name, config, 200*time.Millisecond, 3*time.Second)
	pods := host.Typed.CoreV1().Pods(l.namespace)
	was := map[string]types.UID{}
	for _, name := range lost {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		was[name] = pod.UID
		// Killed, not stopped.
		if err := pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	eventually.True(ctx, t, time.Minute, "both pods are gone", func(ctx context.Context) (bool, string) {
		for name, uid := range was {
			if pod, err := pods.Get(ctx, name, metav1.GetOptions{}); err == nil && pod.UID == uid {
				return false, name + " is there"
			}
		}
		return true, ""
	})
	l.complete(ctx, t)
	measured.add("large: leaders of etcd and of the control planes lost to all back", time.Since(start))
	silence.atMost(t, answersWithin, "large: the virtual API's longest silence while leaders are lost")
	l.inEachMember(ctx, t)
	is, err := open(ctx, t, l.live).Typed.CoreV1().ConfigMaps(l.kept.Namespace).Get(ctx, l.kept.Name, metav1.GetOptions{})
	if err != nil || is.UID != l.kept.UID || !maps.Equal(is.Data, l.kept.Data) {
		t.Errorf("the object is not what it was: %v, %v", is, err)
	}
	if now := l.leadingControlPlane(ctx, t); slices.Contains(lost, now) {
		t.Errorf("control plane %s still leads", now)
	}
	l.live.AwaitReady(ctx, t, 5*time.Minute)
	return ctx
}

// leadingControlPlane is the pod that holds the lease of the syncer.
func (l *large) leadingControlPlane(ctx context.Context, t *testing.T) string {
	t.Helper()
	var leader string
	eventually.True(ctx, t, 2*time.Minute, "a control plane that is there leads", func(ctx context.Context) (bool, string) {
		leases, err := host.Typed.CoordinationV1().Leases(l.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		pods, err := host.Typed.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=vcluster"})
		if err != nil {
			return false, err.Error()
		}
		var seen []string
		for _, lease := range leases.Items {
			if lease.Spec.HolderIdentity == nil {
				continue
			}
			for _, pod := range pods.Items {
				if strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name) {
					leader = pod.Name
					return true, ""
				}
			}
			seen = append(seen, lease.Name+" "+*lease.Spec.HolderIdentity)
		}
		return false, fmt.Sprint(seen)
	})
	return leader
}

// replicas of Argo CD's workloads are those of the plan, all of them available.
func (l *large) replicas(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	want := map[string]int32{
		"argocd-server": 3, "argocd-repo-server": 3, "argocd-applicationset-controller": 2, "argocd-notifications-controller": 1, "argocd-application-controller": 1, "argocd-redis": 1,
	}
	if l.redisHA {
		delete(want, "argocd-redis")
		want["argocd-redis-ha-server"], want["argocd-redis-ha-haproxy"] = 3, 3
	}
	got, wrong, err := workloads(ctx, open(ctx, t, l.live))
	if err != nil || len(wrong) > 0 || !maps.Equal(want, got) {
		t.Errorf("Argo CD's replicas that are available: want %v, got %v, %v, %v", want, got, wrong, err)
	}
	return ctx
}

func (l *large) deploys(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(largeNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	image := deployment(ctx, t, open(ctx, t, l.live), "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	repo := gitserver.RunPublic(ctx, t, host, largeNamespace, image, map[string]string{"web.yaml": webManifest})
	api := loggedIn(ctx, t, l.live)
	start := time.Now()
	createApp(ctx, t, api, largeApp, wholeOf(repo), argocd.InCluster)
	awaitHealthy(ctx, t, api, largeApp)
	measured.add("large: Application created to Synced and Healthy", time.Since(start))
	return ctx
}

// survivesRedis deletes the redis that is the first of three.
func (l *large) survivesRedis(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if !l.redisHA {
		t.Log("NOT TRIED HERE: SEE ABOVE")
		return ctx
	}
	virtual := open(ctx, t, l.live)
	pods := virtual.Typed.CoreV1().Pods("argocd")
	const first = "argocd-redis-ha-server-0"
	was, err := pods.Get(ctx, first, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(ctx, first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	eventually.True(ctx, t, 2*time.Minute, "the first redis is gone", func(ctx context.Context) (bool, string) {
		is, err := pods.Get(ctx, first, metav1.GetOptions{})
		return kerrors.IsNotFound(err) || err == nil && is.UID != was.UID, fmt.Sprint(err)
	})
	// What it says of an Application's resources is in redis alone.
	api := loggedIn(ctx, t, l.live)
	eventually.True(ctx, t, time.Minute, "Argo CD has its cache", func(ctx context.Context) (bool, string) {
		n, err := api.Resources(ctx, largeApp)
		return err == nil && n > 0, fmt.Sprint(n, err)
	})
	measured.add("large: first redis lost to Argo CD with its cache", time.Since(start))
	eventually.True(ctx, t, 5*time.Minute, "three redis are available", func(ctx context.Context) (bool, string) {
		_, wrong, err := workloads(ctx, virtual)
		return err == nil && len(wrong) == 0, fmt.Sprint(wrong, err)
	})
	awaitHealthy(ctx, t, api, largeApp)
	l.live.AwaitReady(ctx, t, 5*time.Minute)
	return ctx
}

// refused asks for a plan that keeps the state elsewhere.
func (l *large) refused(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	planRefused(ctx, t, l.live, "standard", "spec.plan: standard has sqlite on a volume of 1Gi, and this virtual cluster was made with etcd with 3 members on volumes of 5Gi")
	return ctx
}

// deleted looks for the volumes, whose names don't tell whose they are.
func (l *large) deleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	claims, err := host.Typed.CoreV1().PersistentVolumeClaims(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	podsGoFirst(ctx, t, l.namespace)
	measured.add("large: deletion to nothing left", deletePromptly(ctx, t, l.live))
	for _, c := range claims.Items {
		eventually.True(ctx, t, time.Minute, "the volume of "+c.Name+" is gone", func(ctx context.Context) (bool, string) {
			v, err := host.Typed.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
			return kerrors.IsNotFound(err), fmt.Sprint(v, err)
		})
	}
	return ctx
}
