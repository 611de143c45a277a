package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-kubernetes/apis/cluster/object/v1alpha2"
	kubernetesv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// notReadyPoll is how often provider-kubernetes looks at an Object that isn't ready; its polls differ by up to a tenth.
const (
	notReadyPoll = 30 * time.Second
	pollJitter   = 0.1
)

// setUpObjects adds the controller of Objects.
func (s *simulation) setUpObjects(_ context.Context, mgr ctrl.Manager, o controller.Options) error {
	name := managed.ControllerName(v1alpha2.ObjectGroupKind)
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&v1alpha2.Object{}, builder.WithPredicates(resource.DesiredStateChanged())).
		// Of what Objects watch, only the tenant's namespace and the summary of its workloads change here.
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(s.afterNamespace(mgr.GetClient()))).
		Watches(&corev1.Secret{}, s.afterRecords(mgr.GetClient())).
		WatchesRawSource(source.Func(func(ctx context.Context, queue objectQueue) error {
			s.watchFaults(ctx, mgr.GetClient(), queue)
			return nil
		})).
		WithOptions(o.ForControllerRuntime()).
		Complete(ratelimiter.NewReconciler(name, s.objectReconciler(mgr, name, o.PollInterval), o.GlobalRateLimiter))
}

func (s *simulation) objectReconciler(mgr ctrl.Manager, name string, poll time.Duration) *managed.Reconciler {
	return managed.NewReconciler(mgr, resource.ManagedKind(v1alpha2.ObjectGroupVersionKind),
		managed.WithTypedExternalConnector(&objects{
			simulation: s, local: mgr.GetClient(), onHost: newHostObjects(s.host),
			usage: resource.NewLegacyProviderConfigUsageTracker(mgr.GetClient(), &kubernetesv1alpha1.ProviderConfigUsage{}),
		}),
		managed.WithPollInterval(poll),
		managed.WithPollIntervalHook(func(mg resource.Managed, poll time.Duration) time.Duration {
			if mg.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
				poll = notReadyPoll
			}
			return time.Duration(float64(poll) * (1 + pollJitter*(2*rand.Float64()-1))) //nolint:gosec // No secret depends on it.
		}),
		managed.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name))), //nolint:staticcheck // The real provider uses it.
		managed.WithManagementPolicies(),
		managed.WithDeterministicExternalName(true))
}

// objects connects to the places where the manifests of Objects are applied.
type objects struct {
	*simulation
	local  client.Client
	onHost place
	usage  resource.LegacyTracker
}

// A place is where the manifest of an Object is applied: the host or a virtual cluster.
type place interface {
	// get returns the object, or an error that it isn't found.
	get(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// desired returns what applying the manifest would lead to.
	desired(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// apply applies the manifest, and returns the object.
	apply(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// remove deletes the object.
	remove(ctx context.Context, o *v1alpha2.Object, manifest *unstructured.Unstructured) error
}

// Connect implements managed.TypedExternalConnector.
func (o *objects) Connect(ctx context.Context, mg *v1alpha2.Object) (managed.TypedExternalClient[*v1alpha2.Object], error) {
	if err := o.usage.Track(ctx, mg); err != nil {
		return nil, fmt.Errorf("cannot track ProviderConfig usage: %w", err)
	}
	config := &kubernetesv1alpha1.ProviderConfig{}
	if err := o.local.Get(ctx, client.ObjectKey{Name: mg.GetProviderConfigReference().Name}, config); err != nil {
		return nil, fmt.Errorf("cannot get provider config: %w", err)
	}
	manifest := &unstructured.Unstructured{}
	if err := json.Unmarshal(mg.Spec.ForProvider.Manifest.Raw, &manifest.Object); err != nil {
		return nil, fmt.Errorf("cannot unmarshal template: %w", err)
	}
	namespace, err := o.reach(ctx, o.local, config.Name, config.Spec.Credentials.CommonCredentialSelectors)
	out := &externalObject{place: o.onHost, manifest: manifest, err: err}
	switch {
	case namespace != "":
		out.place = virtualObjects{simulation: o.simulation, local: o.local, namespace: namespace}
	// The chart's objects in a tenant's namespace on the host aren't there. The resolver's Service is.
	case strings.HasPrefix(manifest.GetNamespace(), "vargo-") && slices.Contains([]string{"Pod", "Service", "StatefulSet", "Deployment"}, manifest.GetKind()):
		out.place = virtualObjects{simulation: o.simulation, local: o.local, namespace: manifest.GetNamespace()}
	}
	return out, nil
}

// externalObject is the object that the manifest of an Object describes.
type externalObject struct {
	place

	manifest *unstructured.Unstructured
	// err says why it can't be reached.
	err error
}

// Observe implements managed.TypedExternalClient.
func (e *externalObject) Observe(ctx context.Context, o *v1alpha2.Object) (managed.ExternalObservation, error) {
	if e.err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get object: %w", e.err)
	}
	is, err := e.get(ctx, o, e.manifest)
	if kerrors.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get object: %w", err)
	}
	if err := show(o, is); err != nil {
		return managed.ExternalObservation{}, err
	}
	desired, err := e.desired(ctx, o, e.manifest)
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get desired state: %w", err)
	}
	upToDate := observesOnly(o) || same(e.manifest.Object, is.Object, desired.Object)
	if p := o.Spec.Readiness.Policy; upToDate && (p == v1alpha2.ReadinessPolicySuccessfulCreate || p == "") {
		o.SetConditions(xpv1.Available())
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: upToDate}, nil
}

// Create implements managed.TypedExternalClient.
func (e *externalObject) Create(ctx context.Context, o *v1alpha2.Object) (managed.ExternalCreation, error) {
	is, err := e.apply(ctx, o, e.manifest)
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create object: %w", err)
	}
	return managed.ExternalCreation{}, show(o, is)
}

// Update implements managed.TypedExternalClient.
func (e *externalObject) Update(ctx context.Context, o *v1alpha2.Object) (managed.ExternalUpdate, error) {
	is, err := e.apply(ctx, o, e.manifest)
	if err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot apply object: %w", err)
	}
	return managed.ExternalUpdate{}, show(o, is)
}

// Delete implements managed.TypedExternalClient.
func (e *externalObject) Delete(ctx context.Context, o *v1alpha2.Object) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, client.IgnoreNotFound(e.remove(ctx, o, e.manifest))
}

// Disconnect implements managed.TypedExternalClient.
func (e *externalObject) Disconnect(context.Context) error { return nil }

// observesOnly reports whether an Object neither creates nor changes anything.
func observesOnly(o *v1alpha2.Object) bool {
	policies := o.GetManagementPolicies()
	return len(policies) > 0 && !slices.ContainsFunc(policies, func(a xpv1.ManagementAction) bool {
		return a == xpv1.ManagementActionCreate || a == xpv1.ManagementActionUpdate || a == xpv1.ManagementActionAll
	})
}

// show writes the object and its readiness into the status.
func show(o *v1alpha2.Object, is *unstructured.Unstructured) (err error) {
	if o.Status.AtProvider.Manifest.Raw, err = is.MarshalJSON(); err != nil {
		return fmt.Errorf("cannot marshal existing resource: %w", err)
	}
	if o.Spec.Readiness.Policy != v1alpha2.ReadinessPolicyDeriveFromCelQuery {
		return nil
	}
	switch ready, err := ready(o.Spec.Readiness.CelQuery, is.Object); {
	case err != nil:
		o.SetConditions(xpv1.Unavailable().WithMessage(err.Error()))
	case ready:
		o.SetConditions(xpv1.Available())
	default:
		o.SetConditions(xpv1.Unavailable())
	}
	return nil
}
