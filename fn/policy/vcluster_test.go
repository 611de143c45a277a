package policy

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestClaimsAddNoManifest: nothing that a claim sets ends the manifest that the chart
// writes it into.
func TestClaimsAddNoManifest(t *testing.T) {
	const injected = "console\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: kube-system}\n---\n"
	for _, row := range values.VCluster.Rows {
		if row.Class != values.OfTenant {
			continue
		}
		path := strings.Split(row.Path, ".")
		for name, to := range map[string]any{"a text": injected, "a key": values.Values{injected: "1"}, "a text below": values.Values{"x": injected}, "a list": []any{injected}, "texts in a list": values.Values{"x": []any{values.Values{"y": injected}}}} {
			v := values.Values{}
			values.Insert(v, to, path...)
			if err := plainValues("f", v); err == nil || !strings.HasPrefix(err.Error(), "f."+row.Path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s with line breaks is not refused as it should be: %v", row.Path, name, err)
			}
		}
	}
	for encoding, possible := range map[any]bool{"json": true, "console": true, "": false, "xml": false, true: false} {
		if err := plainValues("f", values.Values{"logging": values.Values{"encoding": encoding}}); (err == nil) != possible {
			t.Errorf("encoding %v: want possible: %v, got %v", encoding, possible, err)
		}
	}
}
