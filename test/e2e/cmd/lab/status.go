package main

import (
	"context"
	"fmt"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/node"
)

type statusCmd struct {
	clusterFlags `embed:""`
}

func (s *statusCmd) Run(ctx context.Context) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	status, err := node.Inspect(ctx, cfg)
	if err != nil {
		return err
	}
	for _, line := range status.Lines() {
		fmt.Println(line)
	}
	return nil
}
