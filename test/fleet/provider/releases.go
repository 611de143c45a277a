package provider

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	proxyhelm "github.com/virtual-argocd/virtual-argocd/proxy/helm"
)

// helmTimeout is provider-helm's flag --timeout.
const helmTimeout = 10 * time.Minute

// setUpReleases adds the controller of Releases.
func (s *simulation) setUpReleases(_ context.Context, mgr ctrl.Manager, o controller.Options) error {
	name := managed.ControllerName(v1beta1.ReleaseGroupKind)
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&v1beta1.Release{}).
		WithOptions(o.ForControllerRuntime()).
		WithEventFilter(resource.DesiredStateChanged()).
		Complete(s.releaseReconciler(mgr, name, o.PollInterval))
}

func (s *simulation) releaseReconciler(mgr ctrl.Manager, name string, poll time.Duration) *managed.Reconciler {
	return managed.NewReconciler(mgr, resource.ManagedKind(v1beta1.ReleaseGroupVersionKind),
		managed.WithTypedExternalConnector(&releases{
			simulation: s, local: mgr.GetClient(),
			usage: resource.NewLegacyProviderConfigUsageTracker(mgr.GetClient(), &helmv1beta1.ProviderConfigUsage{}),
		}),
		managed.WithPollInterval(poll),
		managed.WithTimeout(helmTimeout),
		managed.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name))), //nolint:staticcheck // The real provider uses it.
		managed.WithManagementPolicies(),
		managed.WithDeterministicExternalName(true))
}

// releases connects to Helm.
type releases struct {
	*simulation
	local client.Client
	usage resource.LegacyTracker
}

// Connect implements managed.TypedExternalConnector.
func (r *releases) Connect(ctx context.Context, cr *v1beta1.Release) (managed.TypedExternalClient[*v1beta1.Release], error) {
	if err := r.usage.Track(ctx, cr); err != nil {
		return nil, fmt.Errorf("cannot track provider config usage: %w", err)
	}
	config := &helmv1beta1.ProviderConfig{}
	if err := r.local.Get(ctx, client.ObjectKey{Name: cr.GetProviderConfigReference().Name}, config); err != nil {
		return nil, fmt.Errorf("cannot get provider config: %w", err)
	}
	namespace, err := r.reach(ctx, r.local, config.Name, config.Spec.Credentials.CommonCredentialSelectors)
	if err != nil {
		return unreachable{err: err}, nil
	}
	out := &externalRelease{releases: r, onHost: namespace == ""}
	size := 0
	if out.onHost {
		namespace, size = cr.Spec.ForProvider.Namespace, r.RecordSize
	}
	out.tenant = tenantOf(namespace)
	out.helm = helm{
		records: newRecords(r.typed, namespace, cr.Spec.ForProvider.MaxHistory),
		name:    meta.GetExternalName(cr), namespace: cr.Spec.ForProvider.Namespace, size: size,
	}
	if !out.onHost {
		out.helm.fault = r.Faults.atChange(out.tenant, cr.Spec.ForProvider.Chart.Version)
	}
	out.helm.ready = func(ctx context.Context) error { return out.ready(ctx, cr) }
	return out, nil
}

// externalRelease is the Helm release of a Release.
type externalRelease struct {
	*releases
	helm   helm
	tenant string
	// onHost is true for the release of vcluster, and false for that of argo-cd, which is in the virtual cluster.
	onHost bool
	// last is the last observed revision; nil if there is none.
	last *release.Release
	// values are those of the Release, including those from Secrets.
	values map[string]any
}

// Observe implements managed.TypedExternalClient.
func (e *externalRelease) Observe(ctx context.Context, cr *v1beta1.Release) (managed.ExternalObservation, error) {
	last, err := e.helm.records.Last(e.helm.name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		e.values, err = e.composed(ctx, cr)
		return managed.ExternalObservation{}, err
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("failed to get last helm release: %w", err)
	}
	if !e.onHost && proxyhelm.Interrupted(string(last.Info.Status)) {
		// The proxy shows it like this.
		last.Info.Status = release.StatusFailed
	}
	e.last = last
	cr.Status.AtProvider = observation(last)
	if meta.WasDeleted(cr) {
		return managed.ExternalObservation{ResourceExists: true}, nil
	}
	if e.values, err = e.composed(ctx, cr); err != nil {
		return managed.ExternalObservation{}, err
	}
	details := managed.ConnectionDetails{}
	cr.Status.Synced = e.asWanted(cr)
	if cr.Status.Synced && last.Info.Status == release.StatusDeployed {
		cr.Status.Failed = 0
		for _, d := range cr.Spec.ConnectionDetails {
			details[d.ToConnectionSecretKey] = []byte("password-of-" + e.tenant)
		}
		cr.Status.SetConditions(xpv1.Available())
	} else {
		cr.Status.SetConditions(xpv1.Unavailable())
	}
	if e.onHost && last.Info.Status == release.StatusDeployed {
		waiting, _, _ := unstructured.NestedSlice(e.values, "controlPlane", "statefulSet", "initContainers")
		e.start(ctx, e.local, cr.Spec.ForProvider.Namespace, last.Info.FirstDeployed.Time, len(waiting) > 0)
	}
	return managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: cr.Status.Synced && (!takesBack(cr) || limitReached(cr)), ConnectionDetails: details,
	}, nil
}

// Create implements managed.TypedExternalClient.
func (e *externalRelease) Create(ctx context.Context, cr *v1beta1.Release) (managed.ExternalCreation, error) {
	deployed, err := e.helm.install(ctx, nil, chartOf(cr), e.values)
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("failed to install release: %w", err)
	}
	cr.Status.AtProvider = observation(deployed)
	return managed.ExternalCreation{}, nil
}

// Update implements managed.TypedExternalClient.
func (e *externalRelease) Update(ctx context.Context, cr *v1beta1.Release) (managed.ExternalUpdate, error) {
	switch {
	case takesBack(cr) && limitReached(cr):
		return managed.ExternalUpdate{}, nil
	case takesBack(cr):
		cr.Status.Failed++
		if e.last.Version == 1 {
			return managed.ExternalUpdate{}, e.helm.uninstall()
		}
		return managed.ExternalUpdate{}, e.helm.rollback(ctx, e.last)
	}
	if e.onHost {
		e.restart(cr.Spec.ForProvider.Namespace)
	}
	if fault := faultIn(e.values); fault != "" {
		e.helm.fault, e.helm.byValues = fault, true
	}
	deployed, err := e.helm.install(ctx, e.last, chartOf(cr), e.values)
	if err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("failed to upgrade release: %w", err)
	}
	// It is Ready only when it is observed the next time, as with the real provider.
	cr.Status.AtProvider = observation(deployed)
	return managed.ExternalUpdate{}, nil
}

// Delete implements managed.TypedExternalClient.
func (e *externalRelease) Delete(context.Context, *v1beta1.Release) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, e.helm.uninstall()
}

// Disconnect implements managed.TypedExternalClient.
func (e *externalRelease) Disconnect(context.Context) error { return nil }

// takesBack reports whether the provider rolls the last revision back, because it failed or Helm was interrupted.
func takesBack(cr *v1beta1.Release) bool {
	state := cr.Status.AtProvider.State
	return cr.Spec.RollbackRetriesLimit != nil &&
		(cr.Status.Synced && state == release.StatusFailed || state == release.StatusPendingInstall || state == release.StatusPendingUpgrade)
}

func limitReached(cr *v1beta1.Release) bool { return cr.Status.Failed >= *cr.Spec.RollbackRetriesLimit }

// asWanted reports whether the last revision is of the chart and the values that the Release has.
func (e *externalRelease) asWanted(cr *v1beta1.Release) bool {
	policies := cr.GetManagementPolicies()
	switch status := e.last.Info.Status; {
	case status.IsPending():
		return false
	case len(policies) > 0 && !slices.Contains(policies, xpv1.ManagementActionUpdate) && !slices.Contains(policies, xpv1.ManagementActionAll):
		return true
	}
	is := e.last.Chart.Metadata
	return is.Name == cr.Spec.ForProvider.Chart.Name && is.Version == cr.Spec.ForProvider.Chart.Version && reflect.DeepEqual(e.last.Config, e.values)
}

// composed returns the values of a Release, with those from Secrets.
func (e *externalRelease) composed(ctx context.Context, cr *v1beta1.Release) (map[string]any, error) {
	values := map[string]any{}
	if err := yaml.Unmarshal(cr.Spec.ForProvider.Values.Raw, &values); err != nil {
		return nil, fmt.Errorf("failed to compose values: %w", err)
	}
	for _, from := range cr.Spec.ForProvider.ValuesFrom {
		secret, ref := &corev1.Secret{}, from.SecretKeyRef
		if err := e.local.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
			return nil, fmt.Errorf("failed to compose values: %w", err)
		}
		more := map[string]any{}
		if err := yaml.Unmarshal(secret.Data[ref.Key], &more); err != nil {
			return nil, fmt.Errorf("failed to compose values: %w", err)
		}
		values = chartutil.MergeTables(values, more)
	}
	return values, nil
}

// observation returns the status of a Release for a revision.
func observation(r *release.Release) v1beta1.ReleaseObservation {
	return v1beta1.ReleaseObservation{
		State: r.Info.Status, ReleaseDescription: r.Info.Description, Revision: r.Version, Version: r.Chart.Metadata.Version,
	}
}

func chartOf(cr *v1beta1.Release) *chart.Chart {
	c := cr.Spec.ForProvider.Chart
	return &chart.Chart{Metadata: &chart.Metadata{Name: c.Name, Version: c.Version, APIVersion: chart.APIVersionV2}}
}

// errRefused is Helm's error for a change that an API server refuses.
var errRefused = errors.New(`cannot patch "argocd-server" with kind Deployment: Deployment.apps "argocd-server" is invalid: spec.selector: Invalid value: {}: field is immutable`)

// ready waits like Helm, if the Release has Helm wait.
func (e *externalRelease) ready(ctx context.Context, cr *v1beta1.Release) error {
	p := cr.Spec.ForProvider
	upgrades := e.last != nil && !takesBack(cr)
	switch {
	case upgrades && e.helm.fault == UpgradeRefused:
		return errRefused
	case e.last != nil && !upgrades && e.last.Labels[faultLabel] == string(UpgradeRefused), !p.Wait:
		// Nothing has changed, so there is nothing to wait for.
		return nil
	}
	return wait(ctx, p.WaitTimeout.Duration, func() time.Duration {
		switch {
		case e.onHost:
			return e.Faults.takes(e.tenant, e.Durations.Restart)
		case upgrades && (e.helm.byValues && e.helm.fault == UpgradeFails || e.Faults.HasAt(UpgradeFails, e.tenant, p.Chart.Version)):
			return math.MaxInt64
		}
		return e.Faults.takes(e.tenant, e.Durations.ArgoCD)
	})
}

// unreachable stands for a virtual cluster that doesn't answer: connecting succeeds, and the first call fails.
type unreachable struct {
	managed.TypedExternalClient[*v1beta1.Release]

	err error
}

// Observe implements managed.TypedExternalClient.
func (u unreachable) Observe(context.Context, *v1beta1.Release) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{}, fmt.Errorf("failed to get last helm release: %w", u.err)
}

// Disconnect implements managed.TypedExternalClient.
func (u unreachable) Disconnect(context.Context) error { return nil }
