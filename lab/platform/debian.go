package platform

import (
	"slices"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// needed are commands, beside Go's, and the Debian packages that have them.
var needed = []struct {
	command  string
	packages []string
	purpose  toolchain.Purpose
	// tool is the only one for the purpose that is built with it. None: tests run it.
	tool string
}{
	{"gcc", []string{"gcc", "libc6-dev"}, toolchain.Tenants, "kine"},
	{"node", []string{"nodejs"}, toolchain.Web, "argocd-ui"},
	{"npm", []string{"npm"}, toolchain.Web, "argocd-ui"},
	{"node", []string{"nodejs"}, toolchain.Full, toolchain.RolloutsExtension},
	{"npm", []string{"npm"}, toolchain.Full, toolchain.RolloutsExtension},
	{"chromium", []string{"chromium"}, toolchain.Full, ""},
}

// missingPackages lists what has to be installed before the rest can be built and
// before tests can run.
func missingPackages(c toolchain.Cache, purposes []toolchain.Purpose, lookPath func(string) (string, error)) []string {
	var out []string
	for _, need := range needed {
		if !slices.Contains(purposes, need.purpose) {
			continue
		}
		if need.tool != "" {
			if _, err := c.Binary(need.tool); err == nil {
				continue
			}
		}
		if _, err := lookPath(need.command); err != nil && !slices.Contains(out, need.packages[0]) {
			out = append(out, need.packages...)
		}
	}
	return out
}
