package argocd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

// CLI is the argocd program, as a person uses it on a machine outside the cluster.
type CLI struct {
	program, config, hosts string
}

// NewCLI makes a CLI with a configuration of its own. The names given mean their addresses to it, whatever DNS says:
// that takes root on Linux, since the program knows no other way than /etc/hosts, of which it gets its own.
func NewCLI(t testing.TB, names map[string]string) *CLI {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary("argocd")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &CLI{program: program, config: filepath.Join(dir, "config"), hosts: filepath.Join(dir, "hosts")}
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

// Run runs argocd with arguments, and returns what it prints.
func (c *CLI) Run(ctx context.Context, args ...string) (string, error) {
	// A mount namespace ends with the program that has it: the machine's own /etc/hosts is never touched.
	script := `mount --bind "$0" /etc/hosts && exec "$@"`
	all := append([]string{"--mount", "sh", "-c", script, c.hosts, c.program, "--config", c.config}, args...)
	cmd := exec.CommandContext(ctx, "unshare", all...)
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		// Not the arguments: a password may be among them.
		return out.String(), fmt.Errorf("argocd %s: %w: %s", args[0], err, problem.String())
	}
	return out.String(), nil
}
