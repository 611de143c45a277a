package function_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestRestoredWithEachPart: whatever a claim has, its tenant is Ready once its backup is restored, also while nothing of it may act.
func TestRestoredWithEachPart(t *testing.T) {
	input := strings.Replace(crossplanetest.Catalogue, `"components"`, `"backup":{"remote":"backup:"},"ingress":{"hosts":["*.example.org"]},"components"`, 1)
	for name, spec := range map[string]string{
		"accounts":      `"argocd":{"accounts":[{"name":"ci","role":"admin","tokens":[{"name":"a"}]}]}`,
		"backup":        `"backup":{"enabled":true}`,
		"bootstrap":     `"bootstrap":{"repoURL":"https://git.example.org/a"}`,
		"clusters":      `"clusters":[{"name":"c","secretRef":{"name":"missing"}}]`,
		"components":    `"components":[{"name":"workflows"}]`,
		"ingress":       `"ingress":{"host":"a.example.org"}`,
		"notifications": `"notifications":{"secretRef":{"name":"missing"}}`,
		"pullSecrets":   `"imagePullSecrets":[{"name":"missing"}]`,
		"repositories":  `"repositories":[{"name":"c","url":"https://git.example.org/a","secretRef":{"name":"missing"}}]`,
		"webhooks":      `"webhooks":[{"provider":"github","secretRef":{"name":"missing"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, from := range []string{`{}`, `{"tenant":"other"}`} {
				crossplanetest.New(t, `{"restoreFrom":`+from+`,`+spec+`}`, input).Install()
			}
		})
	}
}
