package main

import (
	"context"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

type buildCmd struct {
	List  bool     `help:"List the tools with their versions and paths, and build nothing."`
	Tools []string `arg:"" optional:"" help:"Tools to build. Default: all that the embedded cluster needs."`
}

func (b *buildCmd) Run(ctx context.Context) error {
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	if b.List {
		for _, n := range toolchain.Names() {
			where, err := cache.Binary(n)
			if err != nil {
				where = "not built"
			}
			fmt.Printf("%-32s %-10s %s\n", n, toolchain.Version(n), where)
		}
		return nil
	}
	return cache.Build(ctx, func(line string) { fmt.Println(line) }, b.Tools...)
}
