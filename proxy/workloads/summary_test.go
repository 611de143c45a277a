package workloads_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/workloads"
)

// summarize returns what the summary of workloads in a virtual cluster says, and whether it is settled.
func summarize(t *testing.T, v *proxytest.VirtualAPI, asked ...proxy.Workload) (summary []proxy.Workload, settled bool, err error) {
	t.Helper()
	data, settled, err := workloads.Summarize(t.Context(), v.Direct(t), "argocd", asked)
	if err != nil {
		return nil, settled, err
	}
	out := proxy.ReadSummary(data[proxy.SummaryWorkloads])
	if out == nil {
		t.Fatalf("the summary has no workloads: %q", data[proxy.SummaryWorkloads])
	}
	if got, want := data[proxy.SummaryStopped], proxy.Stopped(out); got != want {
		t.Errorf("stopped: want %q, got %q", want, got)
	}
	return out, settled, nil
}

var apiServer = proxy.Workload{Kind: "Deployment", Name: "argocd-server"}

// TestSummary: a workload is available when as many of its current replicas are as are wanted.
func TestSummary(t *testing.T) {
	t.Parallel()
	const images = `"template":{"spec":{"containers":[{"name":"server","image":"argocd:v3"}]}}`
	cases := map[string]struct {
		object string
		want   proxy.Workload
	}{
		"Available":           {`{"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":2}}`, proxy.Workload{Replicas: 2, Available: true}},
		"Image":               {`{"metadata":{"generation":2},"spec":{` + images + `},"status":{"observedGeneration":2,"updatedReplicas":1,"availableReplicas":1}}`, proxy.Workload{Replicas: 1, Available: true, Images: map[string]string{"server": "argocd:v3"}}},
		"NoReplicas":          {`{"metadata":{"generation":2},"spec":{"replicas":0},"status":{"observedGeneration":2}}`, proxy.Workload{Available: true}},
		"NoneAvailable":       {`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1}}`, proxy.Workload{Replicas: 1}},
		"OneMissing":          {`{"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":1}}`, proxy.Workload{Replicas: 2}},
		"OldReplicasRun":      {`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":0,"availableReplicas":1}}`, proxy.Workload{Replicas: 1}},
		"ChangeNotSeen":       {`{"metadata":{"generation":3},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1,"availableReplicas":1}}`, proxy.Workload{Replicas: 1}},
		"JustCreated":         {`{"metadata":{"generation":1},"spec":{"replicas":1},"status":{}}`, proxy.Workload{Replicas: 1}},
		"JustCreatedNoStatus": {`{"metadata":{"generation":1},"spec":{"replicas":1}}`, proxy.Workload{Replicas: 1}},
		"Missing":             {``, proxy.Workload{Missing: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", virtualapi.MediaJSON)
				switch {
				case r.URL.Path != "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
					t.Errorf("asked for %s", r.URL)
				case tc.object == "":
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(tc.object))
			})
			got, settled, err := summarize(t, v, apiServer)
			if settled != tc.want.Available {
				t.Errorf("settled: %t", settled)
			}
			tc.want.Kind, tc.want.Name = apiServer.Kind, apiServer.Name
			if err != nil || !reflect.DeepEqual(got, []proxy.Workload{tc.want}) {
				t.Errorf("want %+v, got %+v, %v", tc.want, got, err)
			}
		})
	}
}

// TestSummaryOfMany: each workload is read by its name alone, and an error for one is an error of the summary.
func TestSummaryOfMany(t *testing.T) {
	t.Parallel()
	controller := proxy.Workload{Kind: "StatefulSet", Name: "argocd-application-controller"}
	var status atomic.Int32
	v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", virtualapi.MediaJSON)
		switch r.URL.Path {
		case "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
		case "/apis/apps/v1/namespaces/argocd/statefulsets/argocd-application-controller":
			w.WriteHeader(int(status.Load()))
		default:
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(`{"metadata":{"generation":1},"status":{"observedGeneration":1,"updatedReplicas":1,"availableReplicas":1}}`))
	})
	status.Store(http.StatusOK)
	got, _, err := summarize(t, v, apiServer, controller)
	if err != nil || len(got) != 2 || !got[0].Available || got[1].Kind != controller.Kind || got[1].Name != controller.Name || !got[1].Available {
		t.Errorf("got %+v, %v", got, err)
	}
	status.Store(http.StatusForbidden)
	if got, _, err := summarize(t, v, apiServer, controller); err == nil || !strings.Contains(err.Error(), "StatefulSet argocd-application-controller with status 403") {
		t.Errorf("want an error, got %+v, %v", got, err)
	}
}

// TestUnavailable: the summary of a workload that isn't available says why its pods don't run.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	// Young stays young, however long the tests take.
	old, young := metav1.NewTime(time.Now().Add(-time.Hour)), metav1.NewTime(time.Now().Add(time.Hour))
	pod := func(name string, created metav1.Time, status corev1.PodStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: created}, Status: status}
	}
	noRoom := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "1 Insufficient cpu."}}}
	noImage := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}}}
	onNode := func(created metav1.Time, ready corev1.ConditionStatus) []corev1.Pod {
		p := pod("a", created, corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}})
		p.Spec.NodeName = "node"
		return []corev1.Pod{p}
	}
	noMount := []corev1.Event{{LastTimestamp: young, Message: "MountVolume.SetUp failed"}, {LastTimestamp: old, Message: "old"}}
	cases := map[string]struct {
		created   metav1.Time
		available int32
		former    int32 // replicas from before a change
		condition []appsv1.DeploymentCondition
		pods      []corev1.Pod
		events    []corev1.Event
		fails     bool
		want      string
		requests  int32
	}{
		"Available":   {created: old, available: 1, requests: 1},
		"Starts":      {created: young, pods: []corev1.Pod{pod("a", young, noRoom)}, requests: 1},
		"NoRoom":      {created: old, pods: []corev1.Pod{pod("a", old, noRoom)}, want: "pod a: 1 Insufficient cpu.", requests: 2},
		"NewestFirst": {created: old, pods: []corev1.Pod{pod("a", old, noRoom), pod("b", young, noImage)}, want: "pod b: container server: ErrImagePull: not found", requests: 2},
		"NotOnTheHost": {created: old, pods: []corev1.Pod{pod("a", old, corev1.PodStatus{})},
			events: []corev1.Event{{LastTimestamp: young, Message: "Error syncing to host cluster: exceeded quota"}, {LastTimestamp: old, Message: "old"}},
			want:   "pod a: Error syncing to host cluster: exceeded quota", requests: 3},
		"NotMounted":    {created: old, pods: onNode(old, corev1.ConditionFalse), events: noMount, want: "pod a: MountVolume.SetUp failed", requests: 3},
		"NotMountedYet": {created: old, pods: onNode(young, corev1.ConditionFalse), events: noMount, requests: 2},
		"OldWarning":    {created: old, pods: onNode(old, corev1.ConditionFalse), events: noMount[1:], requests: 3},
		"PodIsReady":    {created: old, pods: onNode(old, corev1.ConditionTrue), events: noMount, requests: 2},
		"FormerRuns":    {created: old, available: 1, former: 1, pods: []corev1.Pod{pod("a", old, corev1.PodStatus{}), pod("b", young, noImage)}, want: "pod b: container server: ErrImagePull: not found", requests: 2},
		"FormerRunsYet": {created: old, available: 1, former: 1, requests: 2},
		"LongName": {created: old, pods: []corev1.Pod{pod("x),\nteam-b/prod (Degraded: "+strings.Repeat("a", 1000), old, noRoom)},
			want: "pod x), team-b/prod (Degraded: " + strings.Repeat("a", 369) + " ...", requests: 2},
		"NoPods":    {created: old, condition: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "pods are forbidden"}}, want: "pods are forbidden", requests: 1},
		"Nothing":   {created: old, requests: 2},
		"NoAnswer":  {created: old, fails: true, requests: 2},
		"IsTooLong": {created: old, pods: []corev1.Pod{pod(strings.Repeat("a", 512<<10), old, noRoom)}, requests: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := proxytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch query := r.URL.Query(); {
				case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
					proxytest.Reply(w, &appsv1.Deployment{
						TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
						ObjectMeta: metav1.ObjectMeta{Name: "argocd-server", CreationTimestamp: tc.created},
						Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}}},
						Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: tc.former + tc.available, UpdatedReplicas: tc.available, AvailableReplicas: tc.available, Conditions: tc.condition},
					})
				case tc.fails:
					w.WriteHeader(http.StatusForbidden)
				case r.URL.Path == "/api/v1/namespaces/argocd/pods" && query.Get("labelSelector") == "app=server" && query.Get("limit") == "10":
					proxytest.Reply(w, &corev1.PodList{Items: tc.pods})
				case r.URL.Path == "/api/v1/namespaces/argocd/events" && query.Get("fieldSelector") == "type=Warning,involvedObject.kind=Pod,involvedObject.name=a":
					proxytest.Reply(w, &corev1.EventList{Items: tc.events})
				default:
					t.Errorf("asked for %s", r.URL)
				}
			})
			got, _, err := summarize(t, v, apiServer)
			if err != nil {
				t.Fatal(err)
			}
			if got[0].Available != (tc.available > 0) {
				t.Errorf("%d replicas are available, got %+v", tc.available, got)
			}
			if got[0].Why != tc.want || v.Asked.Load() != tc.requests {
				t.Errorf("want %q after %d requests, got %+v after %d", tc.want, tc.requests, got, v.Asked.Load())
			}
		})
	}
}

// TestSlowWorkloads: the summary of a virtual API server that takes a second for each workload is ready before a request times out.
func TestSlowWorkloads(t *testing.T) {
	t.Parallel()
	l := proxytest.Roomy()
	l.Read = 5 * time.Second
	v := proxytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Second)
		w.WriteHeader(http.StatusNotFound)
	}, proxytest.With(l))
	asked := []proxy.Workload{}
	for n := range 10 {
		asked = append(asked, proxy.Workload{Kind: "Deployment", Name: fmt.Sprint("argocd-", n)})
	}
	begins := time.Now()
	summary, settled, err := summarize(t, v, asked...)
	if err != nil || settled || len(summary) != len(asked) {
		t.Fatalf("got %v, %t, %v", summary, settled, err)
	}
	for _, w := range summary {
		if !w.Missing {
			t.Errorf("%s isn't missing", w.Name)
		}
	}
	if took := time.Since(begins); took > l.Read {
		t.Errorf("it took %s", took)
	}
}
