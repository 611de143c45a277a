// Command lab runs Virtual Argo CD on real parts on one bare Linux machine: it
// builds every program from its Go module, starts a single-node Kubernetes in
// namespaces of its own, and installs Crossplane, the providers and this project.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Build buildCmd `cmd:"" help:"Build the programs that the cluster runs, from their Go modules."`

	Demo    demoCmd    `cmd:"" help:"Bring up everything, and one customer's Argo CD."`
	Install installCmd `cmd:"" help:"Bring up everything, ready for claims."`

	Up         upCmd         `cmd:"" help:"Start a single-node Kubernetes cluster on this machine."`
	Down       downCmd       `cmd:"" help:"End the cluster and remove everything but what was built."`
	Kubeconfig kubeconfigCmd `cmd:"" help:"Print where the cluster's kubeconfig is."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	app := kong.Parse(&cli{},
		kong.Name("lab"),
		kong.Description("Virtual Argo CD on real parts, on this machine."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)))
	app.FatalIfErrorf(app.Run())
}
