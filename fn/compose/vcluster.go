package compose

import (
	"strconv"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

const (
	// KubeconfigKey is the key of the kubeconfig in connection Secrets. The
	// ProviderConfigs read it.
	KubeconfigKey = "kubeconfig"

	// waitTimeout bounds an installation, and with it how long a correction of
	// values that never become ready has to wait for its turn.
	waitTimeout = 5 * time.Minute

	// rollbackLimit is how often a failed installation is tried again. With none,
	// provider-helm leaves a release alone that failed or was cut short.
	rollbackLimit = 5

	// maxHistory bounds the Secrets Helm keeps of a release.
	maxHistory = 3
)

// vcluster composes the Release of the virtual cluster on the host.
func vcluster(t Tenant) (Object, error) {
	r := release(t, VCluster, plan.VClusterRelease, t.Names.Namespace, t.VCluster)
	// The namespace comes first, with its labels, and must not come back when
	// the Release is still at work while the tenant goes.
	r.Spec.ForProvider.SkipCreateNamespace = true
	// A tenant that goes while argo-cd is being installed: provider-helm would
	// wait for the hooks of that chart in a virtual cluster that is gone, until
	// waitTimeout, and so long nothing else could be done by that worker.
	r.OwnerReferences = outlives(t, ArgoCD)
	r.Spec.ProviderConfigReference = providerConfig(t.Host.HelmProviderConfig)
	r.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: t.SecretsIn, Name: t.Names.KubeconfigSecret}
	r.Spec.ConnectionDetails = []helmv1beta1.ConnectionDetail{
		// vcluster writes this Secret, not Helm: it has no mark of the release.
		secretKey(t.Names.Namespace, plan.KubeconfigSource, plan.KubeconfigSourceKey, KubeconfigKey),
	}
	return Object{Typed: r, Raw: t.VCluster.Values, RawAt: valuesPath}, nil
}

// annotationFailed says how often an installation has failed in a row.
const annotationFailed = "virtualargocd.io/failed"

// release is what the Releases of a tenant have in common.
func release(t Tenant, name, helmName, namespace string, c plan.Chart) *helmv1beta1.Release {
	limit := int32(rollbackLimit)
	r := &helmv1beta1.Release{
		TypeMeta:   releaseType,
		ObjectMeta: managed(t.Names.Composed(name), helmName),
		Spec: helmv1beta1.ReleaseSpec{
			RollbackRetriesLimit: &limit,
			ForProvider: helmv1beta1.ReleaseParameters{
				Chart:       helmv1beta1.ChartSpec{Repository: c.Repository, Name: c.Name, Version: c.Version},
				Namespace:   namespace,
				Wait:        true,
				WaitTimeout: &metav1.Duration{Duration: waitTimeout},
				MaxHistory:  maxHistory,
			},
		},
	}
	// After it has taken back a failed installation, provider-helm looks again in
	// ten minutes, or when the Release changes.
	if failed := t.observed(name).Int(0, "status", "failed"); failed > 0 {
		r.Annotations[annotationFailed] = strconv.FormatInt(failed, 10)
	}
	return r
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
