// Package debian installs packages on the machine, where it is Debian or alike.
package debian

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// lines of what apt-get has printed that an error ends with.
const lines = 15

// Install installs packages, and says which. It does nothing without any.
func Install(ctx context.Context, say func(string), packages ...string) error {
	if len(packages) == 0 {
		return nil
	}
	list := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("cannot install %s: this machine has no apt-get (Debian, Ubuntu); install these packages yourself", list)
	}
	say("apt-get install " + list)
	for _, args := range [][]string{{"update"}, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...) //nolint:gosec // The packages are named in the lab.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			all := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("cannot install %s: apt-get %s: %w\n%s", list, args[0], err, strings.Join(all[max(0, len(all)-lines):], "\n"))
		}
	}
	return nil
}

// Missing lists the packages whose files are not there.
func Missing(needed map[string]string) []string {
	var out []string
	for file, name := range needed {
		if _, err := os.Stat(file); os.IsNotExist(err) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
