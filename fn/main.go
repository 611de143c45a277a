// Command function-virtual-argocd is the composition function that gives each
// VirtualArgoCD claim an Argo CD of its own, in a virtual cluster of its own.
package main

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	sdk "github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/virtual-argocd/virtual-argocd/check"
	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/proxy/server"
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
	healthy := health.NewServer()
	most := c.MaxRecvMessageSize << 20
	d := newGate(function.New(log, time.Now), int64(most))
	served := make(chan error, 1)
	go func() {
		served <- sdk.Serve(d,
			sdk.Listen(c.Network, c.Address),
			sdk.MTLSCertificates(c.TLSCertsDir),
			sdk.Insecure(c.Insecure),
			sdk.MaxRecvMessageSize(most),
			sdk.WithHealthServer(healthy),
			sdk.WithMetricsServer(c.MetricsAddress))
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		healthy.Shutdown()
		d.calls.Lock()
		// The SDK's server can't be stopped. Wait until its last responses are sent.
		time.Sleep(200 * time.Millisecond)
		return nil
	}
}

// A gate is what calls go through. It refuses them once the function stops: Crossplane tries a refused call again. Before that it has large
// ones wait for each other, because a call takes up to 20 times the memory of its request, and Crossplane calls for 100 claims at a time.
type gate struct {
	fnv1.FunctionRunnerServiceServer

	// calls is locked for reading during each call, and for writing when the function stops: that
	// refuses further calls, and waits for those in progress.
	calls sync.RWMutex
	// under are the sizes of the requests of the calls in progress, in bytes, which are most together.
	under *semaphore.Weighted
	most  int64
}

func newGate(to fnv1.FunctionRunnerServiceServer, most int64) *gate {
	return &gate{FunctionRunnerServiceServer: to, under: semaphore.NewWeighted(most), most: most}
}

// RunFunction calls the function, unless it is stopping.
func (g *gate) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if !g.calls.TryRLock() {
		return nil, status.Error(codes.Unavailable, "the function is stopping: call it again")
	}
	defer g.calls.RUnlock()
	size := min(int64(proto.Size(req)), g.most)
	if err := g.under.Acquire(ctx, size); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	defer g.under.Release(size)
	return g.FunctionRunnerServiceServer.RunFunction(ctx, req)
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
