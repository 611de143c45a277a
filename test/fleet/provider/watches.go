package provider

import (
	"context"
	"time"

	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// How long after a change of the summary of workloads, and after a virtual cluster has stopped answering, the proxy notifies the provider.
var (
	changeNotified  = watch.DefaultIntervals.Settle
	silenceNotified = watch.DefaultIntervals.Unreachable()
)

type objectQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// summaryOf returns the request for the Object that observes the summary of a tenant's workloads.
func summaryOf(id string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: tenant.NewNames(id, "").Composed(tenant.Workloads)}}
}

// watches reports whether provider-kubernetes watches what an Object describes. In a virtual cluster, the proxy watches it in place of the
// provider, in each version in which the function sets spec.watch. An Object that doesn't exist yet is observed when it is created.
func (s *simulation) watches(ctx context.Context, local client.Client, object reconcile.Request) bool {
	o := &v1alpha2.Object{}
	return s.Kubernetes.EnableWatches && local.Get(ctx, object.NamespacedName, o) == nil && o.Spec.Watch
}

// notify has the provider observe the summary of a tenant's workloads after some time, if it watches the summary.
func (s *simulation) notify(ctx context.Context, local client.Client, queue objectQueue, id string, in time.Duration) {
	if summary := summaryOf(id); s.watches(ctx, local, summary) {
		queue.AddAfter(summary, in)
	}
}

// afterNamespace has the provider observe a tenant's namespace when it changes.
func (s *simulation) afterNamespace(local client.Client) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		id, ok := o.GetLabels()[tenant.LabelTenant]
		request := reconcile.Request{NamespacedName: client.ObjectKey{Name: id + "-" + tenant.Namespace}}
		if !ok || !s.watches(ctx, local, request) {
			return nil
		}
		return []reconcile.Request{request}
	}
}

// afterRecords has the provider observe the summary of a tenant's workloads when Helm's records show a change of Argo CD.
func (s *simulation) afterRecords(local client.Client) handler.EventHandler {
	changed := func(ctx context.Context, o client.Object, queue objectQueue) {
		labels := o.GetLabels()
		if labels["owner"] == "helm" && labels["name"] == tenant.HelmArgoCD && labels["status"] != release.StatusSuperseded.String() {
			s.notify(ctx, local, queue, tenantOf(o.GetNamespace()), changeNotified)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue objectQueue) { changed(ctx, e.Object, queue) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue objectQueue) {
			if e.ObjectOld.GetLabels()["status"] != e.ObjectNew.GetLabels()["status"] {
				changed(ctx, e.ObjectNew, queue)
			}
		},
	}
}

// watchFaults has the provider observe the summary of a tenant's workloads when its faults change, until ctx is done.
func (s *simulation) watchFaults(ctx context.Context, local client.Client, queue objectQueue) {
	notify := func(id string) {
		in := changeNotified
		if s.Faults.Has(Silent, id) {
			in = silenceNotified
		}
		s.notify(ctx, local, queue, id, in)
	}
	stop := s.Faults.listen(func(id string) {
		go func() {
			if id != "" {
				notify(id)
				return
			}
			all := &corev1.NamespaceList{}
			if err := local.List(ctx, all, client.HasLabels{tenant.LabelTenant}); err != nil {
				return // The provider ends.
			}
			for _, namespace := range all.Items {
				notify(tenantOf(namespace.Name))
			}
		}()
	})
	context.AfterFunc(ctx, stop)
}
