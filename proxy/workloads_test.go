package proxy

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// summary asks the proxy for workloads as provider-kubernetes does.
func summary(t *testing.T, v *virtualAPI, asked ...Workload) ([]Workload, error) {
	t.Helper()
	c, err := v.client.CoreV1().ConfigMaps("argocd").Get(t.Context(), SummaryName(asked), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if c.Kind != "ConfigMap" && c.Kind != "" || c.Namespace != "argocd" || c.Name != SummaryName(asked) {
		t.Errorf("the proxy answers with %s %s/%s", c.Kind, c.Namespace, c.Name)
	}
	out := ReadSummary(c.Data[SummaryWorkloads])
	if out == nil {
		t.Fatalf("the summary has no workloads: %q", c.Data[SummaryWorkloads])
	}
	if got, want := c.Data[SummaryStopped], Stopped(out); got != want {
		t.Errorf("stopped: want %q, got %q", want, got)
	}
	return out, nil
}

var apiServer = Workload{Kind: "Deployment", Name: "argocd-server"}

// TestSummary: a workload is available when as many of its current replicas are as are
// wanted.
func TestSummary(t *testing.T) {
	t.Parallel()
	const images = `"template":{"spec":{"containers":[{"name":"server","image":"argocd:v3"}]}}`
	cases := map[string]struct {
		object string
		want   Workload
	}{
		"Available":           {`{"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":2}}`, Workload{Replicas: 2, Available: true}},
		"Image":               {`{"metadata":{"generation":2},"spec":{` + images + `},"status":{"observedGeneration":2,"updatedReplicas":1,"availableReplicas":1}}`, Workload{Replicas: 1, Available: true, Images: map[string]string{"server": "argocd:v3"}}},
		"NoReplicas":          {`{"metadata":{"generation":2},"spec":{"replicas":0},"status":{"observedGeneration":2}}`, Workload{Available: true}},
		"NoneAvailable":       {`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1}}`, Workload{Replicas: 1}},
		"OneMissing":          {`{"metadata":{"generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"updatedReplicas":2,"availableReplicas":1}}`, Workload{Replicas: 2}},
		"OldReplicasRun":      {`{"metadata":{"generation":2},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":0,"availableReplicas":1}}`, Workload{Replicas: 1}},
		"ChangeNotSeen":       {`{"metadata":{"generation":3},"spec":{"replicas":1},"status":{"observedGeneration":2,"updatedReplicas":1,"availableReplicas":1}}`, Workload{Replicas: 1}},
		"JustCreated":         {`{"metadata":{"generation":1},"spec":{"replicas":1},"status":{}}`, Workload{Replicas: 1}},
		"JustCreatedNoStatus": {`{"metadata":{"generation":1},"spec":{"replicas":1}}`, Workload{Replicas: 1}},
		"Missing":             {``, Workload{Missing: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", mediaJSON)
				switch {
				case r.URL.Path != "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
					t.Errorf("asked for %s", r.URL)
				case tc.object == "":
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(tc.object))
			})
			got, err := summary(t, v, apiServer)
			tc.want.Kind, tc.want.Name = apiServer.Kind, apiServer.Name
			if err != nil || !reflect.DeepEqual(got, []Workload{tc.want}) {
				t.Errorf("want %+v, got %+v, %v", tc.want, got, err)
			}
		})
	}
}

// TestSummaryOfMany: each workload is asked for by its name alone, and what can't be told
// of one is an error, and no news of the others.
func TestSummaryOfMany(t *testing.T) {
	t.Parallel()
	controller := Workload{Kind: "StatefulSet", Name: "argocd-application-controller"}
	var status atomic.Int32
	v := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaJSON)
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
	got, err := summary(t, v, apiServer, controller)
	if err != nil || len(got) != 2 || !got[0].Available || got[1].Kind != controller.Kind || got[1].Name != controller.Name || !got[1].Available {
		t.Errorf("got %+v, %v", got, err)
	}
	status.Store(http.StatusForbidden)
	if got, err := summary(t, v, apiServer, controller); err == nil || !strings.Contains(err.Error(), "StatefulSet argocd-application-controller with status 403") {
		t.Errorf("want an error, got %+v, %v", got, err)
	}
	for _, tc := range []struct {
		asked []Workload
		want  string
	}{
		{[]Workload{{Kind: "Secret", Name: "a"}}, "not secret.a"},
		{[]Workload{{Kind: "Deployment", Name: "../../secrets/a"}}, "invalid"},
		{[]Workload{{Kind: "Deployment", Name: "a?b"}}, "not deployment.a?b"},
		{slices.Repeat([]Workload{apiServer}, maxWorkloads+1), "at most 20"},
	} {
		if _, err := summary(t, v, tc.asked...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: want an error with %q, got %v", tc.asked, tc.want, err)
		}
	}
}

// TestSummaryIsNotChanged: what provider-kubernetes asks for in a dry run changes nothing, and nothing else is done.
func TestSummaryIsNotChanged(t *testing.T) {
	t.Parallel()
	v := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s %s", r.Method, r.URL) })
	maps := v.client.CoreV1().ConfigMaps("argocd")
	name := SummaryName([]Workload{apiServer})
	applied, err := maps.Patch(t.Context(), name, types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "provider"})
	if err != nil || applied.Name != name || len(applied.Data) != 0 {
		t.Errorf("a dry run: got %v, %v", applied, err)
	}
	if _, err := maps.Patch(t.Context(), name, types.ApplyPatchType, []byte(`{}`), metav1.PatchOptions{FieldManager: "provider"}); err == nil {
		t.Error("a summary can be applied")
	}
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil {
		t.Error("a summary can be deleted")
	}
}

// TestUnavailable: of a workload that isn't available a provider is told why its pods
// don't run.
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
		asks      int32
	}{
		"Available":   {created: old, available: 1, asks: 1},
		"Starts":      {created: young, pods: []corev1.Pod{pod("a", young, noRoom)}, asks: 1},
		"NoRoom":      {created: old, pods: []corev1.Pod{pod("a", old, noRoom)}, want: "pod a: 1 Insufficient cpu.", asks: 2},
		"NewestFirst": {created: old, pods: []corev1.Pod{pod("a", old, noRoom), pod("b", young, noImage)}, want: "pod b: container server: ErrImagePull: not found", asks: 2},
		"NotOnTheHost": {created: old, pods: []corev1.Pod{pod("a", old, corev1.PodStatus{})},
			events: []corev1.Event{{LastTimestamp: young, Message: "Error syncing to host cluster: exceeded quota"}, {LastTimestamp: old, Message: "old"}},
			want:   "pod a: Error syncing to host cluster: exceeded quota", asks: 3},
		"NotMounted":    {created: old, pods: onNode(old, corev1.ConditionFalse), events: noMount, want: "pod a: MountVolume.SetUp failed", asks: 3},
		"NotMountedYet": {created: old, pods: onNode(young, corev1.ConditionFalse), events: noMount, asks: 2},
		"OldWarning":    {created: old, pods: onNode(old, corev1.ConditionFalse), events: noMount[1:], asks: 3},
		"PodIsReady":    {created: old, pods: onNode(old, corev1.ConditionTrue), events: noMount, asks: 2},
		"FormerRuns":    {created: old, available: 1, former: 1, pods: []corev1.Pod{pod("a", old, corev1.PodStatus{}), pod("b", young, noImage)}, want: "pod b: container server: ErrImagePull: not found", asks: 2},
		"FormerRunsYet": {created: old, available: 1, former: 1, asks: 2},
		"LongName": {created: old, pods: []corev1.Pod{pod("x),\nteam-b/prod (Degraded: "+strings.Repeat("a", 1000), old, noRoom)},
			want: "pod x), team-b/prod (Degraded: " + strings.Repeat("a", 369) + " ...", asks: 2},
		"NoPods":    {created: old, condition: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "pods are forbidden"}}, want: "pods are forbidden", asks: 1},
		"Nothing":   {created: old, asks: 2},
		"NoAnswer":  {created: old, fails: true, asks: 2},
		"IsTooLong": {created: old, pods: []corev1.Pod{pod(strings.Repeat("a", explainedBytes), old, noRoom)}, asks: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch query := r.URL.Query(); {
				case r.URL.Path == "/apis/apps/v1/namespaces/argocd/deployments/argocd-server":
					reply(w, &appsv1.Deployment{
						TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
						ObjectMeta: metav1.ObjectMeta{Name: "argocd-server", CreationTimestamp: tc.created},
						Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}}},
						Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: tc.former + tc.available, UpdatedReplicas: tc.available, AvailableReplicas: tc.available, Conditions: tc.condition},
					})
				case tc.fails:
					w.WriteHeader(http.StatusForbidden)
				case r.URL.Path == "/api/v1/namespaces/argocd/pods" && query.Get("labelSelector") == "app=server" && query.Get("limit") == explainedItems:
					reply(w, &corev1.PodList{Items: tc.pods})
				case r.URL.Path == "/api/v1/namespaces/argocd/events" && query.Get("fieldSelector") == "type=Warning,involvedObject.kind=Pod,involvedObject.name=a":
					reply(w, &corev1.EventList{Items: tc.events})
				default:
					t.Errorf("asked for %s", r.URL)
				}
			})
			got, err := summary(t, v, apiServer)
			if err != nil {
				t.Fatal(err)
			}
			if got[0].Available != (tc.available > 0) {
				t.Errorf("%d replicas are available, got %+v", tc.available, got)
			}
			if got[0].Why != tc.want || v.asked.Load() != tc.asks {
				t.Errorf("want %q after %d requests, got %+v after %d", tc.want, tc.asks, got, v.asked.Load())
			}
		})
	}
}
