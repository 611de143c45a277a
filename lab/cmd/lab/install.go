package main

import (
	"context"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/lab/demo"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
)

type installCmd struct{}

func (installCmd) Run(ctx context.Context) error {
	o, err := platform.FromEnvironment()
	if err != nil {
		return err
	}
	cluster, err := demo.Install(ctx, o)
	if err != nil {
		return err
	}
	fmt.Printf("\nReady for claims: export KUBECONFIG=%s\n", cluster.Kubeconfig)
	return nil
}
