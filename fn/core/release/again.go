package release

import (
	"fmt"
	"maps"
	"strings"
	"time"

	helmv1beta1 "github.com/crossplane-contrib/provider-helm/apis/cluster/release/v1beta1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A first installation that fails in the middle, because an API server is slow for instance, is tried again where it is. With a limit of
// retries, provider-helm would uninstall what Helm has created by then, and begin again. Without one, it leaves a failed release alone until
// its values differ from those that failed: then it upgrades it, by which Helm creates what is missing, and leaves alone what is there.
// So each attempt has other values, which mean the same: an empty map for a key that is a map in the chart is merged with the chart's own,
// and changes nothing that templates see.

// Emptied are the paths, of one key or two, of values that may be emptied, by Release. They are maps in the charts' own values, or, for components,
// whose charts may be any, a key that none reads in global, which each may have and Helm passes on to charts below another. The first path that
// nobody sets is used.
var Emptied = map[string][][]string{
	tenant.VClusterRelease: {{"logging"}, {"deploy"}, {"privateNodes"}},
	tenant.ArgoCDRelease:   {{"openshift"}, {"externalRedis"}, {"commitServer"}},
	tenant.ComponentPrefix: {{"global", "virtualargocd"}},
}

func isComponent(name string) bool { return strings.HasPrefix(name, tenant.ComponentPrefix) }

// triesInPlace reports whether a first installation that fails is tried again where it is. What a component has brought up nobody waits for, so
// provider-helm may take it down.
func triesInPlace(name string, values map[string]any) bool {
	return !isComponent(name) && markOf(name, values) != nil
}

// annotationAgain holds which failure the last attempt follows, and when it began: "<times taken back>.<revision> <RFC 3339>".
const annotationAgain = "virtualargocd.io/again"

// The pause before the next attempt, which doubles from one to the next.
const (
	firstPause   = 10 * time.Second
	longestPause = 5 * time.Minute
)

// markOf returns the path of the value that an attempt adds; nil where all are in use.
func markOf(name string, values map[string]any) []string {
	if isComponent(name) {
		name = tenant.ComponentPrefix
	}
	for _, path := range Emptied[name] {
		if isFree(values, path) {
			return path
		}
	}
	return nil
}

// withMarkOf returns values with the one that an attempt has added to those of a Release, if any.
func withMarkOf(is wire.Composed, values map[string]any) map[string]any {
	for _, paths := range Emptied {
		for _, path := range paths {
			if isMarked(is, path) && isFree(values, path) {
				return with(values, path)
			}
		}
	}
	return values
}

// isFree reports whether values have nothing at a path, and nothing above it but maps.
func isFree(values map[string]any, path []string) bool {
	is, set := values[path[0]]
	if !set || len(path) == 1 {
		return !set
	}
	below, isMap := is.(map[string]any)
	return isMap && isFree(below, path[1:])
}

// with returns values with an empty map at a path, which is free.
func with(values map[string]any, path []string) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	below := map[string]any{}
	if len(path) > 1 {
		above, _ := out[path[0]].(map[string]any)
		below = with(above, path[1:])
	}
	out[path[0]] = below
	return out
}

// Values returns the values of a Release's chart, and begins the next attempt of a first installation that has failed, or a repair.
func Values(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) map[string]any {
	was := t.Composed(name).Value("spec", "forProvider", "values").GetStructValue()
	wanted := marked(t, name, r, c)
	if len(wanted) == 0 && len(was.GetFields()) > 0 {
		return nil
	}
	wanted, _ = withoutEmptied(was, wanted)
	return wanted
}

// withoutEmptied returns values without the empty objects in whose place a Release has some that aren't, and whether there are any. Server-side
// apply would make null of them, which takes a chart's own values away, or, for all values, isn't accepted. They follow in the next call.
func withoutEmptied(was *structpb.Struct, wanted map[string]any) (map[string]any, bool) {
	out, less := wanted, false
	for key, value := range wanted {
		object, isObject := value.(map[string]any)
		before := was.GetFields()[key].GetStructValue()
		if !isObject || len(before.GetFields()) == 0 {
			continue
		}
		below, lessBelow := withoutEmptied(before, object)
		if !lessBelow && len(object) > 0 {
			continue
		}
		if !less {
			out, less = maps.Clone(wanted), true
		}
		if out[key] = below; len(object) == 0 {
			delete(out, key)
		}
	}
	return out, less
}

// marked returns the values of a Release's chart, with the mark of an attempt or a repair if there is one.
func marked(t tenant.Tenant, name string, r *helmv1beta1.Release, c tenant.Chart) map[string]any {
	is, path := t.Composed(name), markOf(name, c.Values)
	if path == nil || !is.Exists() {
		return c.Values
	}
	mark := isMarked(is, path)
	switch {
	case t.InstalledBefore(name):
		// The next change of the chart or its values takes the key away.
		mark = mark && !Differs(is, c)
		if begins(t, name, r) {
			mark = !mark
		}
	case triesInPlace(name, c.Values):
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
	return with(c.Values, path)
}

// isMarked reports whether a Release has the value that an attempt adds.
func isMarked(is wire.Composed, path []string) bool {
	return wire.Equal(is.Value(append([]string{"spec", "forProvider", "values"}, path...)...), map[string]any{})
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
	if StateOf(t.Composed(name)) != CutShort && triesInPlace(name, c.Values) {
		return nil
	}
	return bounded(TimesTakenBack(t, name) + attempts)
}
