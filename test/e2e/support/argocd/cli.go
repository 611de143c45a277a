package argocd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// CLI is the argocd program, as a person uses it on a machine outside the cluster.
type CLI struct {
	program, config, hosts, authorities string
}

// NewCLI makes a CLI with a configuration of its own. It trusts the authorities in a file, in PEM, and the names given
// mean their addresses to it, whatever DNS says: that takes root on Linux, since the program knows no other way than
// /etc/hosts, of which it gets its own.
func NewCLI(t testing.TB, names map[string]string, authorities string) *CLI {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary(toolchain.ArgoCDHeadless)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &CLI{program: program, authorities: authorities, config: filepath.Join(dir, "config"), hosts: filepath.Join(dir, "hosts")}
	content := &strings.Builder{}
	content.WriteString("127.0.0.1 localhost\n")
	for name, address := range names {
		fmt.Fprintf(content, "%s %s\n", address, name)
	}
	if err := os.WriteFile(c.hosts, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// Run runs argocd with arguments, and returns what it prints, and what it warns of.
func (c *CLI) Run(ctx context.Context, args ...string) (output, warnings string, err error) {
	// A mount namespace ends with the program that has it: the machine's own /etc/hosts is never touched.
	script := `mount --bind "$0" /etc/hosts && exec "$@"`
	all := append([]string{"--mount", "sh", "-c", script, c.hosts, c.program, "--config", c.config}, args...)
	cmd := exec.CommandContext(ctx, "unshare", all...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+c.authorities)
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err = cmd.Run(); err != nil {
		// Not the arguments: a password may be among them.
		err = fmt.Errorf("argocd %s: %w: %s", args[0], err, problem.String())
	}
	return out.String(), problem.String(), err
}
