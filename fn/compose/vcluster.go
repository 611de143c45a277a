package compose

import (
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

const (
	// waitTimeout is how long Helm waits for an installation to become ready. A
	// correction of values that never become ready waits that long, too.
	waitTimeout = 5 * time.Minute

	// firstWait is how long Helm waits for the first installation of Argo CD. That occupies
	// one of provider-helm's workers, and holds up the deletion of the tenant.
	firstWait = 45 * time.Second

	// maxHistory bounds the Secrets Helm keeps of a release.
	maxHistory = 3
)

// vcluster composes the Release of the virtual cluster on the host.
func vcluster(t Tenant) (Object, error) {
	r := release(t, VCluster, plan.VClusterRelease, t.Names.Namespace, t.VCluster)
	// The first time its kubeconfig tells when it is up, and Helm waits for nothing. So a
	// virtual cluster that lacks something comes up as soon as that is there, and can be
	// deleted at any moment. A change that never becomes ready has to fail, to be taken back.
	r.Spec.ForProvider.Wait = HasKubeconfig(t) && changed(t.observed(VCluster), t.VCluster)
	// Helm would create the namespace without its labels, and once more if it were
	// at work while the tenant is deleted.
	r.Spec.ForProvider.SkipCreateNamespace = true
	r.Spec.ProviderConfigReference = providerConfig(t.Names.HostProviderConfig)
	// The tenant's namespace is deleted with everything in it, and the chart makes
	// nothing outside of it. Helm would only hold that up: it believes the records it
	// finds there, which a tenant may have forged.
	r.Spec.ManagementPolicies = withoutDelete
	return Object{Typed: r, Raw: t.VCluster.Values, RawAt: valuesPath}, retry(t, VCluster, r, t.VCluster)
}

// changed reports whether the chart version or the values of a Release change now, or
// have changed since it was created: then its wait is true already.
func changed(release decode.Composed, c plan.Chart) bool {
	return release.Get("spec", "forProvider").Bool("wait") || differs(release, c)
}

// differs reports whether a Release has another chart version or other values.
func differs(release decode.Composed, c plan.Chart) bool {
	is := release.Get("spec", "forProvider")
	values, err := EncodeMap(c.Values)
	return is.String("chart", "version") != c.Version || err != nil || !is.Get("values").Equal(values)
}

// vclusterWaits reports whether something is missing that the virtual cluster needs to
// be installed, or that bounds the tenant.
func vclusterWaits(t Tenant) bool {
	for _, name := range []string{InstallerBinding, ControlPlaneBinding, HostHelmProviderConfig} {
		if !exists(name)(t) {
			return true
		}
	}
	return !namespaceReady(t) || !hasCredentials(t) || !bounded(t)
}

// release is what the Releases of a tenant have in common.
func release(t Tenant, name, helmName, namespace string, c plan.Chart) *helmv1beta1.Release {
	return &helmv1beta1.Release{
		TypeMeta:   releaseType,
		ObjectMeta: managed(t.Names.Composed(name), helmName),
		Spec: helmv1beta1.ReleaseSpec{
			ForProvider: helmv1beta1.ReleaseParameters{
				Chart:       helmv1beta1.ChartSpec{Repository: c.Repository, Name: c.Name, Version: c.Version},
				Namespace:   namespace,
				Wait:        true,
				WaitTimeout: &metav1.Duration{Duration: waitTimeout},
				MaxHistory:  maxHistory,
			},
		},
	}
}

// installedBefore reports whether a Release was installed once: the status remembers its
// version.
func (t Tenant) installedBefore(release string) bool {
	was := t.Observed.XR.Get("status")
	if release == ArgoCD {
		return was.String("argocd", "chartVersion") != ""
	}
	return was.String("vcluster", "version") != ""
}

func secretKey(namespace, name, key, toKey string) helmv1beta1.ConnectionDetail {
	return helmv1beta1.ConnectionDetail{
		ObjectReference: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name, FieldPath: "data." + key,
		},
		ToConnectionSecretKey:  toKey,
		SkipPartOfReleaseCheck: true,
	}
}
