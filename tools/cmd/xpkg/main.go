// Command xpkg builds this project's Crossplane packages and pushes them. It is
// what `make xpkg` and `make push` run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

type cli struct {
	Out string `help:"Directory of the package files, relative to the project." default:"_output" placeholder:"DIR"`

	Build buildCmd `cmd:"" help:"Build the Function and Configuration packages."`
	Push  pushCmd  `cmd:"" help:"Push the packages that build has written."`
	Pin   pinCmd   `cmd:"" help:"Write the digests of the packages that build has written into examples/install."`
	Pins  pinsCmd  `cmd:"" help:"Print ImageConfigs that pin the tags of the providers to the digests that a registry has for them."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("xpkg"), kong.Description("Build and push the Crossplane packages of virtual-argocd."))
	root, err := xpkg.FindRoot(".")
	k.FatalIfErrorf(err)
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run(xpkg.Project{Root: root, Out: filepath.Join(root, c.Out)}))
}

type buildCmd struct {
	Input string   `help:"File with the function's Input for the Composition, with your defaults." type:"existingfile" placeholder:"FILE"`
	Arch  []string `help:"Architectures to build the Function for: amd64, arm64, or native for that of this machine. Default: all." placeholder:"ARCH"`
}

func (b *buildCmd) Run(ctx context.Context, p xpkg.Project) error {
	architectures := xpkg.Architectures()
	if len(b.Arch) > 0 {
		architectures = nil
	}
	for _, a := range b.Arch {
		if a == "native" {
			a = runtime.GOARCH
		}
		if !slices.Contains(xpkg.Architectures(), a) {
			return fmt.Errorf("--arch=%s is not known: write one of %v, or native", a, xpkg.Architectures())
		}
		architectures = append(architectures, a)
	}
	p.Input = b.Input
	if _, err := p.Build(ctx, architectures...); err != nil {
		return err
	}
	for _, a := range architectures {
		fmt.Println(p.FunctionFile(a))
		fmt.Println(p.SBOMFile(a))
	}
	fmt.Println(p.ConfigurationFile())
	return nil
}

type pushCmd struct {
	Registry string `help:"Host and organisation to push to, such as ghcr.io/acme." required:"" placeholder:"HOST/ORG"`
}

func (c *pushCmd) Run(ctx context.Context, p xpkg.Project) error {
	if _, err := p.LastBuild(); err != nil {
		return err
	}
	pushed, err := p.Push(ctx, c.Registry)
	if err != nil {
		return err
	}
	for _, ref := range pushed {
		fmt.Println(ref)
	}
	if err := p.WriteInstallFile(c.Registry, pushed...); err != nil {
		return err
	}
	chart, err := p.PushChart(ctx, c.Registry, pushed...)
	if err != nil {
		return err
	}
	fmt.Println(chart)
	fmt.Fprintf(os.Stderr, "\n%s installs them, or the chart %s: see %s\n", p.InstallFile(), p.ChartFile(), pages.Install)
	return nil
}

type pinCmd struct{}

func (*pinCmd) Run(p xpkg.Project) error {
	if _, err := p.LastBuild(); err != nil {
		return err
	}
	return p.PinExamples()
}

type pinsCmd struct {
	Registry string `help:"Registry to ask, with the path below which it has the packages." default:"xpkg.crossplane.io" placeholder:"HOST[/PATH]"`
}

func (c *pinsCmd) Run(ctx context.Context, p xpkg.Project) error {
	manifests, err := p.PinProviders(ctx, c.Registry)
	fmt.Print(manifests)
	return err
}
