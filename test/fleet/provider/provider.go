package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	helmapis "github.com/crossplane-contrib/provider-helm/apis/cluster"
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/v1beta1"
	kubernetesapis "github.com/crossplane-contrib/provider-kubernetes/apis/cluster"
	kubernetesv1alpha1 "github.com/crossplane-contrib/provider-kubernetes/apis/cluster/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
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

// simulation is what both providers share: the tenants' virtual clusters, and a way to the host as its administrator.
type simulation struct {
	Options
	host  client.Client
	typed kubernetes.Interface
	// kubeconfig is what each virtual cluster publishes.
	kubeconfig map[string][]byte

	mu sync.Mutex
	// starting are the namespaces whose control planes start, restarting those whose don't answer until then.
	starting   map[string]bool
	restarting map[string]time.Time
}

// Run runs both providers until ctx is done. The configuration is an administrator's. The providers' packages must be
// installed, without pods.
func Run(ctx context.Context, admin *rest.Config, o Options) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmapis.AddToScheme, kubernetesapis.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	admin = rest.CopyConfig(admin)
	admin.QPS = -1
	s := &simulation{Options: o, starting: map[string]bool{}, restarting: map[string]time.Time{}}
	var err error
	if s.host, err = client.New(admin, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if s.typed, err = kubernetes.NewForConfig(admin); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if s.kubeconfig, err = newKubeconfig(); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for name, p := range map[string]struct {
		Flags
		setUp  func(context.Context, ctrl.Manager, controller.Options) error
		config client.Object
		usage  client.Object
		kinds  resource.ProviderConfigKinds
	}{
		"provider-helm": {
			Flags: o.Helm, setUp: s.setUpReleases, config: &helmv1beta1.ProviderConfig{}, usage: &helmv1beta1.ProviderConfigUsage{},
			kinds: resource.ProviderConfigKinds{
				Config: helmv1beta1.ProviderConfigGroupVersionKind, Usage: helmv1beta1.ProviderConfigUsageGroupVersionKind,
				UsageList: helmv1beta1.ProviderConfigUsageListGroupVersionKind,
			},
		},
		"provider-kubernetes": {
			Flags: o.Kubernetes, setUp: s.setUpObjects, config: &kubernetesv1alpha1.ProviderConfig{}, usage: &kubernetesv1alpha1.ProviderConfigUsage{},
			kinds: resource.ProviderConfigKinds{
				Config: kubernetesv1alpha1.ProviderConfigGroupVersionKind, Usage: kubernetesv1alpha1.ProviderConfigUsageGroupVersionKind,
				UsageList: kubernetesv1alpha1.ProviderConfigUsageListGroupVersionKind,
			},
		},
	} {
		mgr, err := newManager(admin, scheme, name, p.MaxReconcileRate)
		if err != nil {
			return err
		}
		options := controller.Options{
			Logger: logging.NewNopLogger(), Features: &feature.Flags{}, PollInterval: p.Poll,
			MaxConcurrentReconciles: p.MaxReconcileRate, GlobalRateLimiter: ratelimiter.NewGlobal(p.MaxReconcileRate),
		}
		options.Features.Enable(feature.EnableBetaManagementPolicies)
		if err := setUpConfigs(mgr, options, p.kinds, p.config, p.usage); err != nil {
			return err
		}
		if err := p.setUp(ctx, mgr, options); err != nil {
			return err
		}
		g.Go(func() error { return mgr.Start(ctx) })
	}
	return g.Wait()
}

// newManager makes a provider's manager, which acts as the provider's ServiceAccount.
func newManager(admin *rest.Config, scheme *runtime.Scheme, account string, rate int) (ctrl.Manager, error) {
	const namespace = "crossplane-system"
	as := ratelimiter.LimitRESTConfig(admin, rate)
	as.UserAgent = account + " (simulated)"
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	hourly, again := time.Hour, true
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{SyncPeriod: &hourly}, Metrics: server.Options{BindAddress: "0"},
		// A test may stop the providers and start them anew.
		Controller: config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager of %s: %w", account, err)
	}
	return mgr, nil
}

// setUpConfigs counts the users of ProviderConfigs, and keeps those that have some.
func setUpConfigs(mgr ctrl.Manager, o controller.Options, kinds resource.ProviderConfigKinds, config, usage client.Object) error {
	name := providerconfig.ControllerName(kinds.Config.GroupKind().String())
	r := providerconfig.NewReconciler(mgr, kinds, providerconfig.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name)))) //nolint:staticcheck // The real providers use it.
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(config).
		Watches(usage, &resource.EnqueueRequestForProviderConfig{}).
		Complete(ratelimiter.NewReconciler(name, r, o.GlobalRateLimiter))
}
