// Package vcluster is a tenant's virtual cluster: its chart values, its Release, its
// kubeconfig and its condition.
package vcluster

import (
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
	changed := is.Get("spec", "forProvider").Bool("wait") || release.Differs(is, t.VirtualCluster)
	r.Spec.ForProvider.Wait = resource.HasKubeconfig(t) && changed
	// Helm would create the namespace without its labels, or again while the tenant is deleted.
	r.Spec.ForProvider.SkipCreateNamespace = true
	release.Retry(t, tenant.VClusterRelease, r, t.VirtualCluster)
	return resource.Object{Typed: r, Raw: release.Values(t, tenant.VClusterRelease, r, t.VirtualCluster), RawAt: resource.ValuesPath}, nil
}

// ReleaseWaits reports whether something is missing that the virtual cluster needs to
// be installed, or that bounds the tenant.
func ReleaseWaits(t tenant.Tenant) bool {
	missing := func(name string) bool { return !t.Composed(name).Exists() }
	return !host.NamespaceReady(t) || !host.HasCredentials(t) || !host.Bounded(t) ||
		missing(tenant.InstallerBinding) || missing(tenant.ControlPlaneBinding) || missing(tenant.HostHelmProviderConfig)
}

// Ready reports whether the virtual cluster is installed as wanted and can
// be reached.
func Ready(t tenant.Tenant) bool {
	return release.StateOf(t.Composed(tenant.VClusterRelease)) == release.Deployed && resource.HasKubeconfig(t)
}
