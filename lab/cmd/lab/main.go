// Command lab runs Virtual Argo CD on a Linux machine: it builds every program from its
// Go module, starts a single-node Kubernetes in its own Linux namespaces, and installs
// Crossplane, the providers and this project.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Build buildCmd `cmd:"" help:"Build the programs that the cluster needs, from their Go modules."`

	Demo    demoCmd    `cmd:"" help:"Start a cluster, install everything and create one customer's Argo CD."`
	Install installCmd `cmd:"" help:"Start a cluster and install everything, ready for claims."`

	Up         upCmd         `cmd:"" help:"Start a single-node Kubernetes cluster on this machine, and install nothing."`
	Down       downCmd       `cmd:"" help:"Stop the cluster and remove everything except what was built."`
	Kubeconfig kubeconfigCmd `cmd:"" help:"Print the path of the cluster's kubeconfig."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	app := kong.Parse(&cli{},
		kong.Name("lab"),
		kong.Description("Runs Virtual Argo CD on a single-node cluster on this machine."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)))
	app.FatalIfErrorf(app.Run())
}
