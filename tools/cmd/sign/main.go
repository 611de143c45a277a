// Command sign pushes the packages that `make xpkg` built, signs them, and attests what is in them and how they were built. It is what
// `make push` runs. It is a command of its own because cosign's library takes longer to compile than everything else that builds packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
	"github.com/virtual-argocd/virtual-argocd/tools/signing"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

type cli struct {
	Registry string `help:"Host and organisation to push to, such as ghcr.io/acme." required:"" placeholder:"HOST/ORG"`
	Out      string `help:"Directory of the package files, relative to the project." default:"_output" placeholder:"DIR"`
	Key      string `help:"File with the private key." type:"existingfile" placeholder:"FILE"`
	Password string `help:"Password of the key." env:"COSIGN_PASSWORD" placeholder:"TEXT"`
	IDToken  string `help:"OpenID Connect token to sign with, in place of a key." env:"SIGSTORE_ID_TOKEN" placeholder:"TOKEN"`
	Fulcio   string `help:"Certificate authority for tokens." env:"FULCIO_URL" placeholder:"URL"`
	Rekor    string `help:"Transparency log." env:"REKOR_URL" placeholder:"URL"`
	Builder  string `help:"URI of who built the packages." env:"BUILDER_ID" default:"${maintainer}" placeholder:"URI"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("sign"), kong.Description("Push and sign the Crossplane packages of virtual-argocd."),
		kong.Vars{"maintainer": signing.Maintainer})
	k.FatalIfErrorf(c.run(ctx))
}

func (c *cli) run(ctx context.Context) error {
	root, err := xpkg.FindRoot(".")
	if err != nil {
		return err
	}
	p := xpkg.Project{Root: root, Out: filepath.Join(root, c.Out)}
	// What would keep it from being signed is found before anything is pushed.
	if _, err := p.LastBuild(); err != nil {
		return err
	}
	if c.Key == "" && c.IDToken == "" {
		return errors.New("nothing to sign with: set KEY to a file with a private key, or SIGSTORE_ID_TOKEN to an OpenID Connect token; " +
			"SIGN=skip pushes packages that Crossplane can't verify")
	}
	signer, err := signing.New(ctx, signing.Options{
		Key: c.Key, Password: []byte(c.Password), IDToken: c.IDToken, Fulcio: c.Fulcio, Rekor: c.Rekor,
	})
	if err != nil {
		return err
	}
	pushed, err := p.Push(ctx, c.Registry)
	if err != nil {
		return err
	}
	if err := signer.Packages(ctx, p, c.Builder, pushed...); err != nil {
		return fmt.Errorf("the packages were pushed, but not all of them are signed: %w", err)
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
	if err := signer.Chart(ctx, chart); err != nil {
		return fmt.Errorf("the chart was pushed, but isn't signed: %w", err)
	}
	fmt.Println(chart)
	fmt.Fprintf(os.Stderr, "\n%s installs them, or the chart %s: see %s\n", p.InstallFile(), p.ChartFile(), pages.Install)
	return nil
}
