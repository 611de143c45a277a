package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// An Object of a tenant.
type Object struct {
	// Name is unique, and Tenant is the composite resource that the object belongs to.
	Name, Tenant string
	UID          types.UID
	// Leaves says that it is being deleted.
	Leaves bool
	// ReadyAt is when a composite resource was ready for the first time, Phase the one that it is in, and Claim the name of its claim.
	ReadyAt string
	Phase   v1alpha1.Phase
	Claim   string
	// Revision of a Release.
	Revision int64
}

// Kept notes what tenants have, and what they lose while they exist.
type Kept struct {
	// seen has every object that was seen, as it was at first, with the highest revision that it had.
	seen map[string]Object
	last []Object
	lost map[string]bool
}

// NewKept returns an empty Kept.
func NewKept() *Kept { return &Kept{seen: map[string]Object{}, lost: map[string]bool{}} }

// See notes which objects exist. Composite resources must have been read after the objects that belong to them.
func (k *Kept) See(now []Object) {
	k.last = now
	stays, ready := staying(now), map[string]bool{}
	for _, o := range now {
		ready[o.Tenant] = ready[o.Tenant] || o.ReadyAt != ""
	}
	for _, o := range now {
		if !stays[o.Tenant] {
			continue
		}
		if !ready[o.Tenant] {
			// A failed first installation is uninstalled.
			o.Revision = 0
		}
		was, known := k.seen[o.Name]
		if !known {
			was = o
		}
		lost := func(problem string, args ...any) { k.lost[o.Name+" "+fmt.Sprintf(problem, args...)] = true }
		switch {
		case o.Leaves:
			lost("is being deleted")
		case was.UID != o.UID:
			lost("was replaced by another one")
		case was.ReadyAt != "" && was.ReadyAt != o.ReadyAt:
			lost("was ready first at %s, and then at %q", was.ReadyAt, o.ReadyAt)
		case was.Revision > o.Revision:
			lost("was at revision %d, and then at %d", was.Revision, o.Revision)
		}
		if was.ReadyAt == "" {
			was.ReadyAt = o.ReadyAt
		}
		was.Revision = max(was.Revision, o.Revision)
		k.seen[o.Name] = was
	}
}

// Lost returns what the existing tenants have lost.
func (k *Kept) Lost() []string {
	stays, is := staying(k.last), map[string]bool{}
	for _, o := range k.last {
		is[o.Name] = true
	}
	var out []string
	for name, o := range k.seen {
		if stays[o.Tenant] && !is[name] {
			out = append(out, name+" is gone")
		}
	}
	for problem := range k.lost {
		out = append(out, problem)
	}
	slices.Sort(out)
	return out
}

// Composites are the composite resources of tenants.
var Composites = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: composite}

// composite is the kind of tenants.
const composite = "xvirtualargocds"

func nameOf(resource, namespace, name string) string {
	return strings.TrimSpace(resource + " " + strings.TrimPrefix(namespace+"/"+name, "/"))
}

// IsTenant reports whether the object is a tenant's composite resource, and not an object that belongs to it.
func (o Object) IsTenant() bool { return o.Name == nameOf(composite, "", o.Tenant) }

// staying returns the tenants that exist and aren't being deleted.
func staying(now []Object) map[string]bool {
	out := map[string]bool{}
	for _, o := range now {
		if o.IsTenant() {
			out[o.Tenant] = !o.Leaves
		}
	}
	return out
}

// kinds that belong to tenants. The composite resources come last.
var kinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	// What bounds a tenant, and its rights on the host. These stay until the namespace goes: no run changes a plan or the input in a way that
	// takes one of the policies or bindings away.
	{Version: "v1", Resource: "resourcequotas"},
	{Version: "v1", Resource: "limitranges"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Version: "v1", Resource: "namespaces"},
	{Group: "helm.crossplane.io", Version: "v1beta1", Resource: "providerconfigs"},
	{Group: "helm.crossplane.io", Version: "v1beta1", Resource: "releases"},
	{Group: "kubernetes.crossplane.io", Version: "v1alpha1", Resource: "providerconfigs"},
	{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Resource: "objects"},
	Composites,
}

// Objects returns what belongs to the tenants of all claims in a namespace, and the tenants themselves.
func Objects(ctx context.Context, host *kube.Cluster, namespace string) ([]Object, error) {
	var out []Object
	for _, kind := range kinds {
		list, err := host.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(kind.Resource, namespace)})
		if err != nil {
			return nil, fmt.Errorf("cannot list %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			if o := objectOf(kind.Resource, &list.Items[i]); o.Tenant != "" {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// selectorOf returns a label selector for what Crossplane has composed for the claims of a namespace. Objects that others have created for
// tenants are recognized by their names.
func selectorOf(resource, namespace string) string {
	switch resource {
	case "namespaces":
		return "virtualargocd.io/tenant"
	case "persistentvolumeclaims", "resourcequotas":
		return ""
	default:
		return "crossplane.io/claim-namespace=" + namespace
	}
}

func objectOf(resource string, o *unstructured.Unstructured) Object {
	out := Object{
		Name: nameOf(resource+"."+o.GroupVersionKind().Group, o.GetNamespace(), o.GetName()), UID: o.GetUID(), Leaves: o.GetDeletionTimestamp() != nil,
		Tenant: o.GetLabels()["crossplane.io/composite"],
	}
	switch resource {
	case composite:
		out.Name, out.Tenant = nameOf(resource, "", o.GetName()), o.GetName()
		out.ReadyAt, _, _ = unstructured.NestedString(o.Object, "status", "readyAt")
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		out.Phase, out.Claim = v1alpha1.Phase(phase), o.GetLabels()["crossplane.io/claim-name"]
	case "namespaces":
		out.Tenant = o.GetLabels()["virtualargocd.io/tenant"]
	case "persistentvolumeclaims":
		// Objects of pods in virtual clusters may be deleted.
		if strings.HasPrefix(o.GetName(), "data-") {
			out.Tenant = tenantOf(o.GetNamespace())
		}
	case "resourcequotas":
		// The provider creates it. Others of the namespace may be somebody else's.
		if o.GetName() == tenant.QuotaName {
			out.Tenant = tenantOf(o.GetNamespace())
		}
	case "releases":
		out.Revision, _, _ = unstructured.NestedInt64(o.Object, "status", "atProvider", "revision")
	default:
	}
	return out
}

// tenantOf returns the tenant that has a namespace on the host; "" for a namespace of nobody.
func tenantOf(namespace string) string {
	id, of := strings.CutPrefix(namespace, "vargo-")
	if !of {
		return ""
	}
	return id
}
