// Package release has what the Helm Releases of a tenant have in common.
package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const (
	// waitTimeout is how long Helm waits for an installation to become ready. A
	// correction of values that never become ready waits that long, too.
	waitTimeout = 5 * time.Minute

	// maxHistory bounds the Secrets Helm keeps of a release.
	maxHistory = 3
)

// Differs reports whether a Release has another chart or other values, but for what an attempt to install it has added.
func Differs(release wire.Composed, c tenant.Chart) bool {
	is := release.Get("spec", "forProvider")
	return is.String("chart", "version") != c.Version || replaces(c.Digest, is.String("chart", "digest")) || !wire.Equal(is.Value("values"), withMarkOf(release, c.Values))
}

// replaces reports whether a digest takes the place of another. One that is added to a version that runs, or taken from it, has provider-helm do nothing.
func replaces(digest, is string) bool { return digest != "" && is != "" && digest != is }

// New returns what the Releases of a tenant have in common, for a ProviderConfig.
func New(t tenant.Tenant, name, helmName, namespace, config string, c tenant.Chart) *helmv1beta1.Release {
	return &helmv1beta1.Release{
		TypeMeta:   resource.ReleaseType,
		ObjectMeta: resource.ManagedMeta(t.Names.Composed(name), helmName),
		Spec: helmv1beta1.ReleaseSpec{
			ResourceSpec: xpv1.ResourceSpec{ProviderConfigReference: &xpv1.Reference{Name: config}, ManagementPolicies: resource.WithoutDelete},
			ForProvider: helmv1beta1.ReleaseParameters{
				Chart:       helmv1beta1.ChartSpec{Repository: c.Repository, Name: c.Name, Version: c.Version, Digest: c.Digest},
				Namespace:   namespace,
				Wait:        true,
				WaitTimeout: &metav1.Duration{Duration: waitTimeout},
				MaxHistory:  maxHistory,
			},
		},
	}
}

// StartsWithin is how long the installation of a Release's chart takes where nothing is
// missing. After that the function looks for what keeps its pods from running: not sooner, to
// spare events for Crossplane's circuit breaker.
var StartsWithin = map[string]time.Duration{tenant.VClusterRelease: 20 * time.Second, tenant.ArgoCDRelease: 25 * time.Second}

// IsLate reports whether a Release has been there for longer than an installation takes.
func IsLate(t tenant.Tenant, release string) bool {
	return t.Composed(release).Exists() && Age(t, release) >= StartsWithin[release]
}

// pullsWithin is how long a repository of charts may be slow. One that doesn't answer for longer is more likely named wrongly, or out of reach.
const pullsWithin = 5 * time.Minute

// Waits returns what the first installation of a Release waits for, though a provider reports an error: a server that is slow, for instance.
// It is "" where there is no error, where waiting doesn't mend it, and after the first installation of the tenant.
func Waits(t tenant.Tenant, name string) string {
	c := t.Composed(name)
	if tenant.WasReady(t.Observed) || condition.OfRepository(c) && Age(t, name) > pullsWithin {
		return ""
	}
	return condition.Waits(c)
}

// Age is how long ago a composed resource was created, 0 where nobody knows.
func Age(t tenant.Tenant, name string) time.Duration { return AgeOf(t, t.Composed(name).Struct) }

// AgeOf is Age of an object.
func AgeOf(t tenant.Tenant, o wire.Struct) time.Duration {
	created := o.Created()
	if created.IsZero() {
		return 0
	}
	return t.Observed.Now.Sub(created)
}

// attempts is how often a change of a chart is tried before the release from before it stays. A
// first installation is tried without limit, so that it goes on once what it lacked is there.
const attempts = 3

const (
	// annotationFailed holds how often provider-helm has taken the Release back.
	annotationFailed = "virtualargocd.io/failed"
	// annotationChange holds a digest of the chart and values that are tried, and how often
	// the Release had been taken back when they were tried for the first time, or gaveUp.
	annotationChange = "virtualargocd.io/change"
	// annotationGaveUp holds when it was given up, in RFC 3339.
	annotationGaveUp = "virtualargocd.io/gave-up"
)

// gaveUp stands for a change that isn't tried any more: provider-helm counts anew for a Release
// that it may not change.
const gaveUp = -1

// Retry has provider-helm try a failed change of a chart again; for a first installation, see Values. Without a limit of retries it
// leaves a release alone that failed or was cut short. With one, it uninstalls what was never installed,
// rolls back what was, and looks again in ten minutes or when the Release changes. At the limit
// it leaves the failed change in place: the limit must not be reached before the last rollback.
func Retry(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) {
	failed := TimesTakenBack(t, name)
	change, before := change(t, name, r, c)
	is, retries := t.Composed(name), bounded(failed+attempts)
	switch givenUp := before == gaveUp || failed >= before+attempts; {
	case !t.InstalledBefore(name):
		before, retries = 0, limit(t, name, c)
	case !givenUp:
		retries = bounded(before + attempts)
	case IsTakenBack(is) && StateOf(is) == Failed:
		// It was tried once more after all, and is to be taken back once more.
		before, retries = gaveUp, bounded(failed+1)
	default:
		// The release stays as it was before the change.
		before = gaveUp
		r.Spec.ManagementPolicies = xpv1.ManagementPolicies{
			xpv1.ManagementActionObserve, xpv1.ManagementActionCreate, xpv1.ManagementActionLateInitialize,
		}
	}
	if before == gaveUp {
		r.Annotations[annotationGaveUp] = cmp.Or(is.String("metadata", "annotations", annotationGaveUp), t.Observed.Now.UTC().Format(time.RFC3339))
	}
	r.Annotations[annotationChange] = fmt.Sprintf("%s:%d", change, before)
	r.Spec.RollbackRetriesLimit = retries
	if failed > 0 {
		r.Annotations[annotationFailed] = strconv.FormatInt(failed, 10)
	}
}

func bounded(n int64) *int32 { return new(int32(min(n, math.MaxInt32))) }

// TimesTakenBack is how often provider-helm has taken a Release back since it was last as wanted.
func TimesTakenBack(t tenant.Tenant, name string) int64 {
	return max(0, t.Composed(name).Int(0, "status", "failed"))
}

// change returns a digest of what the Release is to have, and how often it had been
// taken back when that was tried for the first time; gaveUp for a change that isn't tried
// any more.
func change(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) (digest string, before int64) {
	// Values that can't be written are an error where the Release is encoded.
	values, _ := json.Marshal(c.Values)
	has := []string{c.Repository, c.Name, c.Version + c.Digest, r.Annotations[AnnotationDigest], string(values)}
	for _, from := range r.Spec.ForProvider.ValuesFrom {
		// Other keys are digests of what is there.
		if from.SecretKeyRef.Key != tenant.ValuesKey {
			has = append(has, from.SecretKeyRef.Key)
		}
	}
	if repaired := r.Annotations[annotationRepaired]; repaired != "" {
		has = append(has, repaired)
	}
	sum := sha256.Sum256([]byte(strings.Join(has, "\n")))
	digest = hex.EncodeToString(sum[:8])
	was, since, _ := strings.Cut(t.Composed(name).String("metadata", "annotations", annotationChange), ":")
	if n, err := strconv.ParseInt(since, 10, 64); was == digest && err == nil && n >= gaveUp {
		return digest, min(n, TimesTakenBack(t, name))
	}
	return digest, TimesTakenBack(t, name)
}

// A Named is the name in the composition of a Release, and the chart that it is to have.
type Named struct {
	Name  string
	Chart tenant.Chart
}

// All returns the Releases that a tenant is to have.
func All(t tenant.Tenant) []Named {
	out := []Named{{tenant.VClusterRelease, t.VirtualCluster}, {tenant.ArgoCDRelease, t.ArgoCD}}
	for _, c := range t.Components {
		out = append(out, Named{tenant.ComponentResource(c.Name), c.Chart})
	}
	return out
}

// TakenBack says which chart has a change that was tried in vain, and given up at a time or later; "" for none. The zero time is for any.
func TakenBack(t tenant.Tenant, from time.Time) string {
	for _, release := range All(t) {
		is := t.Composed(release.Name)
		// It is the zero time where it was given up by an earlier version of the function.
		at, _ := time.Parse(time.RFC3339, is.String("metadata", "annotations", annotationGaveUp))
		if IsTakenBack(is) && !at.Before(from) {
			return fmt.Sprintf("chart %s %s has failed %d times with what is wanted now, and the release from before is in use; the events say why. Correct what is wrong with it: each change is tried", release.Chart.Name, release.Chart.Version, attempts)
		}
	}
	return ""
}

// AnnotationDigest stands on the Release of argo-cd, so that provider-helm looks
// at the Secret of its values as soon as that has changed.
const AnnotationDigest = "virtualargocd.io/values-digest"
