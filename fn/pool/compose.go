package pool

import (
	objectv1alpha2 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/spare"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// providerConfig is the ProviderConfig of examples/install/front.yaml. The account that provider-kubernetes uses with it may create and
// change composite resources that belong to nobody, and delete none.
const providerConfig = "virtual-argocd-pool"

// object composes the Object of a spare. It has the spare's name: provider-kubernetes' field manager has the name of the Object, so that
// whoever takes the spare, by an Object of the same name, also gets what this one owns in it. It doesn't watch: the pool requires the spare itself.
func object(p *pool, is one) resource.Object {
	uid := is.object.String("metadata", "uid")
	o := &objectv1alpha2.Object{
		TypeMeta:   resource.ObjectType,
		ObjectMeta: resource.ManagedMeta(is.name, is.name),
		Spec: objectv1alpha2.ObjectSpec{
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: &xpv1.Reference{Name: providerConfig}, ManagementPolicies: policies(is, uid)},
			Readiness:    resource.ReadyOnceCreated,
		},
	}
	metadata := map[string]any{"name": is.name}
	if uid != "" {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": resource.ObjectType.APIVersion, "kind": resource.ObjectType.Kind, "name": is.name, "uid": uid}}
	}
	labels := map[string]any{v1alpha1.LabelSpare: "true", v1alpha1.LabelPool: tenant.BoundedLabel(p.name(), validation.LabelValueMaxLength)}
	planned, digest := p.plan.Name, spare.Digest(p.plan)
	if was := is.object.Get(resource.InManifest("metadata", "labels")...); was.Exists() {
		// A spare stays as it is until it is replaced.
		planned, digest = was.String(v1alpha1.LabelPoolPlan), was.String(v1alpha1.LabelPoolDigest)
	}
	labels[v1alpha1.LabelPoolPlan], labels[v1alpha1.LabelPoolDigest] = planned, digest
	metadata["labels"] = labels
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: map[string]any{
		"apiVersion": p.behind(), "kind": v1alpha1.Kind, "metadata": metadata,
		"spec": map[string]any{
			"plan":        planned,
			"hibernation": map[string]any{"enabled": p.spec.Asleep},
			// Nothing of a spare is to be where its taker's backups are.
			"backup": map[string]any{"enabled": false},
		},
	}}
}

// policies returns what provider-kubernetes may do with a spare. It never deletes one, nor writes to one that somebody has. It creates one once
// the Object has a UID, which is in the spare, and never again: one that is gone may have been taken, and its taker may be gone, too.
func policies(is one, uid string) xpv1.ManagementPolicies {
	switch {
	case uid == "", spare.Taken(is.xr):
		return xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
	case is.xr.Exists() || is.object.Has("status", "atProvider", "manifest", "metadata", "uid"):
		return xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionUpdate}
	}
	return xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate}
}
