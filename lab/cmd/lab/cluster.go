package main

import (
	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// clusterFlags select an embedded cluster.
type clusterFlags struct {
	Name  string `env:"VARGO_CLUSTER" default:"default" help:"Name of the cluster."`
	Index int    `env:"VARGO_CLUSTER_INDEX" default:"0" help:"Number from 0 to 255 that determines the cluster's addresses, unique on the machine."`
}

func (f clusterFlags) config() (node.Config, error) {
	cache, err := toolchain.Default()
	return node.Config{Cache: cache, Name: f.Name, Index: f.Index}, err
}
