package images

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// publicRegistry is the registry of the packages, which ImageConfigs rewrite.
const publicRegistry = "xpkg.crossplane.io"

// inputCharts are the charts that the function's input has fields for, with their names by default.
var inputCharts = map[string]string{"argocd": argocdChart, "vcluster": vclusterChart}

// Settings says what an installation has to say so that it pulls what was copied.
type Settings struct {
	// Input is the function's input.
	Input map[string]any
	// Platform are the images of containers in what installs the platform.
	Platform []Item
	// Elsewhere are images that tenants need and that still come from elsewhere with that input.
	Elsewhere []Item
	to        Target
}

// Settings returns what an installation has to say so that it pulls what was copied, by listing it again. Its error is what is wrong with tenants then.
func (l *Lister) Settings(ctx context.Context, of Installation, copied []Copied, t Target) (Settings, error) {
	to := strings.TrimSuffix(t.To, "/")
	out := Settings{Input: copyOf(of.input()), to: t}
	repository := "oci://" + to + "/" + chartFolder
	values.Insert(out.Input, to, "images", "registry")
	for _, c := range copied {
		if c.Chart == nil {
			continue
		}
		for key, name := range inputCharts {
			at := mapAt(of.Input, "charts", key)
			if c.Chart.Name != cmp.Or(textAt(at, "name"), name) || c.Chart.Repository != cmp.Or(textAt(at, "repository"), defaultRepository(key)) {
				continue
			}
			values.Insert(out.Input, repository, "charts", key, "repository")
			// A version has a dot in it.
			values.Insert(out.Input, c.Digest, "charts", key, "digests", c.Chart.Version)
		}
		l.charts.alias(*c.Chart, Chart{Repository: repository, Name: c.Chart.Name, Version: c.Chart.Version})
	}
	containers := collection{}
	if err := l.platform(ctx, Platform{Paths: of.Platform.Paths}, containers); err != nil {
		return out, err
	}
	out.Platform = slices.DeleteFunc(containers.sorted(), func(item Item) bool { return !item.runs })
	// What a tenant needs now, with the input that was just made.
	of.Input, of.Platform = out.Input, Platform{}
	again, err := l.List(ctx, of)
	for _, item := range again.Items {
		if item.Kind == KindImage && !strings.HasPrefix(item.Name, to+"/") {
			out.Elsewhere = append(out.Elsewhere, item)
		}
	}
	return out, err
}

func defaultRepository(key string) string {
	in := tenant.WithDefaults(inputv1alpha1.Input{})
	if key == "argocd" {
		return in.Charts.ArgoCD.Repository
	}
	return in.Charts.VCluster.Repository
}

// Text is what an installation has to say, for people.
func (s Settings) Text() (string, error) {
	var b strings.Builder
	input, err := yaml.Marshal(s.Input)
	if err != nil {
		return "", err
	}
	to := textAt(s.Input, "images", "registry")
	fmt.Fprintf(&b, "# The function's input, in your Composition or in the packaged one.\n%s", input)
	fmt.Fprintf(&b, `---
# Crossplane finds the packages there. In our chart: mirror: %[2]s
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: air-gapped
spec:
  matchImages:
    - type: Prefix
      prefix: %[1]s
  rewriteImage:
    prefix: %[2]s
`, publicRegistry, to)
	for i, item := range s.Platform {
		if i == 0 {
			b.WriteString("# ImageConfigs rewrite no images of containers. Replace these in what installs the platform:\n")
		}
		fmt.Fprintf(&b, "#   %s\n#   -> %s\n", item.Name, s.to.reference(item))
	}
	for i, item := range s.Elsewhere {
		if i == 0 {
			b.WriteString("# No field of the input moves these. Set values of the charts, or have the nodes' container runtime mirror their registries:\n")
		}
		fmt.Fprintf(&b, "#   %s (%s)\n#   -> %s\n", item.Name, item.Sources[0], s.to.reference(item))
	}
	return b.String(), nil
}
