package clusters

import "github.com/virtual-argocd/virtual-argocd/fn/credentials"

// Keys are those of Argo CD's own cluster Secrets (3.6, util/db/cluster.go), and what else such a Secret says.
var Keys = []credentials.Key{
	{Name: serverKey, Use: credentials.Taken, Why: "the entry's server, where that has one, must be the same. Missing, it is https://kubernetes.default.svc for the entry in-cluster; https://kubernetes.default.svc is the virtual cluster itself, which needs no credentials"},
	{Name: configKey, Use: credentials.Taken, Why: "JSON; `awsAuthConfig`, and programs in `execProviderConfig` that take the pod's identity, need credentials for Argo CD's pods, which have no identity in a cloud: see the status"},
	{Name: nameKey, Use: credentials.Taken, Why: "the cluster's name in Argo CD, in place of the entry's. A cluster that Argo CD has under the entry's name keeps that"},
	{Name: "namespaces", Use: credentials.Taken, Why: "where the entry has no namespaces"},
	{Name: "clusterResources", Use: credentials.Taken, Why: "counts only beside namespaces, as in Argo CD"},
	{Name: "project", Use: credentials.Taken, Why: "where the entry has no project"},
	{Name: "shard", Use: credentials.Taken},
	{Name: "metadata.labels", Use: credentials.Taken, Why: "where the entry has no such label; not those that begin with app.kubernetes.io/, argocd.argoproj.io/ (but `argocd.argoproj.io/auto-label-cluster-info`), helm.sh/, kubernetes.io/ or virtualargocd.io/"},
	{Name: "metadata.annotations", Use: credentials.Taken, Why: "where the entry has no such annotation; not those of kubectl, Helm, Kubernetes and Argo CD itself, but `argocd.argoproj.io/skip-reconcile`"},
}
