package provider

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// How soon provider-kubernetes observes a summary that has changed, and that of a virtual cluster that has stopped answering. The proxy waits
// for further changes, and until it is sure that nothing answers.
const (
	toldOfChange  = 500 * time.Millisecond
	toldOfSilence = 65 * time.Second
)

type objectQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// summaryOf returns the request for the Object that observes the summary of a tenant's workloads.
func summaryOf(id string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: tenant.NewNames(id, "").Composed(tenant.Workloads)}}
}

// afterRecords has the provider observe the summary of a tenant's workloads when Helm's records show a change of Argo CD.
func (s *simulation) afterRecords() handler.EventHandler {
	told := func(o client.Object, queue objectQueue) {
		labels := o.GetLabels()
		if labels["owner"] == "helm" && labels["name"] == tenant.HelmArgoCD && labels["status"] != release.StatusSuperseded.String() {
			queue.AddAfter(summaryOf(tenantOf(o.GetNamespace())), toldOfChange)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue objectQueue) { told(e.Object, queue) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue objectQueue) {
			if e.ObjectOld.GetLabels()["status"] != e.ObjectNew.GetLabels()["status"] {
				told(e.ObjectNew, queue)
			}
		},
	}
}

// watchFaults has the provider observe the summary of a tenant's workloads when its faults change, until ctx is done.
func (s *simulation) watchFaults(ctx context.Context, local client.Client, queue objectQueue) {
	look := func(id string) {
		in := toldOfChange
		if s.Faults.Has(Silent, id) {
			in = toldOfSilence
		}
		queue.AddAfter(summaryOf(id), in)
	}
	stop := s.Faults.listen(func(id string) {
		go func() {
			if id != "" {
				look(id)
				return
			}
			all := &corev1.NamespaceList{}
			if err := local.List(ctx, all, client.HasLabels{tenant.LabelTenant}); err != nil {
				return // The provider ends.
			}
			for _, namespace := range all.Items {
				look(tenantOf(namespace.Name))
			}
		}()
	})
	context.AfterFunc(ctx, stop)
}
