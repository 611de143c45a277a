// Command generate writes the schemas and the deepcopy functions of the API and of the function's input from their Go
// types. It runs by `go generate ./apis/...`.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/virtual-argocd/virtual-argocd/tools/schema"
)

func main() {
	// `go generate` starts it in tools/.
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes below the project's root.
func run(root string) error {
	if err := deepCopies(root, "./apis/v1alpha1/...", "./fn/input/..."); err != nil {
		return err
	}
	files, err := schema.Files(root)
	if err != nil {
		return err
	}
	for path, data := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			return fmt.Errorf("cannot make the folder of a generated file: %w", err)
		}
		if err := os.WriteFile(filepath.Join(root, path), data, 0o644); err != nil {
			return fmt.Errorf("cannot write generated file: %w", err)
		}
	}
	return nil
}

// deepCopies writes zz_generated.deepcopy.go into each package, as `controller-gen object` does.
func deepCopies(root string, paths ...string) error {
	var object genall.Generator = deepcopy.Generator{}
	g, err := genall.Generators{&object}.ForRootsWithConfig(&packages.Config{Dir: root}, paths...)
	if err != nil {
		return fmt.Errorf("cannot load the Go types: %w", err)
	}
	g.OutputRules = genall.OutputRules{Default: genall.OutputArtifacts{}}
	if failed := g.Run(); failed {
		return errors.New("cannot generate deepcopy functions")
	}
	return nil
}
