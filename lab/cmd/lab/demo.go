package main

import (
	"context"

	"github.com/virtual-argocd/virtual-argocd/lab/demo"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
)

type demoCmd struct{}

func (demoCmd) Run(ctx context.Context) error {
	o, err := platform.FromEnvironment()
	if err != nil {
		return err
	}
	return demo.Run(ctx, o)
}
