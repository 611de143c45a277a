package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

// needed are commands, beside Go's, and the Debian packages that have them.
var needed = []struct {
	command  string
	packages []string
	// tool is the only one that is built with it. None: it is for tests.
	tool string
}{
	{"gcc", []string{"gcc", "libc6-dev"}, "kine"},
	{"node", []string{"nodejs"}, "argocd-ui"},
	{"npm", []string{"npm"}, "argocd-ui"},
	{"chromium", []string{"chromium"}, ""},
}

// missingPackages lists what has to be installed before the rest can be built and
// before tests can run.
func missingPackages(c toolchain.Cache, tests bool, lookPath func(string) (string, error)) []string {
	var out []string
	for _, need := range needed {
		if need.tool == "" && !tests {
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
func installPackages(ctx context.Context, c toolchain.Cache, tests bool, note func(string)) error {
	packages := missingPackages(c, tests, exec.LookPath)
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
