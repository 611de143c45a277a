package vcluster

import (
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// OwnedRows are the rows of Objects that write owners, and what the chart has no value for, into the control plane's objects on the
// host: its workloads, with their pods and volumes, and its Service, which owns everything that
// the syncer creates there. So Kubernetes' garbage collector deletes all pods and volumes at once
// when the tenant is deleted. Without that, they go with the namespace: its controller begins five
// seconds after the deletion, deletes the pods first, and looks again after five seconds because
// of the pods, and after five more if it has seen a volume claim. What bounds the pods still goes
// with the namespace.
//
// The Objects may only change what exists. Where they are left out, such as by an earlier version
// of the function, nothing is deleted, and the owners stay.
func OwnedRows(t tenant.Tenant) []resource.Row {
	service := corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Name: tenant.HelmVCluster}
	control := corev1.ObjectReference{APIVersion: "apps/v1", Kind: ControlPlaneKind(t), Name: tenant.HelmVCluster}
	etcd := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: tenant.HelmVCluster + "-etcd"}
	hasEtcd := t.Store.Kind == plan.StoreEtcd
	return []resource.Row{
		owned(t, tenant.ControlPlaneService, true, service, nil),
		owned(t, tenant.ControlPlaneWorkload, true, control, pause(t)),
		owned(t, tenant.ControlPlaneStore, hasEtcd, etcd, nil),
	}
}

// pause returns the spec with which a control plane that others can stand in for goes on answering for a moment when it ends; nil for another one.
// What sends requests to a pod learns that the pod ends when the pod does. The chart, which gives it 15 seconds to end, has no value for a pause.
// Helm keeps what its charts don't have.
func pause(t tenant.Tenant) map[string]any {
	if t.ControlPlanes < 2 {
		return nil
	}
	syncer := map[string]any{"name": "syncer", "lifecycle": map[string]any{"preStop": map[string]any{"sleep": map[string]any{"seconds": 5.}}}}
	return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{syncer}}}}
}

// ControlPlaneKind returns the kind of the control plane's workload.
func ControlPlaneKind(t tenant.Tenant) string {
	if t.Store.Kind == plan.StoreEtcd || t.Store.Size == "" {
		// Without a volume of its own.
		return "Deployment"
	}
	return "StatefulSet"
}

// owned is the row of the Object for one object of the chart, with fields of its spec, if any. It isn't needed while the tenant is
// installed, which spares events for Crossplane's circuit breaker.
func owned(t tenant.Tenant, composed string, has bool, of corev1.ObjectReference, spec map[string]any) resource.Row {
	return resource.Row{
		Name: composed, Has: has && (t.Composed(composed).Exists() || tenant.WasReady(t.Observed)), Ready: true,
		Build: func(t tenant.Tenant) (resource.Object, error) {
			o := resource.NewObject(t, composed, t.Names.HostProviderConfig, resource.ReadyOnceCreated)
			o.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionUpdate}
			manifest := map[string]any{
				"apiVersion": of.APIVersion,
				"kind":       of.Kind,
				"metadata":   map[string]any{"namespace": t.Names.Namespace, "name": of.Name, "ownerReferences": ownersOnHost(t)},
			}
			if spec != nil {
				manifest["spec"] = spec
			}
			return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: manifest}, nil
		},
	}
}

// ownersOnHost are the composite resource and the Release. The garbage collector deletes what has
// lost all of its owners. So the tenant keeps its data when somebody deletes only the Release, which
// Crossplane makes again, or the composite resource without what it has composed (kubectl delete
// --cascade=orphan). Both are cluster-scoped: an owner in another namespace counts as one that is
// gone. So does one that a backup has restored with another UID.
func ownersOnHost(t tenant.Tenant) []any {
	var owners []any
	for _, o := range []wire.Struct{t.Observed.XR, t.Composed(tenant.VClusterRelease).Struct} {
		if uid := o.String("metadata", "uid"); uid != "" {
			owners = append(owners, map[string]any{
				"apiVersion": o.String("apiVersion"), "kind": o.String("kind"), "name": o.String("metadata", "name"), "uid": uid,
			})
		}
	}
	return owners
}
