// Package server is the HTTP server of the proxy, to which the providers send their requests to virtual API servers.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/argocd"
	"github.com/virtual-argocd/virtual-argocd/proxy/connections"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
)

// A Config configures a Server.
type Config struct {
	Limits    limits.Limits
	Intervals watch.Intervals
	// KeepClients is how long the credentials of a token are kept after they were first used.
	KeepClients time.Duration
	// Look is how often the proxy looks at an Argo CD beside its workloads.
	Look time.Duration
	// Dial connects to virtual API servers; nil connects over the network.
	Dial virtualapi.Dialer
	Log  logging.Logger
}

// DefaultConfig returns the configuration of a proxy that runs beside a provider.
func DefaultConfig(log logging.Logger) Config {
	return Config{Limits: limits.Default, Intervals: watch.DefaultIntervals, KeepClients: 10 * time.Minute, Look: argocd.Every, Log: log}
}

// A Server passes requests of providers on to virtual API servers.
type Server struct {
	limits      limits.Limits
	log         logging.Logger
	clients     *clients
	informers   *watch.Informers
	connections *connections.Store
	summaries   summaries
	resources   resources
	// watches ends when the proxy stops: watches would keep it from that for minutes.
	watches    context.Context //nolint:containedctx // It is that of the whole proxy.
	endWatches context.CancelFunc
}

// New returns a Server.
func New(c Config) *Server {
	s := &Server{limits: c.Limits, log: c.Log, clients: newClients(c), informers: watch.NewInformers(c.Intervals), connections: connections.NewStore(), summaries: summaries{argocd.NewStore(c.Look)}}
	s.resources = newResources(s.connections, s.summaries.argoCD)
	s.watches, s.endWatches = context.WithCancel(context.Background())
	return s
}

// Run serves providers on the proxy's address until the context ends. Then it ends all watches, and finishes the requests that are in
// progress: a provider that stops, too, may be in the middle of a change. Kubernetes stops the proxy, a sidecar, after the provider.
func (s *Server) Run(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", proxy.Address)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// headerTimeout is how long a provider may take for the header of a request.
const headerTimeout = 10 * time.Second

// Serve is like Run, with a listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Stop()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Write)
	defer cancel()
	return errors.Join(server.Shutdown(draining), server.Close())
}

// Stop ends all watches.
func (s *Server) Stop() {
	s.endWatches()
	s.informers.Stop()
}

// ServeHTTP passes a request on to the virtual API server that its token names, and the response back once all of it is within the limits.
// It answers 401 without such a token, and 502 with an error for a request that no provider needs, and for a response that exceeds a limit.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.clients.of(r.Header.Get("Authorization"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	wanted, err := s.resources.read(r)
	if err != nil {
		s.log.Debug("A request isn't passed on", "server", c.URL, "reason", err.Error())
		refuse(w, c, err)
		return
	}
	if wanted.all != nil {
		s.informers.Serve(w, r, c, wanted.all)
		return
	}
	begun, err := s.guard(c, w, r, wanted)
	if limits.IsExceeded(err) {
		s.log.Info("A virtual API server goes over a limit", "server", c.URL, "path", r.URL.Path, "limit", err.Error(), "failures", c.Breaker.Failures())
	}
	if err != nil && !begun {
		refuse(w, c, err)
	}
}

// refuse answers with text and with 502, since client-go shows the text of such a response whatever was requested. There is no Retry-After:
// a provider would wait for it, and retries by itself.
func refuse(w http.ResponseWriter, c *virtualapi.Client, err error) {
	http.Error(w, fmt.Sprintf("virtual API server %s: %s", c.URL, err), http.StatusBadGateway)
}

var errPanics = errors.New("the proxy panics")

// guard passes a request on unless the breaker blocks the virtual API server, and counts for the breaker whether the server exceeds a limit.
// A panic counts, too. It reports whether a response was begun.
func (s *Server) guard(c *virtualapi.Client, w http.ResponseWriter, r *http.Request, wanted request) (begun bool, err error) {
	allow := c.Breaker.Allow
	if wanted.one != nil {
		allow = c.Breaker.AllowWatch
	}
	done, err := allow()
	if err != nil {
		return false, err
	}
	failure := errPanics
	defer func() { done(failure) }()
	begun, err = s.forward(c, w, r, wanted)
	failure = nil
	if limits.IsExceeded(err) {
		failure = err
	}
	return begun, err
}
