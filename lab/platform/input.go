package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// writeInput writes the function's input for the embedded cluster and returns
// its path: input.yaml, with this cluster's addresses, the version of the
// argo-cd chart that it serves, and components where it has their images.
func (i *installer) writeInput() (string, error) {
	data, err := os.ReadFile(filepath.Join(i.Root, "lab/platform/input.yaml"))
	if err != nil {
		return "", fmt.Errorf("cannot read the embedded cluster's input: %w", err)
	}
	first, own := node.AddressesOf(0), i.embedded.Addresses()
	text := strings.NewReplacer(
		strings.TrimSuffix(first.Charts, "/"), strings.TrimSuffix(own.Charts, "/"),
		first.Domain, own.Domain,
		first.Node+"/", own.Node+"/",
		first.Machine+"/", own.Machine+"/",
	).Replace(string(data))
	input := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &input); err != nil {
		return "", fmt.Errorf("cannot parse the embedded cluster's input: %w", err)
	}
	// Only make e2e-full builds their images. Without an entry, the function would offer those of upstream.
	if !slices.Contains(i.purposes(false), toolchain.Full) {
		input["components"] = []any{}
	}
	if i.ArgoCDChart != "" {
		ch, err := loader.Load(i.ArgoCDChart)
		if err != nil {
			return "", fmt.Errorf("cannot load ARGOCD_CHART=%s: %w", i.ArgoCDChart, err)
		}
		charts, _ := input["charts"].(map[string]any)
		argocd, _ := charts["argocd"].(map[string]any)
		if argocd == nil {
			return "", fmt.Errorf("the embedded cluster's input must have charts.argocd")
		}
		argocd["version"] = ch.Metadata.Version
	}
	out, err := yaml.Marshal(input)
	if err != nil {
		return "", err
	}
	file := filepath.Join(i.out, "input.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		return "", fmt.Errorf("cannot write the embedded cluster's input: %w", err)
	}
	return file, nil
}
