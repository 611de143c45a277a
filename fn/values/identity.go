package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// A cloud gives identities to pods by keys of ServiceAccounts' and pods' labels and annotations. Something on the cluster acts on them:
// a webhook or a metadata server, which knows the host's ServiceAccounts and pods, and none of a virtual cluster's. page shows what to do
// instead. A key that ends with a slash is a prefix.
type cloud struct {
	name, page string
	keys       []string
}

var clouds = []cloud{
	{"AWS", pages.CloudAWS, []string{"eks.amazonaws.com/", "iam.amazonaws.com/"}},
	{"Google Cloud", pages.CloudGoogle, []string{"iam.gke.io/", "iam.cloud.google.com/"}},
	{"Azure", pages.CloudAzure, []string{"azure.workload.identity/", "aadpodidbinding", "aadpodidentity.k8s.io/"}},
}

// identities returns the values of the argo-cd chart that would give Argo CD's pods an identity in a cloud, sorted by path.
func identities(v Values) []known.Unknown {
	var out []known.Unknown
	findIdentities(v, nil, func(path []string) {
		key := path[len(path)-1]
		for _, c := range clouds {
			if slices.ContainsFunc(c.keys, func(of string) bool { return key == of || strings.HasSuffix(of, "/") && strings.HasPrefix(key, of) }) {
				out = append(out, known.Unknown{Path: path, Message: fmt.Sprintf(
					"pods of a virtual cluster have no identity in %s: leave it out and give Argo CD credentials as %s shows", c.name, c.page)})
			}
		}
	})
	return out
}

// findIdentities reports the paths of what may be a label or an annotation of Argo CD's own pods and ServiceAccounts. Settings, labels
// of clusters and objects beside Argo CD may have the same keys for others.
func findIdentities(v Values, path []string, report func(path []string)) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		at := append(slices.Clone(path), key)
		if len(path) == 0 && (key == "configs" || key == "extraObjects") {
			continue
		}
		if below, ok := v[key].(Values); ok {
			findIdentities(below, at, report)
		} else if v[key] != nil && v[key] != "" {
			report(at)
		}
	}
}
