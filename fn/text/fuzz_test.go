package text_test

import (
	"strings"
	"testing"

	yaml2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// What decoding a text may allocate, in bytes: a fixed part, and a factor for each byte of the text. The parser of YAML takes most of
// it, up to 780 bytes for each "[" in lists of lists. Texts with more than maxItems of them aren't parsed.
const (
	fixed   = 64 << 10
	perByte = 1000
)

// hostile are texts that take much memory or time for their size.
func hostile(size int) map[string]string {
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"Aliases":        "a: &a " + of("x")[size/2:] + "\nb: [" + of("*a,")[size/2:] + "]\n",
		"AliasesOfMaps":  "a: &a {b: c}\nd: [" + of("*a,") + "]\n",
		"MergeKeys":      "a: &a {b: c}\nd:\n" + of("- <<: *a\n"),
		"Anchors":        of("- &a b\n"),
		"TagPrefix":      "%TAG ! " + of("b")[size/2:] + "\n---\n" + of("- !a b\n")[size/2:],
		"Tags":           of("- !!str a\n"),
		"DeepList":       of("["),
		"DeepListClosed": of("[")[size/2:] + of("]")[size/2:],
		"DeepMap":        of("{a: "),
		"DeepJSON":       of(`{"":`),
		"DeepBlock":      of("- "),
		"DeepQuestions":  of("? "),
		"WideList":       "[" + of("a,") + "]",
		"EmptyLists":     "[" + of("[],") + "[]]",
		"EmptyMaps":      "[" + of("{},") + "{}]",
		"Pairs":          "[" + of("a: b,") + "]",
		"Lines":          of("-\n"),
		"Questions":      of("?\n"),
		"Colons":         of(":\n"),
		"Comments":       of("a: #\n  b\n"),
		"Documents":      of("---\na\n"),
		"Words":          of("a "),
		"Quoted":         `{"a": "` + of(`\u0001`) + `"}`,
		"Digits":         of("9"),
		"Zeros":          "a: 1" + of("0") + "e10",
		"UTF16":          "\xff\xfe" + of("a\x00"),
	}
}

// readers are the functions that decode or examine texts. What they return is not looked at.
var readers = map[string]func(string) any{
	"Kubeconfig":  func(s string) any { _, err := text.Kubeconfig([]byte(s)); return err },
	"Object":      func(s string) any { _, err := text.Object([]byte(s)); return err },
	"List":        func(s string) any { _, err := text.List([]byte(s)); return err },
	"JSONObject":  func(s string) any { v := map[string]any{}; return text.JSON([]byte(s), &v) },
	"JSONAny":     func(s string) any { var v any; return text.JSON([]byte(s), &v) },
	"JSONNumbers": func(s string) any { var v any; return text.JSONNumbers([]byte(s), &v) },
	"Expands":     func(s string) any { return text.Expands(s) },
	"Breaks":      func(s string) any { return text.BreaksLines(s) },
}

// FuzzText: decoding a text allocates little more than the text is long, and a text that doesn't Expand has no anchors.
func FuzzText(f *testing.F) {
	for _, s := range hostile(600) {
		f.Add(s)
	}
	f.Add("apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {server: https://a.b}\ncontexts: []\n")
	f.Fuzz(func(t *testing.T, s string) {
		checkText(t, s)
		if !text.Expands(s) && hasAnchor(s) {
			t.Errorf("%q has an anchor, and isn't reported", s)
		}
	})
}

// checkText checks what the readers allocate for a text.
func checkText(t *testing.T, s string) {
	t.Helper()
	for name, read := range readers {
		if took := memtest.Allocated(func() { _ = read(s) }); took > uint64(fixed+perByte*len(s)) {
			t.Errorf("%s allocates %d bytes for a text of %d bytes, %.60q", name, took, len(s), s)
		}
	}
}

// hasAnchor reports whether a parser finds an anchor in a text, up to its first mistake.
func hasAnchor(s string) bool {
	var in func(n *yaml.Node) bool
	in = func(n *yaml.Node) bool {
		for _, c := range n.Content {
			if in(c) {
				return true
			}
		}
		return n.Anchor != ""
	}
	d := yaml.NewDecoder(strings.NewReader(s))
	for range 100 {
		n := yaml.Node{}
		if d.Decode(&n) != nil {
			break
		}
		if in(&n) {
			return true
		}
	}
	return false
}

// TestHostileTexts: what the readers allocate is bounded for large texts, too, and so is the time.
func TestHostileTexts(t *testing.T) {
	for name, s := range hostile(250 << 10) {
		t.Run(name, func(t *testing.T) { checkText(t, s) })
	}
}

// TestWhatExpands: go.yaml.in, which Helm and Kubernetes decode with, finds no anchor where Expands reports none.
func TestWhatExpands(t *testing.T) {
	befores := []string{"", " ", "\t", "\n", "\r", "\u0085", "\u2028", "\u2029", "\uFEFF", "\u00A0", "\u200B", "b \n", "''", `""`, "''\n", "!a", "!!str", "--- ", "...\n"}
	for c := range rune(0x7F) {
		befores = append(befores, string(c))
	}
	found := 0
	for _, before := range befores {
		for _, around := range [][2]string{
			{"[", ", *a]"}, {"[b, ", ", *a]"}, {"[? ", ", *a]"}, {"{", ", c: *a}"}, {"{b: ", ", c: *a}"}, {"{? ", ", c: *a}"}, {`{"b"`, ", c: *a}"}, {`{"b":`, ", c: *a}"},
			{"- ", "\n- *a"}, {"-", "\n- *a"}, {"b: ", "\nc: *a"}, {"b:", "\nc: *a"}, {"? ", "\n? *a"}, {"", "\nc: *a"}, {"- b\n", "\n- *a"}, {"b:\n ", "\nc: *a"},
		} {
			for _, after := range []string{" b", "", "\nb", " \n  b", ": b", " b: d", ",b", "]", "}", ";", "; b", "?", "%", "@", "`", ".", "/", "ä b", "&", ">", " |\n b", " {}"} {
				s := around[0] + before + "&a" + after
				// Where the alias is decoded, and another name isn't, there is an anchor.
				if !decodes(s+around[1]) || decodes(s+strings.Replace(around[1], "*a", "*b", 1)) {
					continue
				}
				if found++; !text.Expands(s) {
					t.Errorf("%q has an anchor, and isn't reported", s)
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("%d texts have an anchor: too little was tested", found)
	}
}

// decodes reports whether a version of the parser decodes a text.
func decodes(s string) bool {
	var v2, v3 any
	return yaml2.Unmarshal([]byte(s), &v2) == nil || yaml.Unmarshal([]byte(s), &v3) == nil
}
