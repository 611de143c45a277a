package render

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChecking runs the commands of docs/checking.md, as they are there but for two things: no Docker runs the function, and schemas come
// from here. Each accepts the examples, and finds the mistake that it is there for.
func TestChecking(t *testing.T) {
	setUp(t)
	t.Parallel()
	page := string(readFile(t, filepath.Join(root, "docs", "checking.md")))
	bin := t.TempDir()
	err := goCommand("build", "-C", "test", "-o", filepath.Join(bin, "kubeconform"), "github.com/yannh/kubeconform/cmd/kubeconform")
	check(t, err)
	// The page names these flags for those who have no Docker.
	wrapper := fmt.Sprintf(`#!/bin/sh
case "$1 $2" in
"composition render") exec %[1]s "$@" --crossplane-binary=%[2]s --function-annotations=render.crossplane.io/runtime=Development --function-annotations=render.crossplane.io/runtime-development-target=%[3]s ;;
*) exec %[1]s "$@" --crossplane-image= ;;
esac`, env.cli, env.crossplane, env.function)
	check(t, os.WriteFile(filepath.Join(bin, "crossplane"), []byte(wrapper), 0o700)) //nolint:gosec // A program.

	cases := map[string]struct {
		file, old, new string
		want           string
	}{
		"kubeconform":  {"examples/plans/small.yaml", "\n  argocd:", "\n  argodc:", "argodc"},
		"validate":     {"examples/claims/customer2.yaml", "chartVersion: 9.3.7", "chartVersion: 9.x", "write an exact version of the argo-cd chart"},
		"render field": {"examples/claims/customer2.yaml", "\nspec:", "\nspec:\n  chanel: stable", "spec.chanel: there is no such field: did you mean channel?"},
		"render":       {"examples/claims/customer2.yaml", "\nspec:", "\nspec:\n  plan: gold", "spec.plan: \"gold\" is unknown: write one of small, standard"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			begin, _, _ := strings.Cut(name, " ")
			block := regexp.MustCompile("(?s)\n```sh " + begin + "\n(.*?)\n```").FindStringSubmatch(page)
			if block == nil {
				t.Fatalf("docs/checking.md has no block %q", begin)
			}
			script := strings.ReplaceAll(block[1], "https://raw.githubusercontent.com/virtual-argocd/virtual-argocd/main/", "./")
			if out, err := runIn(t, copyOf(t), bin, script); err != nil {
				t.Errorf("the examples: %v\n%s", err, out)
			}
			dir := copyOf(t)
			was := string(readFile(t, filepath.Join(dir, tc.file)))
			is := strings.Replace(was, tc.old, tc.new, 1)
			if is == was {
				t.Fatalf("%s has no %q", tc.file, tc.old)
			}
			check(t, os.WriteFile(filepath.Join(dir, tc.file), []byte(is), 0o600))
			if out, err := runIn(t, dir, bin, script); err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("with a mistake, want %q, got %v\n%s", tc.want, err, out)
			}
		})
	}
	if want := "`spec.plan: \"gold\" is unknown: write one of small, standard`"; !strings.Contains(page, want) {
		t.Errorf("docs/checking.md doesn't quote %s", want)
	}
	if fn, is := packageOf(t, "examples/install/configuration.yaml"), packageOf(t, "examples/checking/functions.yaml"); fn != is {
		t.Errorf("examples/checking names %s, and examples/install %s", is, fn)
	}
}

// packageOf returns the package of the first object in a file, without a digest.
func packageOf(t *testing.T, file string) string {
	t.Helper()
	is, _, _ := strings.Cut(text(read(t, filepath.Join(root, file))[0], "spec", "package"), "@")
	return is
}

// copyOf returns a folder with what the commands read.
func copyOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"apis", "compositions", "schemas", "examples"} {
		check(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))))
	}
	return dir
}

// runIn runs a script in a folder.
func runIn(t *testing.T, dir, bin, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}
