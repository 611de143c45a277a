// Package node runs a single-node Kubernetes cluster on a bare Linux machine,
// in namespaces of its own: no container engine, no virtual machine, no systemd.
//
//	lab up ──clone──> init (PID 1; network, cgroups and processes of the cluster)
//	                   ├── artifacts: OCI registry and chart repository
//	                   └── node (a mount namespace of its own)
//	                        └── etcd, kube-apiserver, ..., containerd, kubelet
//
// Up starts it and returns when it is ready; init stays. Killing init ends every
// process of the cluster, and takes its mounts and network with it, so Down has
// little else to do. What the cluster writes is in its state folder.
//
// Several clusters can run side by side: each has a name (state folder, cgroups)
// and an index (addresses, network interface).
package node
