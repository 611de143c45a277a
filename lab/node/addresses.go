package node

import (
	"fmt"
	"strings"
)

// Addresses of a cluster. Clusters with different indexes share none.
type Addresses struct {
	// Machine and Uplink are the two ends of the wire between machine and cluster.
	Machine, Uplink string
	// Node is the address of the node, on the pods' bridge: it exists before the
	// first pod does.
	Node string
	// Pods and Services are the ranges; the machine has routes to both.
	Pods, Services string
	// Kubernetes and DNS are the addresses of these two Services.
	Kubernetes, DNS string
	// Ingress is the address of the ingress controller's Service.
	Ingress string
	// Domain is a DNS domain of which every name means the ingress controller:
	// sslip.io answers with the address that a name holds. The cluster's own DNS
	// answers the same where that service can't be asked.
	Domain string
	// Registry is host and port of the OCI registry, plain http.
	Registry string
	// Charts is the URL of the chart repository.
	Charts string
	// Server is the URL of the API server.
	Server string
	// Interface is the machine's end of the wire.
	Interface string
}

// AddressesOf returns the addresses of the cluster with that index.
func AddressesOf(index int) Addresses {
	ip := func(format string) string { return fmt.Sprintf(format, index) }
	// 4,096 addresses: vcluster gives its own Service the host's address, and doesn't
	// start where it has given that to another one before, by chance.
	services := fmt.Sprintf("10.%d.%d.", 96+index/16, index%16*16)
	ingress := services + "11"
	return Addresses{
		Machine:    ip("10.243.%d.1"),
		Uplink:     ip("10.243.%d.2"),
		Node:       ip("10.244.%d.1"),
		Pods:       ip("10.244.%d.0/24"),
		Services:   services + "0/20",
		Kubernetes: services + "1",
		DNS:        services + "10",
		Ingress:    ingress,
		Domain:     strings.ReplaceAll(ingress, ".", "-") + ".sslip.io",
		Registry:   ip("10.244.%d.1:5000"),
		Charts:     ip("http://10.244.%d.1:8879/"),
		Server:     ip("https://10.244.%d.1:6443"),
		Interface:  ip("vargo%d"),
	}
}
