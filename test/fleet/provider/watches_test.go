package provider

import (
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// later is a queue that notes what it is to have later.
type later struct {
	objectQueue

	of chan delayed
}

type delayed struct {
	name string
	in   time.Duration
}

func (l later) AddAfter(r reconcile.Request, in time.Duration) { l.of <- delayed{r.Name, in} }

func newLater() later { return later{of: make(chan delayed, 10)} }

// is compares what comes next, within a moment: nothing for its zero value.
func (l later) is(t *testing.T, what string, want delayed) {
	t.Helper()
	within := 5 * time.Second
	if want == (delayed{}) {
		within = 50 * time.Millisecond
	}
	var got delayed
	select {
	case got = <-l.of:
	case <-time.After(within):
	}
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// object is an Object with or without spec.watch.
func object(name string, watch bool) *v1alpha2.Object {
	o := &v1alpha2.Object{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.Watch = watch
	return o
}

// labelled is a tenant's namespace.
func labelled(tenantID string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespacePrefix + tenantID, Labels: map[string]string{tenant.LabelTenant: tenantID}}}
}

// TestWatches: provider-kubernetes learns of a change before its next poll only where it watches.
func TestWatches(t *testing.T) {
	for name, c := range map[string]struct {
		enabled bool
		objects []client.Object
		want    delayed
	}{
		"a watched Object is observed":                 {true, []client.Object{object("a-argocd-workloads", true)}, delayed{"a-argocd-workloads", silenceNotified}},
		"without --enable-watches, there is no watch":  {false, []client.Object{object("a-argocd-workloads", true)}, delayed{}},
		"without spec.watch, there is no watch":        {true, []client.Object{object("a-argocd-workloads", false)}, delayed{}},
		"before there is an Object, there is no watch": {true, nil, delayed{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, mgr := simulate(t, c.objects...)
			s.Kubernetes.EnableWatches = c.enabled
			queue := newLater()
			s.watchFaults(t.Context(), mgr.client, queue)
			s.Faults.Give(Silent, "a")
			queue.is(t, "a virtual cluster stops answering", c.want)
		})
	}
}

// TestAfterNamespace: provider-kubernetes observes the namespace of a tenant when it changes, where it watches.
func TestAfterNamespace(t *testing.T) {
	s, mgr := simulate(t, object("a-namespace", true), object("b-namespace", false))
	for name, c := range map[string]struct {
		changed *corev1.Namespace
		want    int
	}{
		"a watched namespace is observed":        {labelled("a"), 1},
		"another tenant's isn't":                 {labelled("b"), 0},
		"a namespace of no tenant isn't":         {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, 0},
		"that of a tenant without Objects isn't": {labelled("c"), 0},
	} {
		if got := s.afterNamespace(mgr.client)(t.Context(), c.changed); len(got) != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestAfterRecords: the provider looks when Helm begins or ends to change Argo CD, and not when it marks what was before.
func TestAfterRecords(t *testing.T) {
	s, mgr := simulate(t, object("a-argocd-workloads", true))
	queue, handler := newLater(), s.afterRecords(mgr.client)
	record := func(name, status string) *corev1.Secret {
		o := secret("vargo-a", "sh.helm.release.v1."+name+".v1", nil)
		o.Labels = map[string]string{"owner": "helm", "name": name, "status": status}
		return o
	}
	create := func(o *corev1.Secret) { handler.Create(t.Context(), event.CreateEvent{Object: o}, queue) }
	update := func(from, to *corev1.Secret) {
		handler.Update(t.Context(), event.UpdateEvent{ObjectOld: from, ObjectNew: to}, queue)
	}
	create(record("argocd", "pending-upgrade"))
	queue.is(t, "an upgrade begins", delayed{"a-argocd-workloads", changeNotified})
	update(record("argocd", "deployed"), record("argocd", "superseded"))
	queue.is(t, "the release before is marked", delayed{})
	update(record("argocd", "pending-upgrade"), record("argocd", "deployed"))
	queue.is(t, "the upgrade ends", delayed{"a-argocd-workloads", changeNotified})
	update(record("argocd", "deployed"), record("argocd", "deployed"))
	queue.is(t, "nothing changes", delayed{})
	create(record("vcluster", "deployed"))
	queue.is(t, "another chart", delayed{})
	create(secret("vargo-a", "other", nil))
	queue.is(t, "another Secret", delayed{})
}

// TestWatchFaults: the provider looks at the tenants whose faults change, and later where nothing answers any more.
func TestWatchFaults(t *testing.T) {
	s, mgr := simulate(t, object("a-argocd-workloads", true), object("b-argocd-workloads", true), labelled("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	queue := newLater()
	s.watchFaults(t.Context(), mgr.client, queue)
	s.Faults.Break("b", proxy.Workload{Name: "argocd-redis"})
	queue.is(t, "one breaks", delayed{"b-argocd-workloads", changeNotified})
	s.Faults.Give(Silent, "b")
	queue.is(t, "one is silent", delayed{"b-argocd-workloads", silenceNotified})
	s.Faults.Heal("b")
	queue.is(t, "it heals", delayed{"b-argocd-workloads", changeNotified})
	s.Faults.Set(UpgradeFails, 0.5, "")
	queue.is(t, "a share of all", delayed{"a-argocd-workloads", changeNotified})
	queue.is(t, "nobody else", delayed{})
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = later{}
