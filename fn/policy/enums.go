package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// enums are values of the argo-cd chart for which its templates know certain texts. With others, nothing comes of them.
var enums = []struct {
	path   []string
	values []string
}{
	{[]string{"global", "affinity", "nodeAffinity", "type"}, []string{"none", "soft", "hard"}},
	{[]string{"global", "affinity", "podAntiAffinity"}, []string{"none", "soft", "hard"}},
	{[]string{"global", "logging", "format"}, []string{"text", "json"}},
	{[]string{"global", "logging", "level"}, []string{"debug", "info", "warn", "error"}},
	{[]string{"server", "ingress", "controller"}, []string{"generic", "aws", "gke"}},
}

// Enums returns the texts in values of the argo-cd chart that the chart doesn't know.
func Enums(v values.Values) []known.Unknown {
	var out []known.Unknown
	for _, e := range enums {
		is := values.At[string](v, e.path...)
		if is == "" || slices.ContainsFunc(e.values, func(known string) bool {
			return strings.EqualFold(known, is) && (known == is || e.path[1] == "logging")
		}) {
			continue
		}
		// The logging library knows more.
		if e.path[len(e.path)-1] == "level" && slices.Contains([]string{"warning", "trace", "fatal", "panic"}, strings.ToLower(is)) {
			continue
		}
		out = append(out, known.Unknown{Path: e.path, Message: fmt.Sprintf("%.40q is unknown to the chart: %s", is, known.Instead(is, e.values, "write one of "+strings.Join(e.values, ", ")))})
	}
	return out
}

func joined(path []string) string { return strings.Join(path, ".") }
