//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// patience is how long a request may take: most clients wait longer. The plan large is silent for less, too.
const patience = 10 * time.Second

// slowHook is a hook that makes each sync take a minute and a half. It runs in the image of the Git server.
const slowHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: slow
  annotations:
    argocd.argoproj.io/hook: PreSync
    argocd.argoproj.io/hook-delete-policy: BeforeHookCreation
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: slow
          image: %s
          command: [sleep, "90"]
`

// downtime is a customer whose Argo CD and virtual API server are asked once a second, while everything about them changes.
type downtime struct {
	name, example string
	// allowed is how many requests of one step may fail, and inFlight how many that a killed pod was answering; negative for any number.
	allowed, inFlight int
	// silence is how long none may be answered. A new one is asked each second.
	silence time.Duration

	large large
	image string
}

// TestNoDowntime changes a tenant of the plan large, one thing after the other: no request fails, other than those that end with the pod that
// was answering them.
func TestNoDowntime(t *testing.T) {
	(&downtime{name: "steady", example: "large", inFlight: 2, silence: patience}).test(t)
}

// TestDowntimeOfSmall measures for how long a tenant of the plan small doesn't answer during the same changes.
func TestDowntimeOfSmall(t *testing.T) {
	(&downtime{name: "brief", example: "small", allowed: -1, inFlight: -1, silence: 2 * time.Minute}).test(t)
}

func (d *downtime) test(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Cleanup(func() { d.remove(context.Background(), t) })
	testenv.Test(t, features.New("downtime "+d.example).
		Setup(d.create).
		// The older Argo CD ends a sync in flight, now and then, when its controller starts again: it looks for the project before it has read any.
		Assess("Upgrades", d.step("Argo CD and Kubernetes upgraded", d.allowed, d.upgrade)).
		Assess("Values", d.step("values changed", d.allowed, d.values)).
		Assess("Certificates", d.step("certificates renewed", d.allowed, d.certificates)).
		Assess("Moves", d.step("each pod moved", d.allowed, d.moves)).
		Assess("NodeLost", d.step("a node lost", d.inFlight, d.nodeLost)).
		Feature())
}

func (d *downtime) namespace() string { return "e2e-downtime-" + d.example }

func (d *downtime) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, d.large.live)
	d.large.plan.remove(ctx, t)
	if !t.Failed() || !keep {
		deleteNamespace(ctx, t, d.namespace())
	}
}

func (d *downtime) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l := &d.large
	l.redisHA = d.example == "large" && chartHasRedisHA(t)
	changes := []func(*unstructured.Unstructured){with(t, []any{claims}, "namespaces"),
		with(t, map[string]any{"kubernetes": []any{">=0"}, "vclusterCharts": []any{">=0"}, "argocdCharts": []any{">=0"}}, "versions")}
	if d.example == "large" {
		changes = append(changes, l.smaller(t))
	}
	l.plan = installPlan(ctx, t, d.example, d.name, changes...)
	request := newClaim(d.name).Set(d.name, "spec", "plan").Set(d.name+"."+ingress.Domain, "spec", "ingress", "host").
		Set(olderChart(t, platformChart(ctx, t)), "spec", "argocd", "chartVersion").Kubernetes(otherKubernetes)
	if l.redisHA {
		// There is one node.
		request = request.ArgoCDValue(false, "redis-ha", "hardAntiAffinity").ArgoCDValue(false, "redis-ha", "haproxy", "hardAntiAffinity")
	}
	l.live = claim.Create(ctx, t, host, request)
	l.namespace = l.live.AwaitReady(ctx, t, readyWithin).Namespace

	if _, err := createNamespace(d.namespace())(ctx, nil); err != nil {
		t.Fatal(err)
	}
	d.image = deployment(ctx, t, open(ctx, t, l.live), "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	repo := gitserver.RunPublic(ctx, t, host, d.namespace(), d.image, map[string]string{"web.yaml": webManifest, "slow.yaml": fmt.Sprintf(slowHook, d.image)})
	api := loggedIn(ctx, t, l.live)
	createApp(ctx, t, api, d.name, wholeOf(repo), argocd.InCluster)
	awaitHealthy(ctx, t, api, d.name)
	d.settled(ctx, t)
	return ctx
}

// step makes a change while both servers are asked, of whose answers a number may fail, and Argo CD has a sync in flight, which has to end well
// where no answer may fail.
func (d *downtime) step(what string, allowed int, change func(context.Context, *testing.T)) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		config := connectionConfig(ctx, t, d.large.live)
		api := loggedIn(ctx, t, d.large.live)
		session := &rest.Config{BearerToken: api.Token(), TLSClientConfig: anyCertificate.TLSClientConfig}
		began := time.Now()
		if err := api.Try(ctx, http.MethodPost, "/api/v1/applications/"+d.name+"/sync", map[string]any{}); err != nil {
			t.Fatal(err)
		}
		asked := map[string]*listener{
			"Argo CD":         listen(ctx, "https://"+d.name+"."+ingress.Domain+"/api/v1/applications/"+d.name, session, time.Second, patience),
			"the virtual API": listen(ctx, config.Host+"/api/v1/namespaces/default/serviceaccounts/default", config, time.Second, patience),
		}
		change(ctx, t)
		d.settled(ctx, t)
		d.synced(ctx, t, began)
		for server, c := range asked {
			c.end()
			failed := len(c.failures)
			t.Logf("%s, %s: %d of %d requests failed, longest silence %s\n%s", d.example, what, failed, failed+c.answers, c.longest.Round(100*time.Millisecond), strings.Join(c.failures, "\n"))
			measured.add(fmt.Sprintf("downtime of %s: %s, %s: longest time between two answers, asked once a second", d.example, what, server), c.longest)
			if allowed >= 0 && failed > allowed || c.answers == 0 {
				t.Errorf("%s: %d requests to %s failed, want %d", what, failed, server, allowed)
			}
			if d.silence > 0 && c.longest > d.silence {
				t.Errorf("%s: %s didn't answer for %s, more than %s", what, server, c.longest, d.silence)
			}
		}
		return ctx
	}
}

// settled waits until the claim is Ready and each pod of the tenant that isn't done is ready.
func (d *downtime) settled(ctx context.Context, t *testing.T) {
	t.Helper()
	d.large.live.AwaitReady(ctx, t, 10*time.Minute)
	eventually.True(ctx, t, 5*time.Minute, "all pods are ready", func(ctx context.Context) (bool, string) {
		pods, err := host.Typed.CoreV1().Pods(d.large.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp != nil || !over(pod) && !ready(pod) {
				return false, pod.Name
			}
		}
		return true, ""
	})
}

func over(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || strings.HasPrefix(pod.Name, "slow-")
}

// synced waits for the end of the sync that began at a time, or after it.
func (d *downtime) synced(ctx context.Context, t *testing.T, began time.Time) {
	t.Helper()
	apps, err := open(ctx, t, d.large.live).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	phase, message := "", ""
	eventually.True(ctx, t, 5*time.Minute, "the sync in flight ends", func(ctx context.Context) (bool, string) {
		app, err := apps.Get(ctx, d.name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		started, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "startedAt")
		at, err := time.Parse(time.RFC3339, started)
		phase, _, _ = unstructured.NestedString(app.Object, "status", "operationState", "phase")
		message, _, _ = unstructured.NestedString(app.Object, "status", "operationState", "message")
		return err == nil && !at.Before(began.Truncate(time.Second)) && phase != "Running", fmt.Sprint(started, " ", phase)
	})
	switch {
	case phase == "Succeeded":
	case d.allowed < 0:
		t.Logf("the sync in flight ended as %s: %s", phase, message)
	default:
		t.Errorf("the sync in flight ended as %s: %s", phase, message)
	}
}

func (d *downtime) values(ctx context.Context, t *testing.T) {
	changed := corev1.EnvVar{Name: "CHANGED_BY_THE_TEST", Value: "yes"}
	for _, workload := range []string{"server", "repoServer", "controller"} {
		d.large.live.Patch(ctx, t, []any{map[string]any{"name": changed.Name, "value": changed.Value}}, "spec", "argocd", "values", workload, "env")
	}
	for _, name := range []string{"argocd-server", "argocd-repo-server"} {
		d.rolled(ctx, t, name, func(template corev1.PodTemplateSpec) bool {
			return slices.Contains(template.Spec.Containers[0].Env, changed)
		})
	}
}

// rolled waits until a Deployment of Argo CD has a template, in all of its pods.
func (d *downtime) rolled(ctx context.Context, t *testing.T, name string, is func(corev1.PodTemplateSpec) bool) {
	t.Helper()
	eventually.True(ctx, t, 10*time.Minute, name+" is replaced", func(ctx context.Context) (bool, string) {
		o, err := open(ctx, t, d.large.live).Typed.AppsV1().Deployments("argocd").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return is(o.Spec.Template) && o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedReplicas == *o.Spec.Replicas && o.Status.Replicas == o.Status.UpdatedReplicas, fmt.Sprint(o.Status)
	})
}

func (d *downtime) upgrade(ctx context.Context, t *testing.T) {
	chart := platformChart(ctx, t)
	d.large.live.Patch(ctx, t, defaultKubernetes, "spec", "kubernetes", "version")
	d.large.live.Patch(ctx, t, chart, "spec", "argocd", "chartVersion")
	d.large.live.Await(ctx, t, 15*time.Minute, "is Ready with both versions", func(s *claim.State) bool {
		return s.VCluster.KubernetesVersion == defaultKubernetes && s.ArgoCD.ChartVersion == chart && s.IsReady()
	})
}

// certificates has vcluster renew its certificates, as it does when a control plane starts less than 90 days before they expire.
func (d *downtime) certificates(ctx context.Context, t *testing.T) {
	a := &tenant{live: d.large.live, namespace: d.large.namespace}
	before := a.published(ctx, t)
	a.expire(ctx, t, "apiserver-kubelet-client")
	d.evict(ctx, t, "app=vcluster")
	eventually.True(ctx, t, certificatesWithin, "the claim has another client certificate", func(ctx context.Context) (bool, string) {
		details, err := detailsOf(ctx, d.large.live)
		if err != nil {
			return false, err.Error()
		}
		is := serialOf(t, []byte(details["kubeconfig"]))
		return is != before && is == a.published(ctx, t), is
	})
}

// moves evicts each pod, as a drain of the nodes does.
func (d *downtime) moves(ctx context.Context, t *testing.T) { d.evict(ctx, t, "") }

// evict evicts the pods that have labels, the next once the one before it is replaced and ready.
func (d *downtime) evict(ctx context.Context, t *testing.T, labels string) {
	t.Helper()
	pods := host.Typed.CoreV1().Pods(d.large.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if over(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		uid := pod.UID
		t.Logf("%s, pod %s is evicted", time.Now().UTC().Format(time.TimeOnly), pod.Name)
		eventually.True(ctx, t, 5*time.Minute, "pod "+pod.Name+" may be evicted", func(ctx context.Context) (bool, string) {
			err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}})
			return err == nil || kerrors.IsNotFound(err) || kerrors.IsConflict(err), fmt.Sprint(err)
		})
		eventually.True(ctx, t, 5*time.Minute, "pod "+pod.Name+" is gone", func(ctx context.Context) (bool, string) {
			is, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			return kerrors.IsNotFound(err) || err == nil && is.UID != uid, fmt.Sprint(err)
		})
		d.settled(ctx, t)
	}
}

// nodeLost kills one pod of each workload at once. The embedded cluster has a single node, which can't be lost; so what is simulated is a node
// whose loss Kubernetes has noticed.
func (d *downtime) nodeLost(ctx context.Context, t *testing.T) {
	pods := host.Typed.CoreV1().Pods(d.large.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lost := map[string]types.UID{}
	seen := map[string]bool{}
	for _, pod := range list.Items {
		workload := pod.Labels["app.kubernetes.io/name"] + pod.Labels["app"] + pod.Labels["k8s-app"]
		if over(pod) || seen[workload] {
			continue
		}
		seen[workload] = true
		lost[pod.Name] = pod.UID
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s, killed at once: %v", d.example, lost)
	time.Sleep(5 * time.Second)
}
