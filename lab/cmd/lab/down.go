package main

import (
	"context"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
)

type downCmd struct {
	clusterFlags `embed:""`
}

func (d *downCmd) Run(ctx context.Context) error {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	if err := node.Down(ctx, cfg); err != nil {
		return err
	}
	fmt.Printf("cluster %s is gone\n", cfg.Name)
	return nil
}
