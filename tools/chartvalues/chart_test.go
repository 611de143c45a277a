package chartvalues

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// files of charts: one whose templates use its values in the ways in which upstream's do, and one with a schema.
var files = map[string]string{
	"plain/Chart.yaml": "name: plain\nversion: 1.2.3\ndependencies:\n- {name: sub, condition: sub.enabled}\n- {name: missing}\n",
	"plain/values.yaml": `
server: {replicas: 1, args: [], labels: {}, securityContext: {runAsUser: 999}, probe: {path: /, port: 80}, host: a, extra: [{name: a}], preset: {a: b}, config: {create: true, url: x}, image: {tag: ""}}
global: {affinity: {hard: true}, domain: a.b}
items: []
sub: {enabled: false, size: 2}
`,
	"plain/templates/_helpers.tpl":    `{{ define "name" }}{{ .context.Values.nameOverride | default .component.host }}{{ end }}{{ define "preset" }}{{ toYaml .component.preset }}{{ end }}`,
	"plain/templates/deployment.yaml": "a: {{ include \"name\" (dict \"context\" . \"component\" .Values.server) }}\nb: {{ with .Values.server.securityContext }}{{ toYaml . | nindent 2 }}{{ end }}\nc: {{ .Values.server.probe.path }}{{ $.Values.server.replicas }}\n{{ if and .Values.global .Values.global.affinity.hard }}d: 1{{ end }}",
	"plain/templates/tpl.yaml":        "{{ range .Values.server.extra }}{{ tpl (toYaml .name) $ }}{{ end }}{{ range $i, $v := .Values.items }}{{ $t := $v | toYaml }}{{ tpl $t $ }}{{ end }}{{ tpl (.Values.server.host | default .Values.global.domain) . }}",
	"plain/templates/config.yaml":     "{{ $c := omit .Values.server.config \"create\" }}{{ range $k, $v := $c }}{{ $k }}: {{ index $.Values.server.image \"tag\" }}{{ end }}{{ template \"preset\" dict \"component\" .Values.server }}{{ with .Values.server }}{{ .onlyRead }}{{ end }}",
	"plain/templates/NOTES.txt":       "{{ .Values.server.gone }}",
	"plain/charts/sub/Chart.yaml":     "name: sub\nversion: 1.0.0\n",
	"plain/charts/sub/values.yaml":    "size: 1\nname: b\n",
	"plain/charts/sub/templates/a":    "",
	"schema/Chart.yaml":               "name: schema\nversion: 0.1.0\n",
	"schema/values.yaml":              "a: {b: 1}\n",
	"schema/values.schema.json":       `{"$defs":{"A":{"properties":{"b":{"type":"integer"},"c":{"$ref":"#/$defs/C"}},"additionalProperties":false},"C":{"additionalProperties":{"type":"string"}}},"properties":{"a":{"$ref":"#/$defs/A"}},"additionalProperties":false}`,
}

// TestRead: which values a chart has, which maps are free, what is rendered as a template, and what is there by default.
func TestRead(t *testing.T) {
	root := t.TempDir()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for chart, want := range map[string]string{
		"plain": `1.2.3
global
 affinity
  hard	=true
 domain !	="a.b"
items !
nameOverride
server
 args
 config *
  create	=true
  url	="x"
 extra !	=[{"name":"a"}]
 host !	="a"
 image
  tag
 labels
 onlyRead
 preset *
  a	="b"
 probe
  path	="/"
  port	=80
 replicas	=1
 securityContext *
  runAsUser	=999
sub
 enabled	=false
 global
 name	="b"
 size	=2
`,
		"schema": "0.1.0\na\n b\t=1\n c\n",
	} {
		c, err := Read(filepath.Join(root, chart))
		if err != nil {
			t.Fatal(err)
		}
		r := &known.Record{}
		if err := r.Set(c.Version, c.Values); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.String()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", chart, diff)
		}
	}
}
