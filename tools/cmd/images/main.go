// Command images lists every image, chart and package that an installation needs, and copies them to a registry. See docs/closed-networks.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/tools/images"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

type cli struct {
	List listCmd `cmd:"" help:"List every image, chart and package that an installation needs."`
	Copy copyCmd `cmd:"" help:"Copy all of that to a registry, and say what the installation must then say."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	k := kong.Parse(&c, kong.Name("images"), kong.Description("List every image, chart and package that an installation of Virtual Argo CD needs, and copy them to a registry."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}

// Installation are the flags that say what is installed.
type installation struct {
	Input            string   `help:"The function's input: a file with it, or with a Composition that has it. Default: the built-in defaults." type:"existingfile" placeholder:"FILE"`
	Plans            []string `help:"Files or folders with plans, and with channels." type:"path" placeholder:"PATH"`
	Claims           []string `help:"Files or folders with claims. One that names only a plan is added for each plan." type:"path" placeholder:"PATH"`
	ArgocdChart      []string `help:"A version of the argo-cd chart that tenants may have, too." placeholder:"VERSION"`
	VclusterChart    []string `help:"A version of the vcluster chart that tenants may have, too." placeholder:"VERSION"`
	Kubernetes       []string `help:"A version of Kubernetes that tenants may have, too: each step of an upgrade is one." placeholder:"VERSION"`
	Platform         []string `help:"What installs the platform: files or folders of manifests, or Helm charts. Default: examples/install." type:"path" placeholder:"PATH"`
	Crossplane       string   `help:"The version of Crossplane's chart, to list that and its images." placeholder:"VERSION"`
	CrossplaneValues string   `help:"A file with the values of Crossplane's chart. Default: examples/install/crossplane-values.yaml." type:"existingfile" placeholder:"FILE"`
	Charts           []string `help:"Folders with charts, which are looked for there before their repositories are asked." type:"existingdir" placeholder:"DIR"`
	From             string   `help:"A registry that has everything under whole names, such as a pull-through cache: registry.example.org/ghcr.io/..." placeholder:"HOST[/PATH]"`
}

// read reads the files that the flags name.
func (f installation) read() (images.Installation, *images.Lister, error) {
	out := images.Installation{
		Versions: images.Versions{ArgoCDCharts: f.ArgocdChart, VClusterCharts: f.VclusterChart, Kubernetes: f.Kubernetes},
		Platform: images.Platform{Paths: f.Platform, Crossplane: strings.TrimPrefix(f.Crossplane, "v"), CrossplaneValues: f.CrossplaneValues},
	}
	var err error
	if f.Input != "" {
		if out.Input, err = images.ReadInput(f.Input); err != nil {
			return out, nil, err
		}
	}
	for _, path := range append(f.Plans, f.Claims...) {
		objects, err := images.ReadObjects(path)
		if err != nil {
			return out, nil, err
		}
		out.Tenants = append(out.Tenants, objects...)
	}
	if root, err := xpkg.FindRoot("."); len(f.Platform) == 0 || f.CrossplaneValues == "" {
		install := filepath.Join(root, "examples", "install")
		if len(f.Platform) == 0 {
			if err != nil {
				return out, nil, errors.New("--platform: name what installs the platform, such as install.yaml and providers.yaml of a release, or run this inside the project")
			}
			out.Platform.Paths = []string{install}
		}
		if err == nil {
			out.Platform.CrossplaneValues = cmp.Or(f.CrossplaneValues, filepath.Join(install, "crossplane-values.yaml"))
		}
	}
	return out, images.NewLister(f.Charts, f.From, remote.WithAuthFromKeychain(authn.DefaultKeychain)), nil
}

type listCmd struct {
	installation `embed:""`

	Resolve bool   `help:"Ask the registries for the digests of all tags."`
	Output  string `short:"o" help:"text, json or yaml." enum:"text,json,yaml" default:"text"`
}

func (c *listCmd) Run(ctx context.Context) error {
	of, lister, err := c.read()
	if err != nil {
		return err
	}
	list, err := lister.List(ctx, of)
	if c.Resolve {
		err = errors.Join(err, lister.Resolve(ctx, list.Items))
	}
	for _, note := range list.Notes {
		fmt.Fprintln(os.Stderr, "NOTE:", note)
	}
	return errors.Join(write(os.Stdout, c.Output, list.Items), err)
}

// write writes a list.
func write(to io.Writer, format string, items []images.Item) error {
	switch format {
	case "json":
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(items)
	case "yaml":
		out, err := yaml.Marshal(items)
		if err == nil {
			_, err = to.Write(out)
		}
		return err
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, item := range items {
		source := item.Sources[0]
		if more := len(item.Sources) - 1; more > 0 {
			source += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", item.Kind, item.Name, cmp.Or(item.Digest, "-"), source)
	}
	return w.Flush()
}

type copyCmd struct {
	installation `embed:""`

	To           string `required:"" help:"The registry to copy to, and a path in it: registry.example.org/mirror." placeholder:"HOST[/PATH]"`
	PlainHTTP    bool   `help:"That registry has no TLS."`
	Replace      bool   `help:"Write over tags that are there with something else: upstream may have built an image anew."`
	OnlyPlatform string `help:"Copy only this platform of images for several, such as linux/amd64. What is named by a digest is copied whole. Default: all platforms." placeholder:"OS/ARCH"`
}

func (c *copyCmd) Run(ctx context.Context) error {
	of, lister, err := c.read()
	if err != nil {
		return err
	}
	target := images.Target{To: c.To, PlainHTTP: c.PlainHTTP, Replace: c.Replace, Done: func(done images.Copied) {
		what := "copied"
		if done.There {
			what = "there"
		}
		fmt.Fprintf(os.Stderr, "%-6s  %s@%s\n", what, strings.SplitN(done.To, "@", 2)[0], done.Digest)
	}}
	if c.OnlyPlatform != "" {
		if target.Platform, err = v1.ParsePlatform(c.OnlyPlatform); err != nil {
			return fmt.Errorf("--only-platform: %w", err)
		}
	}
	list, listErr := lister.List(ctx, of)
	for _, note := range list.Notes {
		fmt.Fprintln(os.Stderr, "NOTE:", note)
	}
	copied, copyErr := lister.Copy(ctx, list.Items, target)
	if err := errors.Join(listErr, copyErr); len(copied) == 0 {
		return err
	}
	// Whatever is wrong with some tenants, the others can have the settings.
	settings, settingsErr := lister.Settings(ctx, of, copied, target)
	if settingsErr != nil {
		settingsErr = fmt.Errorf("with the settings: %w", settingsErr)
	}
	text, err := settings.Text()
	fmt.Print(text)
	return errors.Join(listErr, copyErr, settingsErr, err)
}
