package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"
)

const kubeconfig = `# Written by hand.
apiVersion: v1
kind: Config
current-context: b
preferences: {}
clusters:
- name: c
  cluster:
    server: "https://203.0.113.7:6443"
    insecure-skip-tls-verify: yes
    certificate-authority-data: YWJj
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {last-update: 2026-01-02T03:04:05Z, number: 0x10, deep: [[a, ~], 1.5]}
contexts:
- {name: b, context: {cluster: c, user: u, namespace: "on"}}
users:
- name: u
  user:
    token: "a &b *c !d %e"
    password: |
      one
      two
    as-user-extra: {a: [b]}
    exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [x], env: [{name: a, value: "1"}], interactiveMode: Never}
`

// TestKubeconfig: what kubectl reads is read as kubectl reads it.
func TestKubeconfig(t *testing.T) {
	for name, raw := range map[string]string{
		"YAML": kubeconfig, "JSON": `{"apiVersion":"v1","kind":"Config","users":[{"name":"u","user":{"token":"\u0026a"}}]}`, "ByteOrderMark": "\uFEFF" + kubeconfig,
		"CarriageReturns": strings.ReplaceAll(kubeconfig, "\n", "\r\n"), "WithoutKind": strings.Replace(kubeconfig, "kind: Config\n", "", 1), "DocumentStart": "---\n" + kubeconfig,
	} {
		t.Run(name, func(t *testing.T) {
			want, err := clientcmd.Load([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Kubeconfig([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestRefused: what is refused, and that no error shows what stands in the text.
func TestRefused(t *testing.T) {
	const secret = "hunter2"
	for name, tc := range map[string]struct{ in, want string }{
		"Anchor":      {"users: &hunter2 []", "anchors"},
		"Alias":       {"a: *hunter2", "read as YAML"},
		"Bomb":        {"a: &a hunter2\nb: [*a, *a]", "anchors"},
		"MergeKey":    {"<<: {hunter2: a}", "anchors"},
		"Tag":         {"!!str hunter2: a", "anchors"},
		"OwnTag":      {"a: !hunter2 b", "anchors"},
		"Binary":      {"a: !!binary aHVudGVyMg==", "anchors"},
		"Directive":   {"%TAG ! hunter2\n---\na: b", "anchors"},
		"Documents":   {"a: hunter2\n---\nb: c\n", "one"},
		"Twice":       {"hunter2: a\nhunter2: b", "twice"},
		"KeyOfList":   {"? [hunter2]\n: b", "key"},
		"Syntax":      {"users: {token: hunter2", "read as YAML"},
		"Control":     {"a: \x01hunter2", "read as YAML"},
		"Infinity":    {"clusters: [{name: a, cluster: {extensions: [{name: hunter2, extension: .inf}]}}]", "Config"},
		"WrongType":   {"users: hunter2", "Config"},
		"NumberToken": {"users: [{name: a, user: {token: 4242}}]", "Config"},
		"OtherKind":   {"kind: hunter2", "Config"},
		"OtherAPI":    {"apiVersion: hunter2", "Config"},
		"Base64":      {"users: [{name: a, user: {client-key-data: hunter2}}]", "Config"},
		"Deep":        {strings.Repeat("[", 40) + secret + strings.Repeat("]", 40), "deeper"},
		"Wide":        {"a: [" + strings.Repeat(secret+",", 20000) + "]", "items"},
		"Large":       {strings.Repeat(secret, 100<<10), "bytes"},
		"Binary8":     {"a: \xff" + secret, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Kubeconfig([]byte(tc.in))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "4242") {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
	if c, err := Kubeconfig(nil); err != nil || c == nil {
		t.Errorf("an empty kubeconfig: %v, %v", c, err)
	}
}

func TestJSON(t *testing.T) {
	type object struct {
		Text   string `json:"text"`
		Data   []byte `json:"data"`
		Inside struct {
			On bool `json:"on"`
		} `json:"inside"`
	}
	for name, tc := range map[string]struct{ in, want string }{
		"Object":    {`{"text":"{[,","inside":{"on":true},"other":[[[1]]]}`, "<nil>"},
		"WrongType": {`{"text":4242}`, "field text has the wrong type"},
		"Inside":    {`{"inside":{"on":"hunter2"}}`, "field inside.on has the wrong type"},
		"List":      {`["hunter2"]`, "it is no JSON object"},
		"Syntax":    {`{"text":hunter2}`, "it is no JSON object"},
		"Empty":     {``, "it is no JSON object"},
		"Base64":    {`{"data":"hunter2"}`, "it has a value that can't be decoded, such as one that is no base64"},
		"Deep":      {strings.Repeat(`{"a":`, 40), "it is nested deeper than 32 levels"},
		"Wide":      {"[" + strings.Repeat("1,", 20000) + "1]", "it has more than 10000 items"},
		"Large":     {`"` + strings.Repeat("a", 600<<10) + `"`, "it has 614402 bytes, more than 524288"},
		"NotText":   {"{\"text\":\"\xff\"}", "it isn't text in UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(JSON([]byte(tc.in), &object{})); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// TestDirectives: the texts without directives that go.yaml.in decodes have none at the beginning of a line.
func TestDirectives(t *testing.T) {
	for _, newline := range []string{"", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\uFEFF", "a\n...\n"} {
		s := newline + "%TAG !e! tag:e,\n--- !e!f a\n"
		var n yaml.Node
		d := yaml.NewDecoder(bytes.NewReader([]byte(s)))
		err := d.Decode(&n)
		for err == nil && n.Content[0].Tag != "tag:e,f" {
			n = yaml.Node{}
			err = d.Decode(&n)
		}
		if errors.Is(err, io.EOF) || err != nil {
			continue
		}
		if !hasDirective([]byte(s)) || !Expands(s) {
			t.Errorf("%q has a directive, and isn't reported", s)
		}
	}
}
