package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// pluginDir is where Debian puts the CNI plugins.
const pluginDir = "/usr/lib/cni"

// needed maps a file to the Debian package that has it.
var needed = map[string]string{
	"/usr/bin/containerd":     "containerd",
	"/usr/sbin/runc":          "runc",
	pluginDir + "/bridge":     "containernetworking-plugins",
	pluginDir + "/host-local": "containernetworking-plugins",
	"/usr/sbin/iptables":      "iptables",
	"/usr/sbin/nft":           "nftables",
	"/usr/sbin/conntrack":     "conntrack",
	"/usr/sbin/ip":            "iproute2",
}

// missing lists the packages whose files are not there.
func missing(needed map[string]string, stat func(string) error) []string {
	var out []string
	for file, name := range needed {
		if errors.Is(stat(file), fs.ErrNotExist) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// InstallPackages installs the Debian packages that the cluster needs and the
// machine lacks, and says which.
func InstallPackages(ctx context.Context, say func(string)) error {
	want := missing(needed, func(file string) error { _, err := os.Stat(file); return err })
	if len(want) == 0 {
		return nil
	}
	list := strings.Join(want, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("cannot install %s: this machine has no apt-get (Debian, Ubuntu); install these packages yourself", list)
	}
	say("installing Debian packages: " + list)
	for _, args := range [][]string{
		{"apt-get", "update"},
		append([]string{"apt-get", "install", "--yes", "--no-install-recommends"}, want...),
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot run %q: %w\n%s", strings.Join(args, " "), err, lastLines(string(out), 15))
		}
	}
	return nil
}
