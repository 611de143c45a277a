package provider

import (
	"context"
	"fmt"
	"time"

	helmapis "github.com/crossplane-contrib/provider-helm/apis/cluster"
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetesapis "github.com/crossplane-contrib/provider-kubernetes/apis/cluster"
	kubernetesv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// A Simulation is both providers, and the virtual clusters that they reach.
type Simulation struct {
	Helm, Kubernetes *Process

	planes *controlPlanes
	admin  *rest.Config
	scheme *runtime.Scheme
}

// New returns a simulation whose providers don't run yet. admin is the configuration of an administrator. The providers' packages must be
// installed, without pods.
func New(admin *rest.Config, o Options) (*Simulation, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmapis.AddToScheme, kubernetesapis.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	admin = rest.CopyConfig(admin)
	admin.QPS = -1
	host, err := client.New(admin, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	kubeconfig, err := newKubeconfig()
	if err != nil {
		return nil, err
	}
	planes := newControlPlanes(o, host, kubeconfig)
	return &Simulation{
		planes: planes, admin: admin, scheme: scheme,
		Helm: newProcess("provider-helm", o.Helm, planes, admin, scheme, (*simulation).setUpReleases, configs{
			config: &helmv1beta1.ProviderConfig{}, usage: &helmv1beta1.ProviderConfigUsage{},
			kinds: resource.ProviderConfigKinds{
				Config: helmv1beta1.ProviderConfigGroupVersionKind, Usage: helmv1beta1.ProviderConfigUsageGroupVersionKind,
				UsageList: helmv1beta1.ProviderConfigUsageListGroupVersionKind,
			},
		}),
		Kubernetes: newProcess("provider-kubernetes", o.Kubernetes, planes, admin, scheme, (*simulation).setUpObjects, configs{
			config: &kubernetesv1alpha1.ProviderConfig{}, usage: &kubernetesv1alpha1.ProviderConfigUsage{},
			kinds: resource.ProviderConfigKinds{
				Config: kubernetesv1alpha1.ProviderConfigGroupVersionKind, Usage: kubernetesv1alpha1.ProviderConfigUsageGroupVersionKind,
				UsageList: kubernetesv1alpha1.ProviderConfigUsageListGroupVersionKind,
			},
		}),
	}, nil
}

// Run runs both providers until ctx is done.
func (s *Simulation) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Helm.Run(ctx) })
	g.Go(func() error { return s.Kubernetes.Run(ctx) })
	return g.Wait()
}

// RestartControlPlane makes the virtual cluster of a tenant unavailable for Durations.Restart.
func (s *Simulation) RestartControlPlane(tenant string) { s.planes.restart(namespacePrefix + tenant) }

// simulation is what a provider works on: the tenants' virtual clusters, and the host as its administrator.
type simulation struct {
	*controlPlanes

	host  client.Client
	typed kubernetes.Interface
}

// configs are the kinds of a provider's ProviderConfigs and their usages.
type configs struct {
	config, usage client.Object
	kinds         resource.ProviderConfigKinds
}

// newManager makes a provider's manager, which acts as the provider's ServiceAccount.
func newManager(admin *rest.Config, scheme *runtime.Scheme, name, account string, rate int) (ctrl.Manager, error) {
	const namespace = "crossplane-system"
	as := ratelimiter.LimitRESTConfig(admin, rate)
	as.UserAgent = name + " (simulated)"
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	hourly, again := time.Hour, true
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{SyncPeriod: &hourly}, Metrics: server.Options{BindAddress: "0"},
		// A test may restart the providers.
		Controller: config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager of %s: %w", name, err)
	}
	return mgr, nil
}

// setUp adds the controller of ProviderConfigs, which counts their usages and keeps those that have some.
func (c configs) setUp(mgr ctrl.Manager, o controller.Options) error {
	name := providerconfig.ControllerName(c.kinds.Config.GroupKind().String())
	r := providerconfig.NewReconciler(mgr, c.kinds, providerconfig.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name)))) //nolint:staticcheck // The real providers use it.
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(c.config).
		Watches(c.usage, &resource.EnqueueRequestForProviderConfig{}).
		Complete(ratelimiter.NewReconciler(name, r, o.GlobalRateLimiter))
}
