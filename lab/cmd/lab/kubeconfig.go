package main

import (
	"fmt"
	"os"
)

type kubeconfigCmd struct {
	clusterFlags `embed:""`

	Print bool `help:"Print the content of the file instead of its path."`
}

func (k *kubeconfigCmd) Run() error {
	cfg, err := k.config()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(cfg.Kubeconfig())
	if err != nil {
		return fmt.Errorf("cluster %s does not run: start it with `lab up`: %w", cfg.Name, err)
	}
	if k.Print {
		fmt.Print(string(b))
		return nil
	}
	fmt.Println(cfg.Kubeconfig())
	return nil
}
