package visible

import "testing"

func TestLine(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"Plain":       {"a  message,  in ASCII", "a  message,  in ASCII"},
		"Letters":     {"Grüße, 你好, 🙂", "Grüße, 你好, 🙂"},
		"Lines":       {"a:\n\t* b\r\n\t* c\n", "a: * b * c"},
		"Separators":  {"a\u2028b\u2029c\u0085d", "a b c d"},
		"Escape":      {"a\x1b[31mb", "a[31mb"},
		"C1":          {"a\u009b31mb", "a31mb"},
		"Direction":   {"a\u202eb\u2066c\u200fd", "abcd"},
		"Invisible":   {"a\u200bb\ufeffc\U000e0041d\u00ade", "abcde"},
		"Bell":        {"a\ab\x00c\x7fd", "abcd"},
		"InvalidUTF8": {"a\xffb", "ab"},
		"Nothing":     {"\x1b\u202e", ""},
	} {
		if got := Line(tc.in); got != tc.want || Line(got) != got {
			t.Errorf("%s: want %q, got %q, and again %q", name, tc.want, got, Line(got))
		}
	}
}
