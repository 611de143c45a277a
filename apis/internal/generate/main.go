// Command generate writes the project's generated schemas. It runs by
// `go generate ./apis/...`.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/virtual-argocd/virtual-argocd/apis/internal/schema"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes below the project's root; `go generate` starts it in apis/.
func run() error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	files, err := schema.Files(root)
	if err != nil {
		return err
	}
	for path, data := range files {
		if err := os.WriteFile(filepath.Join(root, path), data, 0o644); err != nil {
			return fmt.Errorf("cannot write generated file: %w", err)
		}
	}
	return nil
}
