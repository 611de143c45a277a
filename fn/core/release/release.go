// Package release has what the Helm Releases of a tenant have in common.
package release

import (
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const (
	// waitTimeout is how long Helm waits for an installation to become ready. A
	// correction of values that never become ready waits that long, too.
	waitTimeout = 5 * time.Minute

	// FirstWait is how long Helm waits for the first installation of Argo CD. That occupies
	// one of provider-helm's workers, and holds up the deletion of the tenant.
	FirstWait = 45 * time.Second

	// maxHistory bounds the Secrets Helm keeps of a release.
	maxHistory = 3
)

// Changed reports whether the chart version or the values of a Release change now, or
// have changed since it was created: then its wait is true already.
func Changed(release wire.Composed, c tenant.Chart) bool {
	return release.Get("spec", "forProvider").Bool("wait") || Differs(release, c)
}

// Differs reports whether a Release has another chart version or other values.
func Differs(release wire.Composed, c tenant.Chart) bool {
	is := release.Get("spec", "forProvider")
	values, err := structpb.NewStruct(c.Values)
	return is.String("chart", "version") != c.Version || err != nil || !is.Get("values").Equal(values)
}

// New returns what the Releases of a tenant have in common.
func New(t tenant.Tenant, name, helmName, namespace string, c tenant.Chart) *helmv1beta1.Release {
	return &helmv1beta1.Release{
		TypeMeta:   resource.ReleaseType,
		ObjectMeta: resource.ManagedMeta(t.Names.Composed(name), helmName),
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
