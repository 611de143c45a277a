package front

import (
	"fmt"
	"slices"
	"strings"

	objectv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/namespaced/object/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/apis/common"
	xpv2 "github.com/crossplane/crossplane-runtime/v2/apis/common/v2"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// providerConfig is the ClusterProviderConfig of examples/install/front.yaml. The account that provider-kubernetes uses with it may write
// composite resources, and nothing else.
const providerConfig = "virtual-argocd-front"

// crossplanes are the fields of a composite resource's spec that are Crossplane's. The front's own spec has others of its own.
var crossplanes = []string{
	"claimRef", "compositionRef", "compositionSelector", "compositionRevisionRef", "compositionRevisionSelector", "compositionUpdatePolicy",
	"compositeDeletePolicy", "environmentConfigRefs", "publishConnectionDetailsTo", "resourceRefs", "writeConnectionSecretToRef",
}

// notPassedOn are the fields of the front's spec that the composite resource doesn't get.
var notPassedOn = []string{"crossplane", "writeConnectionSecretToRef", "claimRef", "resourceRefs", "resourceRef"}

// compose composes the Object with the composite resource, and the Secret. What is observed stays, whatever is wrong. Whether the front is Ready
// doesn't follow from what is composed. It is Ready as such, since Crossplane records an event for what isn't each time it calls the function,
// and Kubernetes lets only 25 events of an object through in a short time.
func compose(desired map[string]*fnv1.Resource, f front, b bound, secret *corev1.Secret) error {
	add := func(name string, o resource.Object) error {
		encoded, err := o.Encode()
		if err != nil {
			return err
		}
		desired[name] = &fnv1.Resource{Resource: encoded, Ready: fnv1.Ready_READY_TRUE}
		return nil
	}
	if b.composed {
		if err := add(f.at, object(f, b)); err != nil {
			return err
		}
	}
	if b.problem.Reason == v1alpha1.ReasonClaimExists {
		if err := add(tenant.FrontClaim, resource.Object{Typed: claimProtection(f, b)}); err != nil {
			return err
		}
	}
	if secret == nil {
		return nil
	}
	return add(tenant.FrontSecretPrefix+secret.Name, resource.Object{Typed: secret})
}

// object composes the Object with the composite resource. An Object that only observes leaves it alone, also when it is deleted itself.
func object(f front, b bound) resource.Object {
	o := &objectv1alpha1.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: objectv1alpha1.SchemeGroupVersion.String(), Kind: objectv1alpha1.ObjectKind},
		ObjectMeta: resource.ManagedMeta(b.name, b.name),
		Spec: objectv1alpha1.ObjectSpec{
			ManagedResourceSpec: xpv2.ManagedResourceSpec{
				ProviderConfigReference: &common.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: providerConfig},
				ManagementPolicies:      common.ManagementPolicies{common.ManagementActionAll},
			},
			Readiness: objectv1alpha1.Readiness{Policy: objectv1alpha1.ReadinessPolicySuccessfulCreate},
			Watch:     true,
		},
	}
	o.Namespace = f.self.Namespace
	switch {
	case b.writes:
	case b.taking:
		o.Spec.ManagementPolicies = takes
	default:
		o.Spec.ManagementPolicies = common.ManagementPolicies{common.ManagementActionObserve}
	}
	metadata := map[string]any{"name": b.name, "labels": f.labels()}
	annotations := map[string]any{}
	for _, key := range tenant.ClaimsAnnotations {
		if value := f.xr.String("metadata", "annotations", key); value != "" {
			annotations[key] = value
		}
	}
	switch at := f.xr.String("metadata", "creationTimestamp"); {
	case b.taking && !b.writes:
		metadata["ownerReferences"] = b.owners
	case at != "" && strings.HasPrefix(f.at, tenant.FrontSparePrefix):
		annotations[v1alpha1.AnnotationClaimedAt] = at
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	spec := f.spec()
	spec["claimRef"] = map[string]any{"apiVersion": f.self.APIVersion, "kind": f.self.Kind, "namespace": f.self.Namespace, "name": f.self.Name}
	return resource.Object{Typed: o, RawAt: resource.ManifestPath, Raw: map[string]any{
		"apiVersion": f.behind.APIVersion, "kind": f.behind.Kind, "metadata": metadata, "spec": spec,
	}}
}

// claimProtection composes the Usage that keeps a claim from being deleted while the front waits for its tenant: the tenant would go with it.
func claimProtection(f front, b bound) *unstructured.Unstructured {
	claim := corev1.ObjectReference{APIVersion: f.behind.APIVersion, Kind: f.self.Kind, Namespace: f.self.Namespace, Name: f.self.Name}
	return resource.Usage(b.name+"-claim", claim, fmt.Sprintf("The tenant %s would be deleted with this claim. %s %s of group %s, in the same namespace, is to have it: see %s. If that isn't meant, delete that first.",
		b.name, f.self.Kind, f.self.Name, v1alpha1.FrontPrefix+strings.Split(f.behind.APIVersion, "/")[0], pages.Of(v1alpha1.ReasonClaimExists)), false)
}

// spec returns what the composite resource gets of the front's spec: of what is too deep for a tenant only so much that the tenant refuses it.
func (f front) spec() map[string]any {
	spec := wire.Cut(f.xr.Get("spec"), wire.SpecLevels)
	for _, field := range notPassedOn {
		delete(spec, field)
	}
	// With another policy, Crossplane chooses the revision.
	if spec["compositionUpdatePolicy"] != "Manual" {
		delete(spec, "compositionRevisionRef")
	}
	return spec
}

// labels returns the labels of the composite resource: those of the front without those of Kubernetes and of Crossplane, which mean the object
// that has them, and of Argo CD, which would take the composite resource for one of its Application; and those by which it is found.
func (f front) labels() map[string]any {
	out := map[string]any{}
	for key, value := range f.xr.Texts("metadata", "labels") {
		domain, _, _ := strings.Cut(key, "/")
		if slices.Contains(tenant.PlatformsMetadata, key) || slices.ContainsFunc([]string{"kubernetes.io", "k8s.io", "crossplane.io", "argoproj.io"}, func(of string) bool {
			return domain == of || strings.HasSuffix(domain, "."+of)
		}) {
			continue
		}
		out[key] = value
	}
	out[tenant.LabelClaimName], out[tenant.LabelClaimNamespace] = f.self.Name, f.self.Namespace
	return out
}

// connection returns the Secret with the tenant's connection details; nil where the spec names none, or there is nothing to write yet. It
// requires what it needs. The condition says whose the Secret is if it isn't the front's.
func connection(req *fnv1.RunFunctionRequest, s wire.Selectors, f front, b bound) (*corev1.Secret, condition.Condition) {
	name := f.xr.String("spec", "writeConnectionSecretToRef", "name")
	if name == "" {
		return nil, condition.Condition{}
	}
	out := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: f.self.Namespace, Name: name},
		Type:       connectionType,
		Data:       map[string][]byte{},
	}
	was := wire.Of(f.composed[tenant.FrontSecretPrefix+name].GetResource())
	if !was.Exists() {
		s.Named(requiredSecret+name, "v1", "Secret", f.self.Namespace, name)
		at, read := wire.RequiredObject(req, requiredSecret+name, "Secret", f.self.Namespace, name)
		if !read {
			return nil, condition.Condition{}
		}
		if problem := taken(f, at); problem.Reason != "" {
			return nil, problem
		}
	}
	details, ok := published(req, s, f, b)
	if !ok {
		// What is published stays.
		details = wire.SecretData(was)
	}
	for key, value := range details {
		out.Data[key] = []byte(value)
	}
	if !was.Exists() && len(out.Data) == 0 {
		return nil, condition.Condition{}
	}
	return out, condition.Condition{}
}

const connectionType = "connection.crossplane.io/v1alpha1"

// taken says why a Secret that exists isn't the front's to write: no reason where it may be. As with claims, a connection Secret without an
// owner is taken over. One that is immutable would stay as it is, without what Crossplane knows it by, and nothing would be composed any more.
func taken(f front, at wire.Struct) condition.Condition {
	owner := controllerOf(at)
	if !at.Exists() || !at.Bool("immutable") && (owner == f.xr.String("metadata", "uid") || owner == "" && at.String("type") == connectionType) {
		return condition.Condition{}
	}
	is := "isn't this " + f.self.Kind + "'s"
	if at.Bool("immutable") {
		is = "is immutable"
	}
	return condition.Of(v1alpha1.ConditionTenantBound).No(v1alpha1.ReasonSecretTaken,
		"spec.writeConnectionSecretToRef.name: there is a Secret "+at.String("metadata", "name")+" that "+is+", and it stays as it is: write another name, or delete that Secret", "")
}

// controllerOf returns the UID of what controls an object; "" for none.
func controllerOf(o wire.Struct) string {
	for _, owner := range o.List("metadata", "ownerReferences") {
		if owner.Bool("controller") {
			return owner.String("uid")
		}
	}
	return ""
}

// published returns the connection details of the composite resource, and whether they were read. Only the Secret that Crossplane itself
// has written for it is read.
func published(req *fnv1.RunFunctionRequest, s wire.Selectors, f front, b bound) (map[string]string, bool) {
	ref := b.xr.Get("spec", "writeConnectionSecretToRef")
	if tenant.ClaimOf(b.xr) != f.self && !f.isClaims(tenant.ClaimOf(b.xr)) || ref.String("name") == "" || ref.String("namespace") != f.secretsIn {
		return nil, false
	}
	s.Named(requiredConnection+ref.String("name"), "v1", "Secret", f.secretsIn, ref.String("name"))
	from, _ := wire.RequiredObject(req, requiredConnection+ref.String("name"), "Secret", f.secretsIn, ref.String("name"))
	uid := b.xr.String("metadata", "uid")
	if from.String("type") != connectionType || uid == "" || controllerOf(from) != uid || wire.TooLarge(from) {
		return nil, false
	}
	return wire.SecretData(from), true
}
