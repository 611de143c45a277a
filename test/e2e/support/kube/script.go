package kube

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Script runs a script of the examples that calls kubectl, against the cluster of a kubeconfig. It returns what the script prints.
func Script(ctx context.Context, t testing.TB, kubeconfig, path string, args ...string) (string, error) {
	t.Helper()
	tools, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := tools.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
