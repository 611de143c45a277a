package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Process is a provider that can be killed and stopped as the process of a real one can.
type Process struct {
	name    string
	flags   Flags
	planes  *controlPlanes
	admin   *rest.Config
	scheme  *runtime.Scheme
	setUp   func(*simulation, context.Context, ctrl.Manager, controller.Options) error
	configs configs

	mu sync.Mutex
	// kill ends the present Run; nil if there was none.
	kill context.CancelFunc
	// stopped is closed when a stopped process continues; nil while the process isn't stopped.
	stopped chan struct{}
}

func newProcess(name string, flags Flags, planes *controlPlanes, admin *rest.Config, scheme *runtime.Scheme,
	setUp func(*simulation, context.Context, ctrl.Manager, controller.Options) error, c configs,
) *Process {
	return &Process{name: name, flags: flags, planes: planes, admin: admin, scheme: scheme, setUp: setUp, configs: c}
}

// Run runs the provider until ctx is done or the provider is killed.
func (p *Process) Run(ctx context.Context) error {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	p.mu.Lock()
	p.kill = kill
	p.mu.Unlock()

	admin := rest.CopyConfig(p.admin)
	admin.Wrap(func(next http.RoundTripper) http.RoundTripper { return requests{process: p, life: ctx, next: next} })
	s := &simulation{controlPlanes: p.planes}
	var err error
	if s.host, err = client.New(admin, client.Options{Scheme: p.scheme}); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if s.typed, err = kubernetes.NewForConfig(admin); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	rate := p.flags.MaxReconcileRate
	mgr, err := newManager(admin, p.scheme, p.name, p.flags.Account, rate)
	if err != nil {
		return err
	}
	options := controller.Options{
		Logger: logging.NewNopLogger(), Features: &feature.Flags{}, PollInterval: p.flags.Poll,
		MaxConcurrentReconciles: rate, GlobalRateLimiter: ratelimiter.NewGlobal(rate),
	}
	options.Features.Enable(feature.EnableBetaManagementPolicies)
	if err := p.configs.setUp(mgr, options); err != nil {
		return err
	}
	if err := p.setUp(s, ctx, mgr, options); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// Kill ends the provider at once, without the writes that it was about to make.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kill != nil {
		p.kill()
	}
}

// Stop makes all requests of the provider wait until Continue is called.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil {
		p.stopped = make(chan struct{})
	}
}

// Continue undoes Stop.
func (p *Process) Continue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
}

func (p *Process) waits() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// requests is the transport of one Run of a process.
type requests struct {
	process *Process
	life    context.Context
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r requests) RoundTrip(req *http.Request) (*http.Response, error) {
	if stopped := r.process.waits(); stopped != nil {
		select {
		case <-stopped:
		case <-r.life.Done():
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if r.life.Err() != nil {
		return nil, errors.New("the provider was killed")
	}
	return r.next.RoundTrip(req)
}
