package provider

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
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

// TestAfterRecords: the provider looks when Helm begins or ends to change Argo CD, and not when it marks what was before.
func TestAfterRecords(t *testing.T) {
	s, _ := simulate(t)
	queue, handler := newLater(), s.afterRecords()
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
	queue.is(t, "an upgrade begins", delayed{"a-argocd-workloads", toldOfChange})
	update(record("argocd", "deployed"), record("argocd", "superseded"))
	queue.is(t, "the release before is marked", delayed{})
	update(record("argocd", "pending-upgrade"), record("argocd", "deployed"))
	queue.is(t, "the upgrade ends", delayed{"a-argocd-workloads", toldOfChange})
	update(record("argocd", "deployed"), record("argocd", "deployed"))
	queue.is(t, "nothing changes", delayed{})
	create(record("vcluster", "deployed"))
	queue.is(t, "another chart", delayed{})
	create(secret("vargo-a", "other", nil))
	queue.is(t, "another Secret", delayed{})
}

// TestWatchFaults: the provider looks at the tenants whose faults change, and later where nothing answers any more.
func TestWatchFaults(t *testing.T) {
	labelled := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{tenant.LabelTenant: name}}}
	}
	s, mgr := simulate(t, labelled("vargo-a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	queue := newLater()
	s.watchFaults(t.Context(), mgr.client, queue)
	s.Faults.Break("b", proxy.Workload{Name: "argocd-redis"})
	queue.is(t, "one breaks", delayed{"b-argocd-workloads", toldOfChange})
	s.Faults.Give(Silent, "b")
	queue.is(t, "one is silent", delayed{"b-argocd-workloads", toldOfSilence})
	s.Faults.Heal("b")
	queue.is(t, "it heals", delayed{"b-argocd-workloads", toldOfChange})
	s.Faults.Set(UpgradeFails, 0.5, "")
	queue.is(t, "a share of all", delayed{"a-argocd-workloads", toldOfChange})
	queue.is(t, "nobody else", delayed{})
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = later{}
