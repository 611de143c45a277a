package helm

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	checks "github.com/virtual-argocd/virtual-argocd/fn/text"
)

// writes are the ways in which upstream's argo-cd chart writes texts of its values into manifests.
var writes = map[string]string{
	"Raw":     "a: {{ .Values.text }}\n",
	"Key":     "a:\n  {{ .Values.text }}: b\n",
	"Object":  "{{ .Values.text }}\n",
	"Block":   "a: |\n  {{- .Values.text | nindent 2 }}\n",
	"Encoded": "a:\n  b:\n    {{- toYaml (dict \"c\" .Values.text) | nindent 4 }}\n",
	"Setting": `{{- range $key, $value := dict "b" .Values.text }}{{ $key }}: {{ toString $value | toYaml }}{{ end }}`,
}

// TestTextsStayTexts: with Helm's own templates and decoder, a text that becomes more than it is, or that isn't a text any more where
// the chart encodes it, is one that the function refuses in claims.
func TestTextsStayTexts(t *testing.T) {
	const scalar = 1000
	long := strings.Repeat("x", scalar)
	grown := map[string]bool{}
	for name, s := range map[string]string{
		"Anchor":             "x: &a " + long + "\ny: [*a, *a, *a, *a, *a]",
		"AnchorInMap":        "{x: &a " + long + ", y: [*a, *a, *a, *a, *a]}",
		"LineSeparator":      "a\n\u2028x: &a " + long + "\u2028y: [*a, *a, *a, *a, *a]",
		"ParagraphSeparator": "a\n\u2029x: &a " + long + "\u2029y: [*a, *a, *a, *a, *a]",
		"CarriageReturn":     "a\rx: &a " + long + "\ry: [*a, *a, *a, *a, *a]",
		"NextLine":           "a\u0085x: &a " + long + "\u0085y: [*a, *a, *a, *a, *a]",
		"TagPrefix":          "a: b\r...\r%TAG ! " + long + "\r---\r[!a b, !a b, !a b]",
		"OnlySeparators":     "a\n\u2028x: b",
		"OnlyReturns":        "a\rx: b",
		"Harmless":           "a && b <b>&nbsp;</b> https://a.b?c=1&d=2\r\n\r\n  c: [d, e]\n",
		"Entity":             "a: &amp; b\nc: *amp;",
	} {
		for how, template := range writes {
			out, err := helmReads(template, s)
			refused := checks.Expands(s) || checks.BreaksLines(s)
			encoded := how == "Block" || how == "Encoded" || how == "Setting"
			grows := strings.Count(out, long) > strings.Count(s, long)
			escapes := encoded && err == nil && strings.Contains(out, `"x":`)
			if grows || escapes {
				grown[name] = true
			}
			if (grows || escapes) && !refused {
				t.Errorf("%s, %s: Helm reads more than the text, which isn't refused: %.200q", name, how, out)
			}
			if !refused && encoded && err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	for _, name := range []string{"Anchor", "LineSeparator", "CarriageReturn"} {
		if !grown[name] {
			t.Errorf("%s: Helm doesn't read more than the text: the test tests too little", name)
		}
	}
}

// helmReads returns what Helm decodes of a template with a text, as JSON.
func helmReads(template, s string) (string, error) {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "a", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(template)}}}
	values, err := chartutil.ToRenderValues(ch, map[string]any{"text": s}, chartutil.ReleaseOptions{Name: "a"}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(ch, values)
	if err != nil {
		return "", err
	}
	var out []string
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	for _, m := range manifests {
		json, err := yaml.YAMLToJSON([]byte(m.Content))
		if err != nil {
			return "", err
		}
		out = append(out, string(json))
	}
	return fmt.Sprint(out), err
}
