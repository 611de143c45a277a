package text

import (
	"strings"
	"testing"
)

func TestExpands(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"Anchor":            {"a: &a b\n", true},
		"First":             {"&a b", true},
		"Last":              {"a: &a", true},
		"OwnLine":           {"a:\n  &a\n  b", true},
		"Tab":               {"a:\t&a b", true},
		"InList":            {"[&a b]", true},
		"InListLater":       {"[b,&a b]", true},
		"InMap":             {"{&a b: c}", true},
		"AfterQuotedKey":    {`{"a":&a b}`, true},
		"ExplicitKey":       {"{?&a b}", true},
		"OfMap":             {"&a {b: c}", true},
		"AfterTag":          {"!!str &a b", true},
		"AfterAnchor":       {"- - &1 b", true},
		"CarriageReturn":    {"a:\r&a b", true},
		"NextLine":          {"a:\u0085&a b", true},
		"LineSeparator":     {"a:\u2028&a b", true},
		"ParagraphSep":      {"a:\u2029&a b", true},
		"ByteOrderMark":     {"\uFEFF&a b", true},
		"Umlaut":            {"a: &ä b", true},
		"Underscore":        {"a: &_ b", true},
		"Directive":         {"%TAG !a! b\n---\na", true},
		"DirectiveLater":    {"a\n%TAG !a! b", true},
		"DirectiveAfterCR":  {"a\r%TAG !a! b", true},
		"DirectiveAfterBOM": {"\uFEFF%TAG !a! b", true},

		"Nothing":         {"", false},
		"Ampersand":       {"&", false},
		"Shell":           {"a && b || c &\nd 2>&1 & e &> f; g >&2", false},
		"URL":             {"https://a.b/?c=1&d=2&e", false},
		"Words":           {"AT&T, R&D, Tom & Jerry, a &", false},
		"HTML":            {"<b>&nbsp;</b> a &amp; b &lt;c&gt; &#169; &copy;", false},
		"CSS":             {"a { &:hover { b: c } & > d {} &.e {} }", false},
		"Alias":           {"a: *a\n", false},
		"MarkdownAndCron": {"*a* **b** \n*/5 * * * *", false},
		"Email":           {"a&b@c.d", false},
		"Lua":             {"if a ~= nil and b then return c end", false},
		"Template":        {"{{if and .a (eq .b 1)}}&{{end}}", false},
		"Date":            {"date +%TAG\n %TAG a", false},
		"EscapedNewline":  {`a\n&`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Expands(tc.text); got != tc.want {
				t.Errorf("Expands(%q): want %t, got %t", tc.text, tc.want, got)
			}
		})
	}
}

// TestReset: what was found in one text stays found, and the next one begins where a token may begin.
func TestReset(t *testing.T) {
	write := func(texts ...string) *Scanner {
		c := &Scanner{}
		for i, text := range texts {
			if i > 0 {
				c.Reset()
			}
			for _, r := range text {
				c.Rune(r)
			}
		}
		return c
	}
	for name, tc := range map[string]struct {
		c    *Scanner
		want bool
	}{
		"FoundBefore":       {write("a: &a b", "c"), true},
		"NameAtTheEnd":      {write("a: &a", "; c"), true},
		"BeginsWithAnchor":  {write("a", "&a b"), true},
		"TwoTexts":          {write("a &", "b"), false},
		"DirectiveInTwo":    {write("%TA", "G"), false},
		"DirectiveInSecond": {write("a", "%TAG"), true},
	} {
		if got := tc.c.Expands(); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}

func TestBreaksLines(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a\nb\r\nc\n": false, "ä": false, "a\rb": true, "a\r\r\nb": true, "a\r": true, "a\u0085b": true, "a\u2028b": true, "a\u2029": true,
	} {
		if got := BreaksLines(text); got != want {
			t.Errorf("BreaksLines(%q): want %t, got %t", text, want, got)
		}
	}
}

func BenchmarkExpands(b *testing.B) {
	text := strings.Repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 20000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Expands(text)
	}
}
