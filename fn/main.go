// Command function-virtual-argocd is the composition function that gives each
// VirtualArgoCD claim an Argo CD of its own, in a virtual cluster of its own.
package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	sdk "github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/check"
	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/serve"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
	tunnelagent "github.com/virtual-argocd/virtual-argocd/tunnel/agent"
	tunnelserver "github.com/virtual-argocd/virtual-argocd/tunnel/server"
)

// version is set by the linker, from the file VERSION.
var version string

// CLI defines the program's commands and flags.
type CLI struct {
	Debug   bool             `help:"Log requests to virtual clusters that the proxy refuses." short:"d"`
	Version kong.VersionFlag `help:"Print the version and exit."`

	Serve Serve `cmd:"" default:"withargs" help:"Run the composition function. This is the default."`
	Proxy Proxy `cmd:"" help:"Run the proxy between a provider of Crossplane and the API servers of virtual clusters, in the provider's pod."`
	Check Check `cmd:"" help:"Look at the cluster that this runs in, and say what it lacks for tenants. check.yaml of a release runs this as a Job."`

	Tunnel Tunnel `cmd:"" help:"Run a side of the tunnels to clusters that let no connections in."`
}

// Serve defines the function's flags.
type Serve struct {
	Network            string `default:"tcp" help:"Network to listen on for gRPC connections."`
	Address            string `default:":9443" help:"Address to listen on for gRPC connections."`
	TLSCertsDir        string `env:"TLS_SERVER_CERTS_DIR" help:"Folder with the server's certificate (tls.crt, tls.key) and the CA of its clients (ca.crt)."`
	Insecure           bool   `help:"Serve without mTLS and ignore --tls-certs-dir, for 'crossplane composition render'."`
	MaxRecvMessageSize int    `default:"16" help:"Maximum size of a request, in MiB."`
	MetricsAddress     string `default:":8080" help:"Address of the metrics (path /metrics); empty for none."`
}

// Run serves until ctx is done, and then waits for the calls that are in progress.
func (c *Serve) Run(ctx context.Context, log logging.Logger) error {
	var o sdk.ServeOptions
	for _, option := range []sdk.ServeOption{sdk.MTLSCertificates(c.TLSCertsDir), sdk.Insecure(c.Insecure)} {
		if err := option(&o); err != nil {
			return err
		}
	}
	if o.Credentials == nil {
		return errors.New("there are no certificates: set --tls-certs-dir, or --insecure to serve without")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, c.Network, c.Address)
	if err != nil {
		return err
	}
	most := c.MaxRecvMessageSize << 20
	metrics := grpcprometheus.NewServerMetrics()
	s := serve.New(function.New(log, time.Now), log, serve.Options{
		Credentials: o.Credentials, MaxRequest: most, Memory: serve.Memory(most), Interceptor: metrics.UnaryServerInterceptor(),
	})
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(s, healthy)
	reflection.Register(s)
	if c.MetricsAddress != "" {
		metrics.InitializeMetrics(s)
		serveMetrics(c.MetricsAddress, metrics)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		healthy.Shutdown()
		s.GracefulStop()
		return nil
	}
}

// serveMetrics serves metrics beside those of the Go runtime. The function works without them.
func serveMetrics(address string, metrics prometheus.Collector) {
	prometheus.MustRegister(metrics)
	s := &http.Server{Addr: address, Handler: promhttp.Handler(), ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = s.ListenAndServe() }()
}

// Proxy has no flags: the kubeconfigs that the function writes have its address.
type Proxy struct{}

// Run serves until ctx is done.
func (*Proxy) Run(ctx context.Context, log logging.Logger) error {
	return server.New(server.DefaultConfig(log)).Run(ctx)
}

// Check defines flags of the check.
type Check struct {
	Namespace string `default:"crossplane-system" help:"Namespace of Crossplane."`
	Index     int    `env:"JOB_COMPLETION_INDEX" help:"What to look at: 0 for objects, 1 for whether a NetworkPolicy keeps this pod from the API server."`
}

// Run looks, and prints what it finds. It fails if something is missing.
func (c *Check) Run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	if c.Index == 1 {
		address, err := url.Parse(config.Host)
		if err != nil {
			return err
		}
		return check.Print(os.Stdout, check.Enforced(ctx, address.Host))
	}
	h := check.Host{Namespace: c.Namespace}
	if h.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return err
	}
	if h.Objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	return check.Run(ctx, h, os.Stdout)
}

// Tunnel has the two sides of a tunnel.
type Tunnel struct {
	Server TunnelServer `cmd:"" help:"Run the side beside an Argo CD."`
	Agent  TunnelAgent  `cmd:"" help:"Run the side in a cluster that lets no connections in."`
}

// TunnelServer defines flags of the side beside an Argo CD.
type TunnelServer struct {
	Config string `required:"" type:"path" help:"File with the keys of the server and of its agents. It is read again when it changes."`
}

// Run serves until ctx is done.
func (c *TunnelServer) Run(ctx context.Context, log logging.Logger) error {
	s := tunnelserver.New(log)
	if err := s.Watch(ctx, c.Config, 2*time.Second); err != nil {
		return err
	}
	return s.Serve(ctx)
}

// TunnelAgent defines flags of the side in a closed cluster.
type TunnelAgent struct {
	Server string `required:"" help:"URL of the server, such as https://argocd.example.org/tunnel."`
	Folder string `required:"" type:"path" help:"Folder with the keys of the agent and of the server, and perhaps the certificate authority of the URL. They are read at each attempt to connect."`
	Health string `default:":8080" help:"Address that tells whether the agent is connected."`

	Host string `required:"" env:"KUBERNETES_SERVICE_HOST" help:"Host of the API server to which Argo CD connects."`
	Port string `required:"" env:"KUBERNETES_SERVICE_PORT" help:"Port of the API server."`
}

// Run connects until ctx is done.
func (c *TunnelAgent) Run(ctx context.Context, log logging.Logger) error {
	// Its connections begin with wss.
	server, ok := strings.CutPrefix(c.Server, "https://")
	if !ok {
		return errors.New("--server must begin with https://")
	}
	a := tunnelagent.New("wss://"+server, c.Folder, net.JoinHostPort(c.Host, c.Port), log)
	health := &http.Server{Addr: c.Health, Handler: a, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = health.ListenAndServe() }()
	a.Run(ctx)
	return nil
}

func main() {
	cli := &CLI{}
	command := kong.Parse(cli,
		kong.Name("function-virtual-argocd"),
		kong.Description("A Crossplane composition function that gives each claim an Argo CD of its own, in a virtual cluster of its own."),
		kong.Vars{"version": cmp.Or(version, "unknown")})
	log, err := sdk.NewLogger(cli.Debug)
	command.FatalIfErrorf(err)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	command.BindTo(ctx, (*context.Context)(nil))
	command.BindTo(log, (*logging.Logger)(nil))
	command.FatalIfErrorf(command.Run())
}
