package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

// needed are commands, beside Go's, and the Debian packages that have them.
var needed = []struct {
	command  string
	packages []string
	purpose  toolchain.Purpose
	// tool is the only one that is built with it. None: tests run it.
	tool string
}{
	{"gcc", []string{"gcc", "libc6-dev"}, toolchain.Cluster, "kine"},
	{"node", []string{"nodejs"}, toolchain.Web, "argocd-ui"},
	{"npm", []string{"npm"}, toolchain.Web, "argocd-ui"},
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
		if _, err := lookPath(need.command); err != nil {
			out = append(out, need.packages...)
		}
	}
	return out
}

// installPackages installs what is missing. What the images and the node need, they
// install themselves.
func installPackages(ctx context.Context, c toolchain.Cache, purposes []toolchain.Purpose, note func(string)) error {
	packages := missingPackages(c, purposes, exec.LookPath)
	if len(packages) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this machine has no apt-get, and lacks what Debian calls %s: install that", strings.Join(packages, ", "))
	}
	note("apt-get install " + strings.Join(packages, " "))
	for _, args := range [][]string{{"update"}, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %s: apt-get %s: %w: %s", strings.Join(packages, ", "), args[0], err, text(string(out)))
		}
	}
	return nil
}
