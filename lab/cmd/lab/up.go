package main

import (
	"context"
	"fmt"
	"time"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

type upCmd struct {
	clusterFlags `embed:""`

	ArgoCDChart string `name:"argocd-chart" env:"ARGOCD_CHART" help:"Folder or archive of an argo-cd chart to serve instead of the test chart."`
	Upstream    bool   `env:"UPSTREAM" help:"Give the cluster access to the machine's network, and pull images from the public registries."`
}

func (u *upCmd) Run(ctx context.Context) error {
	cfg, err := u.config()
	if err != nil {
		return err
	}
	// Check this before the builds, which take long.
	if err := node.Possible(); err != nil {
		return err
	}
	began := time.Now()
	cfg.ArgoCDChart, cfg.Upstream, cfg.Web = u.ArgoCDChart, u.Upstream, true
	cfg.Progress = func(line string) {
		fmt.Printf("%7s  %s\n", time.Since(began).Round(100*time.Millisecond), line)
	}
	purposes := []toolchain.Purpose{toolchain.Cluster, toolchain.Tenants, toolchain.Web}
	if err := cfg.Cache.Build(ctx, cfg.Progress, toolchain.For(purposes...)...); err != nil {
		return err
	}
	if err := artifacts.Build(ctx, cfg.Cache, purposes, cfg.Progress); err != nil {
		return err
	}
	if err := node.Up(ctx, cfg); err != nil {
		return err
	}
	fmt.Printf("cluster %s runs:\n  export KUBECONFIG=%s\n", cfg.Name, cfg.Kubeconfig())
	return nil
}
