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

// An inputChart is a chart of the function's input: where it is from, and what sets a field of it.
type inputChart struct {
	name, repository string
	set              func(value any, path ...string)
}

// inputCharts returns the charts of an input: those of vcluster and Argo CD, and those of components.
func inputCharts(input map[string]any) []inputChart {
	defaults := tenant.WithDefaults(inputv1alpha1.Input{}).Charts
	var out []inputChart
	for key, is := range map[string]inputv1alpha1.Chart{"argocd": defaults.ArgoCD, "vcluster": defaults.VCluster} {
		at := mapAt(input, "charts", key)
		out = append(out, inputChart{cmp.Or(textAt(at, "name"), is.Name), cmp.Or(textAt(at, "repository"), is.Repository), func(value any, path ...string) {
			values.Insert(input, value, slices.Concat([]string{"charts", key}, path)...)
		}})
	}
	for _, c := range listOf(input["components"]) {
		if at := mapAt(c, "chart"); at != nil {
			out = append(out, inputChart{textAt(at, "name"), textAt(at, "repository"), func(value any, path ...string) { values.Insert(at, value, path...) }})
		}
	}
	return out
}

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
	charts := inputCharts(out.Input)
	for _, c := range copied {
		if c.Chart == nil {
			continue
		}
		for _, is := range charts {
			if c.Chart.Name != is.name || c.Chart.Repository != is.repository {
				continue
			}
			is.set(repository, "repository")
			// A version has a dot in it.
			is.set(c.Digest, "digests", c.Chart.Version)
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
