package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// installCompiler installs a C compiler, which one of the programs needs. What
// the images and the node need, they install themselves.
func installCompiler(ctx context.Context, note func(string)) error {
	if _, err := exec.LookPath("gcc"); err == nil {
		return nil
	}
	packages := []string{"gcc", "libc6-dev"}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this machine has no gcc and no apt-get: install what Debian calls %s", strings.Join(packages, " and "))
	}
	note("apt-get install " + strings.Join(packages, " "))
	for _, args := range [][]string{{"update"}, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %s: apt-get %s: %w: %s", strings.Join(packages, " and "), args[0], err, text(string(out)))
		}
	}
	return nil
}
