// Package vcluster is a tenant's virtual cluster: its chart values, its Release, its
// kubeconfig and its condition.
package vcluster

import (
	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// ComposeRelease composes the Release of the virtual cluster on the host. It isn't
// uninstalled: the tenant's namespace is deleted with everything in it, and the chart makes
// nothing outside of it. Helm would only hold that up: it believes the records it
// finds there, which a tenant may have forged.
func ComposeRelease(t tenant.Tenant) (resource.Object, error) {
	r := release.New(t, tenant.VClusterRelease, tenant.HelmVCluster, t.Names.Namespace, t.Names.HostProviderConfig, t.VirtualCluster)
	// In the first installation the kubeconfig shows when the virtual cluster is up, so Helm
	// doesn't wait: one that lacks something comes up as soon as that is there, and can be
	// deleted at any moment. A change that never becomes ready has to fail, to be taken back.
	// Once the chart or its values have changed, wait stays true.
	is := t.Composed(tenant.VClusterRelease)
	was := len(is.List("spec", "forProvider", "patchesFrom")) > 0
	// Without the patch in its Secret, the provider would fail, and try again at growing intervals.
	patched := HasPatch(t) && (was || len(t.Composed(tenant.AcceptedSecret).SecretValue(tenant.PatchKey)) > 0)
	changed := is.Get("spec", "forProvider").Bool("wait") || release.Differs(is, t.VirtualCluster) || is.Exists() && patched != was
	r.Spec.ForProvider.Wait = resource.HasKubeconfig(t) && changed
	// Helm would create the namespace without its labels, or again while the tenant is deleted.
	r.Spec.ForProvider.SkipCreateNamespace = true
	if patched {
		r.Spec.ForProvider.PatchesFrom = []helmv1beta1.ValueFromSource{{SecretKeyRef: &helmv1beta1.DataKeySelector{
			NamespacedName: helmv1beta1.NamespacedName{Namespace: t.SecretsIn, Name: t.Names.AcceptedSecret}, Key: tenant.PatchKey,
		}}}
	}
	release.Retry(t, tenant.VClusterRelease, r, t.VirtualCluster)
	return resource.Object{Typed: r, Raw: release.Values(t, tenant.VClusterRelease, r, t.VirtualCluster), RawAt: resource.ValuesPath}, nil
}

// Patch is a Kustomize patch of what the chart renders, which has no value for this. What sends requests to a pod learns that the pod ends when the
// pod does, and needs a moment to send them elsewhere: the control plane goes on answering meanwhile. The chart gives it 15 seconds to end.
const Patch = `patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: ` + tenant.HelmVCluster + `
    spec:
      template:
        spec:
          containers:
          - name: syncer
            lifecycle: {preStop: {sleep: {seconds: 5}}}
`

// HasPatch reports whether the Release has the patch: with several replicas, which are a Deployment, others answer while one is replaced.
func HasPatch(t tenant.Tenant) bool { return t.ControlPlanes > 1 }

// ReleaseWaits reports whether something is missing that the virtual cluster needs to
// be installed, or that bounds the tenant.
func ReleaseWaits(t tenant.Tenant) bool {
	missing := func(name string) bool { return !t.Composed(name).Exists() }
	return !host.NamespaceReady(t) || !host.HasCredentials(t) || !host.Bounded(t) ||
		HasPatch(t) && missing(tenant.AcceptedSecret) || missing(tenant.InstallerBinding) || missing(tenant.ControlPlaneBinding) || missing(tenant.HostHelmProviderConfig)
}

// Ready reports whether the virtual cluster is installed as wanted and can
// be reached.
func Ready(t tenant.Tenant) bool {
	return release.StateOf(t.Composed(tenant.VClusterRelease)) == release.Deployed && resource.HasKubeconfig(t)
}
