package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A first installation that fails in the middle, because an API server is slow for instance, is tried again where it is. With a limit of
// retries, provider-helm would uninstall what Helm has created by then, and begin again. Without one, it leaves a failed release alone until
// its values differ from those that failed: then it upgrades it, by which Helm creates what is missing, and leaves alone what is there.
// So each attempt has other values, which mean the same: an empty map for a key that is a map in the chart is merged with the chart's own,
// and changes nothing that templates see.

// Emptied are keys of each chart that are maps in the chart's own values. The first one that nobody sets is used.
var Emptied = map[string][]string{
	tenant.VClusterRelease: {"logging", "deploy", "privateNodes"},
	tenant.ArgoCDRelease:   {"openshift", "externalRedis", "commitServer"},
}

// annotationAgain holds which failure the last attempt follows, and when it began: "<times taken back>.<revision> <RFC 3339>".
const annotationAgain = "virtualargocd.io/again"

// The pause before the next attempt, which doubles from one to the next.
const (
	firstPause   = 10 * time.Second
	longestPause = 5 * time.Minute
)

// markOf returns the key that an attempt adds to the values; "" where all are in use.
func markOf(name string, values map[string]any) string {
	i := slices.IndexFunc(Emptied[name], func(key string) bool { _, set := values[key]; return !set })
	if i < 0 {
		return ""
	}
	return Emptied[name][i]
}

// withMarkOf returns values with the key that an attempt has added to those of a Release, if any.
func withMarkOf(is wire.Composed, values map[string]any) map[string]any {
	for _, keys := range Emptied {
		for _, key := range keys {
			if _, set := values[key]; !set && isMarked(is, key) {
				return marked(values, key)
			}
		}
	}
	return values
}

// marked returns values with the key that an attempt adds.
func marked(values map[string]any, key string) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = map[string]any{}
	return out
}

// Values returns the values of a Release's chart, and begins the next attempt of a first installation that has failed, or a repair.
func Values(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) map[string]any {
	is, key := t.Composed(name), markOf(name, c.Values)
	if key == "" || !is.Exists() {
		return c.Values
	}
	mark := isMarked(is, key)
	if t.InstalledBefore(name) {
		// The next change of the chart or its values takes the key away.
		mark = mark && !Differs(is, c)
		if begins(t, name, r) {
			mark = !mark
		}
	} else {
		was := is.String("metadata", "annotations", annotationAgain)
		which := failure(is)
		if StateOf(is) == Failed && !strings.HasPrefix(was, which+" ") && !t.Observed.Now.Before(nextAttempt(t, name, was)) {
			mark, was = !mark, which+" "+t.Observed.Now.UTC().Format(time.RFC3339)
		}
		if was != "" {
			r.Annotations[annotationAgain] = was
		}
	}
	if !mark {
		return c.Values
	}
	return marked(c.Values, key)
}

// isMarked reports whether a Release has the key that an attempt adds.
func isMarked(is wire.Composed, key string) bool {
	return wire.Equal(is.Value("spec", "forProvider", "values", key), map[string]any{})
}

// failure returns which failure of a Release is observed.
func failure(is wire.Composed) string {
	return fmt.Sprintf("%d.%d", is.Int(0, "status", "failed"), is.Int(0, "status", "atProvider", "revision"))
}

// nextAttempt returns when the next attempt may begin. Helm counts the attempts, in the revision.
func nextAttempt(t tenant.Tenant, name, was string) time.Time {
	_, at, _ := strings.Cut(was, " ")
	began, err := time.Parse(time.RFC3339, at)
	if err != nil {
		began = t.Observed.Now.Add(-Age(t, name))
	}
	attempts := min(max(t.Composed(name).Int(1, "status", "atProvider", "revision"), 1), 10)
	return began.Add(min(firstPause<<(attempts-1), longestPause))
}

// limit returns provider-helm's limit of retries for a first installation: none, so that it doesn't take down what has come up, except
// where only that helps.
func limit(t tenant.Tenant, name string, c tenant.Chart) *int32 {
	if StateOf(t.Composed(name)) != CutShort && markOf(name, c.Values) != "" {
		return nil
	}
	return bounded(TimesTakenBack(t, name) + attempts)
}
