//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// flooders is how many requests of a tenant are always under way.
	flooders = 16
	// costlyFrom is what one costly request takes at least. The exponent is doubled until it does, which makes it up to three times as costly:
	// no request may take longer, so that the machine is free soon after the test.
	costlyFrom = time.Second
	// lastExponent is where the search ends.
	lastExponent = 32_000_000
	// positive is an amount that would take the API server some seconds when it validates it.
	positive = "1e4000000"
	// slower is how much longer Crossplane's requests may take meanwhile, in the median, and slowerClaim is that of a claim: on two cores, of which a seat can
	// busy one.
	slower, slowerClaim = 2.0, 1.5
)

var composites = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "xvirtualargocds"}

// TestPriorityOfHostileTenant: while the account of one tenant's virtual cluster sends requests that each take the host's API server seconds, or
// very many that are honest, another claim becomes Ready in its usual time, and Crossplane's requests take theirs. The tenant's own level of
// priority bounds it: without it, they take longer.
//
// It isn't parallel, so no other test loads the machine. What it measures is in docs/scale.md.
func TestPriorityOfHostileTenant(t *testing.T) {
	needsEmbedded(t)
	onlyInFull(t)
	ctx := context.Background()
	greedy := &tenant{live: claim.Create(ctx, t, host, newClaim("greedy"))}
	t.Cleanup(func() { cleanUp(ctx, t, greedy.live) })
	greedy.namespace = greedy.live.AwaitReady(ctx, t, readyWithin).Namespace
	crossplaneOf := newUser(t, crossplane, "crossplane")
	syncer := newUser(t, greedy.namespace, "vc-vcluster")

	quiet := comesUp(ctx, t, "quiet", greedy.id(), crossplaneOf)
	costly := costlyPod(ctx, t, syncer, greedy.namespace)
	t.Run("refused before they are computed with", func(t *testing.T) { refusedEarly(ctx, t, syncer, greedy.namespace) })
	for _, f := range []struct {
		name string
		send func(context.Context) error
	}{
		{"costly", func(ctx context.Context) error { return syncer.send(ctx, greedy.namespace, costly) }},
		// The client gives up at once, and the API server goes on with what it has begun: the seat doesn't bound that.
		{"given-up", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			return syncer.send(ctx, greedy.namespace, podWith(t, positive))
		}},
		{"loop", func(ctx context.Context) error { return syncer.look(ctx, greedy.namespace) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			if f.name == "costly" {
				skipWithoutCost(t, costly)
			}
			stop := flood(ctx, t, f.send)
			is := comesUp(ctx, t, f.name, greedy.id(), crossplaneOf)
			t.Logf("%s: %s; %s", f.name, is, stop())
			if is.ready.Seconds() > slowerClaim*quiet.ready.Seconds() {
				t.Errorf("a claim takes %s to become Ready, and %s on the quiet cluster", is.ready, quiet.ready)
			}
			if is.median.Seconds() > slower*quiet.median.Seconds() {
				t.Errorf("a request of Crossplane takes %s, and %s on the quiet cluster", is.median, quiet.median)
			}
			// The slowest of a hundred are shown, and not judged: on two cores that all parts share, a claim that comes up makes them two or
			// three times as long without any flood, more often in one measurement than in another.
		})
	}
	t.Run("costly without the level", func(t *testing.T) {
		skipWithoutCost(t, costly)
		withoutLevel(ctx, t, greedy.namespace)
		stop := flood(ctx, t, func(ctx context.Context) error { return syncer.send(ctx, greedy.namespace, costly) })
		is := asks(ctx, t, greedy.id(), crossplaneOf, func() { time.Sleep(time.Minute) })
		t.Logf("requests of Crossplane %s in the median; %s", is.median.Round(100*time.Microsecond), stop())
		if is.median.Seconds() <= slower*quiet.median.Seconds() {
			t.Errorf("a request of Crossplane takes %s, and %s on the quiet cluster: the flood harms nobody, so this test shows nothing", is.median, quiet.median)
		}
	})
}

// withoutLevel has requests of a tenant's virtual cluster use the level of the host's other ServiceAccounts, by a FlowSchema that comes before
// the tenant's own: Crossplane would undo a change of that.
func withoutLevel(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	schemas := host.Typed.FlowcontrolV1().FlowSchemas()
	own, err := schemas.Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "e2e-without-level"}, Spec: *own.Spec.DeepCopy()}
	before.Spec.MatchingPrecedence--
	before.Spec.PriorityLevelConfiguration.Name = "workload-low"
	if _, err := schemas.Create(ctx, before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := schemas.Delete(ctx, before.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(5 * time.Second) // Until the API server has seen it.
}

// apiUser is a user of the host's API server, with connections of its own.
type apiUser struct{ *kube.Cluster }

// newUser is a ServiceAccount of the host.
func newUser(t *testing.T, namespace, name string) apiUser {
	t.Helper()
	config := rest.CopyConfig(as(t, "system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace).Config)
	config.Timeout = 2 * time.Minute
	config.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	c, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return apiUser{c}
}

// send creates a pod. A client of Go's would compute with its amounts before it sends it.
func (u apiUser) send(ctx context.Context, namespace string, pod []byte) error {
	return u.Typed.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").SetHeader("Content-Type", "application/json").Body(pod).Do(ctx).Error()
}

// refusedEarly: amounts.yaml has the API server refuse positive exponents before it computes with them, wherever a virtual cluster may write them.
func refusedEarly(ctx context.Context, t *testing.T, u apiUser, namespace string) {
	t.Helper()
	resources := map[string]any{"limits": map[string]any{"cpu": positive}}
	template := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "syncer", "resources": resources}},
	}}}}
	for name, send := range map[string]func() error{
		"pod": func() error { return u.send(ctx, namespace, podWith(t, positive)) },
		"volume claim": func() error {
			o := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "costly-x-default-x-vcluster"},
				"spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": positive}}},
			}}
			_, err := u.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{})
			return err
		},
		"empty directory": func() error {
			return u.send(ctx, namespace, []byte(strings.Replace(string(podWith(t, "1")), `"containers":`, `"volumes":[{"name":"a","emptyDir":{"sizeLimit":"`+positive+`"}}],"containers":`, 1)))
		},
		"resized pod": func() error {
			return u.patchFirst(ctx, namespace, "resize", `{"spec":{"containers":[{"name":"%s","resources":{"limits":{"cpu":"`+positive+`"}}}]}}`)
		},
		"control plane": func() error {
			patch, err := json.Marshal(template)
			if err != nil {
				return err
			}
			_, err = u.Dynamic.Resource(appsv1.SchemeGroupVersion.WithResource("statefulsets")).Namespace(namespace).
				Patch(ctx, "vcluster", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		},
	} {
		start := time.Now()
		err := send()
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "an-amount-of-a-tenant") || took > costlyFrom/2 {
			t.Errorf("%s with %s: want a refusal at once, got %v after %s", name, positive, err, took)
		}
	}
	// The API server doesn't compute with these, and tenants.yaml refuses them.
	start := time.Now()
	err := u.patchFirst(ctx, namespace, "status", `{"status":{"containerStatuses":[{"name":"%s","image":"a","imageID":"a","ready":true,"restartCount":0,"allocatedResources":{"cpu":"`+positive+`"}}]}}`)
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "virtual-argocd-pods") || took > costlyFrom/2 {
		t.Errorf("a pod's status with %s: want a refusal at once, got %v after %s", positive, err, took)
	}
}

// patchFirst patches a subresource of the first pod that isn't the control plane's. The patch has a place for the name of its container.
func (u apiUser) patchFirst(ctx context.Context, namespace, subresource, patch string) error {
	pods := u.Typed.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "vcluster.loft.sh/managed-by"})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errors.New("there are no pods")
	}
	pod := list.Items[0]
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, fmt.Appendf(nil, patch, pod.Spec.Containers[0].Name), metav1.PatchOptions{}, subresource)
	return err
}

// look is what a controller with a mistake does again and again: it lists its pods, and changes one that needs no change.
func (u apiUser) look(ctx context.Context, namespace string) error {
	pods := u.Typed.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return err
	}
	_, err = pods.Patch(ctx, list.Items[0].Name, types.MergePatchType, []byte(`{"metadata":{}}`), metav1.PatchOptions{})
	return err
}

// skipWithoutCost skips a test with a costly pod if there is none.
func skipWithoutCost(t *testing.T, costly []byte) {
	t.Helper()
	if costly == nil {
		t.Skipf("no amount up to 1e-%d takes this API server %s: there is nothing to defend against", lastExponent, costlyFrom)
	}
}

// costlyPod is a pod with an amount that takes the API server about a second when it decodes it; nil if there is no such amount.
func costlyPod(ctx context.Context, t *testing.T, u apiUser, namespace string) []byte {
	t.Helper()
	for exponent := 250_000; exponent <= lastExponent; exponent *= 2 {
		pod := podWith(t, fmt.Sprintf("1e-%d", exponent))
		start := time.Now()
		err := u.send(ctx, namespace, pod)
		took := time.Since(start)
		if err == nil {
			t.Fatalf("a pod with 1e-%d is created", exponent)
		}
		if took >= costlyFrom {
			t.Logf("one request with 1e-%d takes %s: %.120v", exponent, took.Round(time.Millisecond), err)
			return pod
		}
	}
	return nil
}

// podWith is a pod with an amount of CPU.
func podWith(t *testing.T, amount string) []byte {
	t.Helper()
	pod, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "costly-x-default-x-vcluster"},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "a", "image": "a", "resources": map[string]any{"limits": map[string]any{"cpu": amount}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// flood sends requests without a break, until the function that it returns ends that and says what has become of them.
func flood(ctx context.Context, t *testing.T, send func(context.Context) error) (stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	var answered, busy, givenUp, other atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for range flooders {
		workers.Go(func() {
			for ctx.Err() == nil {
				err := send(ctx)
				switch {
				case ctx.Err() != nil:
				case errors.Is(err, context.DeadlineExceeded):
					givenUp.Add(1)
				case kerrors.IsTooManyRequests(err) || kerrors.IsTimeout(err) || kerrors.IsServerTimeout(err):
					busy.Add(1)
				case err == nil || kerrors.IsForbidden(err) || kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) || kerrors.IsConflict(err):
					answered.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	return func() string {
		t.Helper()
		cancel()
		workers.Wait()
		took := time.Since(began).Seconds()
		if sent := answered.Load() + busy.Load() + givenUp.Load(); sent == 0 || other.Load() > sent {
			t.Errorf("the flood is none: %d requests answered, %d refused as too many, %d failed otherwise", answered.Load(), busy.Load(), other.Load())
		}
		return fmt.Sprintf("the tenant has %.2f requests a second answered, and %d of all refused as too many", float64(answered.Load())/took, busy.Load())
	}
}

// A pace is how fast the platform is.
type pace struct {
	ready, median, p95 time.Duration
}

func (p pace) String() string {
	return fmt.Sprintf("claim to Ready %s, requests of Crossplane %s in the median, %s for 95 of 100",
		p.ready.Round(100*time.Millisecond), p.median.Round(100*time.Microsecond), p.p95.Round(100*time.Microsecond))
}

// comesUp measures a claim, and meanwhile requests of Crossplane's account.
func comesUp(ctx context.Context, t *testing.T, name, xr string, as apiUser) pace {
	t.Helper()
	var l *claim.Live
	defer func() { cleanUp(ctx, t, l) }()
	var ready time.Duration
	out := asks(ctx, t, xr, as, func() {
		l = claim.Create(ctx, t, host, newClaim(name))
		l.AwaitReady(ctx, t, readyWithin)
		ready = time.Since(l.Created)
	})
	out.ready = ready
	t.Logf("%s: %s", name, out)
	measured.add("a tenant floods the host's API server, "+name+": claim to Ready", out.ready)
	return out
}

// asks measures requests of Crossplane's account that write an XR, as a dry run, while f runs.
func asks(ctx context.Context, t *testing.T, xr string, as apiUser, f func()) pace {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan []time.Duration, 1)
	go func() {
		var took []time.Duration
		for ctx.Err() == nil {
			start := time.Now()
			_, err := as.Dynamic.Resource(composites).Patch(ctx, xr, types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.org/asks":"a"}}}`),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case ctx.Err() != nil:
			case err != nil:
				t.Errorf("a request of Crossplane fails: %v", err)
			default:
				took = append(took, time.Since(start))
			}
			time.Sleep(100 * time.Millisecond)
		}
		asked <- took
	}()
	f()
	cancel()
	took := <-asked
	if len(took) < 10 {
		t.Fatalf("only %d requests of Crossplane are answered", len(took))
	}
	slices.Sort(took)
	return pace{median: took[len(took)/2], p95: took[len(took)*95/100]}
}
